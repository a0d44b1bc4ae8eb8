package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

func (c *cli) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check everything that a host needs", Args: takes(0, 0, "no arguments"),
		Long: `Check everything that a host needs: its configuration, folders, plugins, store, disk, clock, socket, and where traces go. It
starts nothing and changes nothing, and can be used beside a running host. Each finding that is not ok says how to mend
it. The exit code is 1 when something has failed.`,
		Example: `  jobhost doctor
  jobhost doctor -c /etc/jobhost/jobhost.yaml -o json | jq '.[] | select(.result == "fail")'`,
	}
	paths, form := configFlag(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		found := c.diagnose(*paths)
		if err := writeList(c, *form, found, "CHECK RESULT FINDING MEND", func(f finding) []string {
			return []string{f.Check, f.Result, f.Finding, f.Mend}
		}); err != nil {
			return err
		}
		for _, f := range found {
			if f.Result == failed {
				return exit{exitFailed, nil}
			}
		}
		return nil
	}
	return cmd
}

// finding is what a check came to.
type finding struct {
	Check   string `json:"check"`
	Result  string `json:"result"` // one of the words below
	Finding string `json:"finding"`
	Mend    string `json:"mend,omitempty"` // of what is not ok
}

// The results.
const (
	fine    = "ok"
	warning = "warn"
	failed  = "fail"
)

// findings collects what checks find.
type findings struct {
	list  []finding
	check string // the one that is under way
}

func (f *findings) add(result, what, mend string) {
	f.list = append(f.list, finding{f.check, result, what, mend})
}

func (f *findings) ok(what string)         { f.add(fine, what, "") }
func (f *findings) warn(what, mend string) { f.add(warning, what, mend) }
func (f *findings) fail(what, mend string) { f.add(failed, what, mend) }

// diagnose makes every check. Those that need settings are made with the defaults when the configuration is wrong.
func (c *cli) diagnose(paths []string) []finding {
	f := &findings{}
	s := c.checkConfig(f, paths)
	for _, check := range []struct {
		name string
		look func(*findings, *config.Settings)
	}{
		{"plugins", c.checkPlugins},
		{"data folder", checkData},
		{"socket", checkSocket},
		{"store", c.checkStore},
		{"disk", checkDisk},
		{"clock", checkClock},
		{"traces", c.checkTraces},
	} {
		f.check = check.name
		check.look(f, s)
	}
	return f.list
}

// checkConfig returns the settings, or the defaults when they cannot be read.
func (c *cli) checkConfig(f *findings, paths []string) *config.Settings {
	f.check = "configuration"
	s, files, err := c.settings(paths)
	if err != nil {
		for _, line := range lines(err) {
			f.fail(line, "see jobhost validate")
		}
		standard := config.Defaults()
		return &standard
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Name
	}
	problems, odd := lookAt(s, time.Now())
	switch {
	case len(files) == 0:
		f.warn(noFiles(), "name a file with -c, or write one: jobhost init")
	case len(problems) == 0:
		f.ok(strings.Join(names, ", ") + " with " + count(len(s.Jobs), "job"))
	}
	for _, p := range problems {
		f.fail(p.Error(), "see jobhost validate")
	}
	for _, w := range slices.Concat(emptyFiles(files), s.Warnings) {
		f.warn(w.Error(), "see docs/config.md")
	}
	for _, w := range odd {
		f.warn(w.Error(), "see docs/schedules.md, and jobhost next")
	}
	for _, w := range grantsElsewhere(s) {
		f.warn(w.Error(), "see docs/config.md")
	}
	return s
}

// told is the message of an error and its hint.
func told(err error) (message, hint string) {
	if e, ok := errors.AsType[*jobhost.Error](err); ok {
		return e.Msg, e.Hint
	}
	return flat(err.Error()), ""
}
