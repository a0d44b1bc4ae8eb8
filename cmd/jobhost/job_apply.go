package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/config"
)

func (c *cli) jobApply() *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply -f <file>...", Short: "Define jobs of a YAML file on a running host", Args: takes(0, 0, "no arguments; files are given with -f"),
		Long: `Define or replace jobs on a running host, now and until they are changed or deleted. A file has the sections jobs and
vars, in the form of the configuration, and nothing else. A trigger whose schedule stays the same keeps its state.

A job of the host's own configuration that is changed so is Overridden: it stays as it is applied until its definition
there changes, or job restore puts that back.

A mistake in a file defines nothing. Beyond that each job stands alone: one that the host refuses is said with its place, and the
others are defined.`,
		Example: `  jobhost job apply -f imports.yaml
  jobhost job apply -f jobs.d -o json
  generate-jobs | jobhost job apply -f -`,
	}
	f, form, read := c.client(cmd), format(cmd), c.jobsFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		jobs, err := read()
		if err != nil {
			return err
		}
		return f.ask(func(ctx context.Context, s *api.Client) error {
			rs := s.Schedule(ctx, defsOf(jobs))
			for i := range rs {
				rs[i].Err = placed(jobs[i], rs[i].Err)
			}
			return c.showDefined(*form, rs)
		})
	}
	return cmd
}

// placed says where the definition stands that a host refuses. What is wrong with the host has no place.
func placed(j config.Job, err error) error {
	e, ok := errors.AsType[*jobhost.Error](err)
	if !ok || e.Code != jobhost.InvalidDefinition && e.Code != jobhost.NotFoundPlugin {
		return err
	}
	there := *e
	there.Msg = fmt.Sprintf("%v: jobs[%s]: %s", j.Pos, j.Def.Name, strings.TrimPrefix(e.Msg, fmt.Sprintf("job %q: ", j.Def.Name)))
	return &there
}

func defsOf(jobs []config.Job) []jobhost.JobDef {
	defs := make([]jobhost.JobDef, len(jobs))
	for i, j := range jobs {
		defs[i] = j.Def
	}
	return defs
}

// jobsFlag adds -f to a command, and returns what reads the jobs of the files that it names.
func (c *cli) jobsFlag(cmd *cobra.Command) func() ([]config.Job, error) {
	paths := cmd.Flags().StringArrayP("file", "f", nil, "file, folder, or - for standard input; can be given several times")
	return func() ([]config.Job, error) {
		if len(*paths) == 0 {
			return nil, usage("%s: takes at least one -f; see %[1]s --help", cmd.CommandPath())
		}
		return c.definitions(*paths)
	}
}

// definitions reads the jobs of files.
func (c *cli) definitions(paths []string) ([]config.Job, error) {
	var files []config.File
	for _, path := range paths {
		found, err := c.jobFiles(path)
		if err != nil {
			return nil, exit{exitUsage, err}
		}
		files = append(files, found...)
	}
	jobs, warnings, err := config.LoadJobs(files...)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	for _, w := range warnings {
		c.say("warning: %s", w)
	}
	return jobs, nil
}

func (c *cli) jobFiles(path string) ([]config.File, error) {
	if path != "-" {
		return config.ReadFiles(path)
	}
	data, err := io.ReadAll(io.LimitReader(c.in, config.MaxFile+1)) // one that is larger is refused as a file is
	return []config.File{{Name: "standard input", Data: data}}, err
}

// showDefined lists what became of definitions. The error joins those that were refused.
func (c *cli) showDefined(form string, rs []jobhost.Result[jobhost.JobInfo]) error {
	infos := []jobhost.JobInfo{}
	var errs []error
	if len(rs) > 0 && isStarting(rs[0].Err) {
		return rs[0].Err // nothing was asked yet
	}
	for _, r := range rs {
		if r.Err != nil {
			errs = append(errs, r.Err)
			continue
		}
		infos = append(infos, r.Value)
		for _, w := range r.Value.Warnings {
			c.say("warning: %s: %s", r.Value.Name, w)
		}
	}
	if len(infos) == 0 && len(errs) > 0 && form == asTable {
		return joined(errs)
	}
	err := writeList(c, form, infos, "NAME SOURCE", func(i jobhost.JobInfo) []string { return []string{i.Name, i.Source.String()} })
	if err != nil {
		return err
	}
	return joined(errs)
}
