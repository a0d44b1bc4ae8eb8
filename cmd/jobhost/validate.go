package main

import (
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
file, line, key and what would be right. Warnings are about what is allowed and looks wrong.`,
		Example: `  jobhost validate
  jobhost validate -c jobhost.yaml -c jobs.d`,
	}
	paths := configFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, files, err := c.settings(*paths)
		if err != nil {
			return err
		}
		problems, warnings := lookAt(s, time.Now())
		if len(files) == 0 {
			c.say("warning: %s", noFiles())
		}
		for _, w := range slices.Concat(emptyFiles(files), s.Warnings, warnings, secretWarnings(s)) {
			c.say("warning: %s", visible(w.Error()))
		}
		if problems = append(problems, pluginFiles(s)...); len(problems) > 0 {
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

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// pluginFiles reports jobs whose plugin's file is absent or would not be loaded. It does not compile.
func pluginFiles(s *config.Settings) (found config.Problems) {
	known := map[jobhost.Name]string{} // what is wrong with a plugin
	for _, j := range s.Jobs {
		problem, seen := known[j.Def.Plugin]
		if !seen {
			problem = pluginFile(s, j.Def.Plugin)
			known[j.Def.Plugin] = problem
		}
		if problem != "" {
			found = append(found, pluginProblem(j, problem))
		}
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
	in, err := inspect(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not in " + dir + "; put the file " + key + ".wasm there"
	case err != nil:
		return "cannot be loaded: " + err.Error()
	case len(in.Problems) > 0:
		return "cannot be loaded: " + file + ": " + strings.Join(in.Problems, "; ")
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
