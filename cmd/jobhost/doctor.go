package main

import (
	"errors"
	"fmt"
	"io"
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
		if err := c.writeFindings(*form, found); err != nil {
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

// writeFindings writes a line for each finding, and below it the mend. Both go on below themselves where a line is too short.
func (c *cli) writeFindings(form string, found []finding) error {
	if form == asJSON {
		return c.writeJSON(found)
	}
	most := 0
	for _, f := range found {
		most = max(most, len(f.Check))
	}
	margin := len("warn") + len(between) + most + len(between)
	width := c.width()
	if width > 0 {
		width = max(20, width-margin)
	}
	var b strings.Builder
	for i, f := range found {
		head := fmt.Sprintf("%-4s%s%-*s%s", f.Result, between, most, f.Check, between)
		texts := wrap(oneLine(f.Finding), width)
		again := i+1 < len(found) && found[i+1].Check == f.Check && found[i+1].Mend == f.Mend
		if f.Mend != "" && !again { // once for several in a row
			texts = append(texts, wrap("mend: "+oneLine(f.Mend), width)...)
		}
		for _, text := range texts {
			b.WriteString(head + text + "\n")
			head = strings.Repeat(" ", margin)
		}
	}
	_, err := io.WriteString(c.out, b.String())
	return err
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
	check string          // the one that is under way
	wrong config.Problems // with the configuration
}

func (f *findings) add(result, what, mend string) {
	f.list = append(f.list, finding{f.check, result, what, mend})
}

func (f *findings) ok(what string)         { f.add(fine, what, "") }
func (f *findings) warn(what, mend string) { f.add(warning, what, mend) }
func (f *findings) fail(what, mend string) { f.add(failed, what, mend) }

// diagnose makes every check, with what can be read of the settings when something in them is wrong.
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
		{"clock", c.checkClock},
		{"traces", c.checkTraces},
	} {
		f.check = check.name
		check.look(f, s)
	}
	return f.list
}

// checkConfig returns the settings as far as they can be read, and notes what is wrong with them.
func (c *cli) checkConfig(f *findings, paths []string) *config.Settings {
	f.check = "configuration"
	files, err := readConfig(paths)
	if err != nil {
		for _, line := range lines(err) {
			f.fail(line, "name a file that is there with -c, or write one: jobhost init")
		}
		f.wrong = config.Problems{{Msg: "the files cannot be read"}}
		standard := config.Defaults()
		return &standard
	}
	s, wrong := c.read(files)
	f.wrong = wrong
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.Name
	}
	problems, odd := lookAt(s, time.Now())
	problems = inOrder(files, wrong, problems)
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
