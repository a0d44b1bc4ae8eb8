package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

func (c *cli) validate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration and the plugins that it names", Args: takes(0, 0, "no arguments"),
		Long: `Check the configuration and the plugins that its jobs need, without starting anything. Each problem is one line with
file, line, key and what would be right, and all are found at once. Warnings are about what is allowed and looks wrong.`,
		Example: `  jobhost validate
  jobhost validate -c jobhost.yaml -c jobs.d`,
	}
	paths := configFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		files, err := readConfig(*paths)
		if err != nil {
			return err
		}
		s, wrong := c.read(files)
		problems, warnings := lookAt(s, time.Now())
		problems = inOrder(files, wrong, problems, neededPlugins(s, wrong))
		if len(files) == 0 {
			c.say("warning: %s", noFiles())
		}
		for _, w := range slices.Concat(emptyFiles(files), s.Warnings, warnings, grantsElsewhere(s)) {
			c.say("warning: %s", visible(w.Error()))
		}
		if len(problems) > 0 {
			return exit{exitUsage, problems}
		}
		triggers := 0
		for _, j := range s.Jobs {
			triggers += len(j.Def.Triggers)
		}
		_, err = fmt.Fprintf(c.out, "ok: %s, %s, %s\n", count(len(files), "file"), count(len(s.Jobs), "job"), count(triggers, "trigger"))
		return err
	}
	return cmd
}

// inOrder joins lists of problems, in the order of files and lines. What is of no file comes last.
func inOrder(files []config.File, lists ...config.Problems) config.Problems {
	rank := map[string]int{}
	for i, f := range files {
		rank[f.Name] = i - len(files)
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(rank[a.Pos.File], rank[b.Pos.File]), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return all
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// pluginFiles reports plugins of jobs whose file is absent or would not be loaded. It does not compile.
func pluginFiles(s *config.Settings) config.Problems {
	return eachPlugin(s, func(plugin jobhost.Name) string { return pluginFile(s, plugin) })
}

// neededPlugins is [pluginFiles] for a configuration in which something is wrong. Where that may be the plugin folder nothing is
// known of plugins.
func neededPlugins(s *config.Settings, wrong config.Problems) config.Problems {
	if slices.ContainsFunc(wrong, func(p config.Problem) bool {
		return p.Key == "" || p.Key == "plugins" || p.Key == "plugins.dir"
	}) {
		return nil
	}
	return pluginFiles(s)
}

// withPlugins adds to the problems of files what is wrong with the plugins of their jobs, so that all are known at once.
func (c *cli) withPlugins(files []config.File, err error) error {
	wrong, ok := errors.AsType[config.Problems](err)
	if !ok {
		return err
	}
	s, _ := c.read(files)
	return exit{exitUsage, inOrder(files, wrong, neededPlugins(s, wrong))}
}

// eachPlugin reports what is wrong with the plugins of jobs, each once: at the first job that needs it, with the names of the
// others.
func eachPlugin(s *config.Settings, fault func(plugin jobhost.Name) string) (found config.Problems) {
	users := map[jobhost.Name][]config.Job{}
	var plugins []jobhost.Name // in the order of their first jobs
	for _, j := range s.Jobs {
		if j.Def.Plugin == "" {
			continue // it could not be read
		}
		if users[j.Def.Plugin] == nil {
			plugins = append(plugins, j.Def.Plugin)
		}
		users[j.Def.Plugin] = append(users[j.Def.Plugin], j)
	}
	for _, plugin := range plugins {
		problem := fault(plugin)
		if problem == "" {
			continue
		}
		first, others := users[plugin][0], users[plugin][1:]
		p := pluginProblem(first, problem)
		if len(others) > 0 {
			names := make([]string, len(others))
			for i, j := range others {
				names[i] = j.Def.Name
			}
			p.Msg += fmt.Sprintf("; needed by %s, too: %s", count(len(names), "other job"), strings.Join(names, ", "))
		}
		found = append(found, p)
	}
	return found
}

// pluginFile says what is wrong with the file of a plugin; empty: nothing.
func pluginFile(s *config.Settings, key jobhost.Name) string {
	dir := s.Plugins.Dir
	file := filepath.Join(dir, key+".wasm")
	for _, m := range s.Manifests {
		if m.Key == key {
			file = m.Text.File
		}
	}
	err := loadable(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not in " + dir + "; put the file " + key + ".wasm there"
	case err != nil:
		return "cannot be loaded: " + flat(err.Error())
	}
	return ""
}

// pluginProblem names the place of a job whose plugin cannot run.
func pluginProblem(j config.Job, problem string) config.Problem {
	if name, named := strings.CutSuffix(j.Def.Plugin, ".wasm"); named {
		problem = "is the name of a file; write " + name
	}
	return config.Problem{
		Pos: j.Pos, Key: fmt.Sprintf("jobs[%s].plugin", j.Def.Name),
		Msg: fmt.Sprintf("plugin %q %s", j.Def.Plugin, problem),
	}
}
