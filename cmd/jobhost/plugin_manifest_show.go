package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/host"
)

func (c *cli) manifestShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <file.wasm>", Annotations: alsoExits("3 no such file or no manifest"), Short: "Say what comes of a plugin's manifest", Args: takes(1, 1, "one file"),
		Long: `Say what comes of a plugin's manifest: the file beside the module, else the section in it. Jobs are shown with their coming
firings, as they would be with the variables and calendars of the configuration. What the plugin would like to be granted is
shown and not granted. A wrong manifest is exit code 2.`,
		Example: `  jobhost plugin manifest show plugins/report.wasm
  jobhost plugin manifest show plugins/report.wasm -o json | jq .schema`,
	}
	paths, form := configFlag(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := c.surroundings(*paths, args[0])
		if err != nil {
			return err
		}
		if _, err := inspect(args[0]); err != nil {
			return absent(err)
		}
		m, err := manifestOf(args[0], s.Vars)
		if err != nil {
			return err
		}
		if m == nil {
			return exit{exitNotFound, fmt.Errorf("%s has no manifest; give it one with jobhost plugin manifest set", args[0])}
		}
		d, err := c.forecastManifest(m, s)
		if err != nil {
			return err
		}
		if *form == asJSON {
			return c.writeJSON(d)
		}
		return c.writeManifest(d)
	}
	return cmd
}

// surroundings are the settings that say something about a manifest: variables and calendars. Where there are none, or wrong
// ones, nothing is known of the variables.
func (c *cli) surroundings(paths []string, file string) (*config.Settings, error) {
	files, err := readConfig(paths)
	if err != nil {
		return nil, err
	}
	s, err := c.loadWith(files, func(dir string) []jobhost.ManifestText {
		texts := host.ReadManifests(dir)
		if !slices.ContainsFunc(texts, func(t jobhost.ManifestText) bool { return sameModule(t.File, file) }) {
			texts = append(texts, host.ReadManifest(file)) // as if it were there
		}
		return texts
	})
	if err != nil {
		c.say("warning: the configuration has mistakes, so its variables and calendars are not known; see jobhost validate")
		return &config.Settings{}, nil //nolint:nilerr // it was said
	}
	if len(files) > 0 && s.Vars == nil {
		s.Vars = map[string]string{}
	}
	return s, nil
}

func sameModule(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// describedJob is a job of a manifest.
type describedJob struct {
	Name     jobhost.Name       `json:"name"`
	Timeout  string             `json:"timeout,omitempty"`
	Retry    string             `json:"retry,omitempty"`
	Data     json.RawMessage    `json:"data,omitempty"`
	Triggers []describedTrigger `json:"triggers"`
}

// describedTrigger is one of its triggers.
type describedTrigger struct {
	Name     jobhost.Name `json:"name"`
	Schedule string       `json:"schedule"`
	Words    string       `json:"words"`
	Next     []time.Time  `json:"next"`              // the coming three firings
	Problem  string       `json:"problem,omitempty"` // why they are not known
}

// forecastManifest describes a manifest with the coming firings of its jobs.
func (c *cli) forecastManifest(m *config.Manifest, s *config.Settings) (*described, error) {
	d := describeManifest(m)
	e, err := preview(s)
	if err != nil {
		return nil, err
	}
	for _, def := range m.Jobs {
		j := describedJob{Name: def.Name, Timeout: timeLimit(def.Timeout), Retry: retries(def.Retry), Data: def.Data, Triggers: []describedTrigger{}}
		for _, t := range def.Triggers {
			j.Triggers = append(j.Triggers, coming(e, t))
		}
		d.Jobs = append(d.Jobs, j)
		if m.Data == nil {
			continue
		}
		if fault := dataFault(m, def); fault != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("job %s: %v; the plugin would refuse it", def.Name, fault))
		}
	}
	return d, nil
}

func coming(e *engine.Engine, t jobhost.TriggerDef) describedTrigger {
	d := describedTrigger{Name: t.Name, Schedule: t.Schedule, Next: []time.Time{}}
	if s, err := jobhost.ParseSchedule(t.Schedule); err == nil {
		d.Words = s.Describe()
	}
	slots, err := e.Next(context.Background(), jobhost.NextQuery{Schedule: t.Schedule, Count: 20})
	if err != nil {
		failed, ok := errors.AsType[*jobhost.Error](err)
		if d.Problem = err.Error(); ok {
			d.Problem = failed.Msg
		}
	}
	for _, s := range slots {
		if s.Skipped == "" && len(d.Next) < 3 {
			d.Next = append(d.Next, s.At.UTC())
		}
	}
	return d
}

// dataFault is what is wrong with the data of a job that comes with its plugin.
func dataFault(m *config.Manifest, def jobhost.JobDef) error {
	ctx := context.Background()
	if len(def.Triggers) == 0 {
		return m.Data.Check(ctx, def.Data, false)
	}
	for _, t := range def.Triggers {
		merged, err := jobhost.MergeData(def.Data, t.Data)
		if err == nil {
			err = m.Data.Check(ctx, merged, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeManifest writes a manifest for people.
func (c *cli) writeManifest(d *described) error {
	schema := ""
	if d.Schema != nil {
		b, err := json.Marshal(d.Schema)
		if err != nil {
			return err
		}
		schema = string(b)
	}
	err := c.pairs("From", d.From, "Key", d.Key, "Version", d.Version, "Description", d.Description, "Timeout", d.Timeout, "Retry", d.Retry,
		"Schema", schema, "Would like", wanted(d.Wants))
	if err != nil {
		return err
	}
	for _, w := range d.Warnings {
		c.say("warning: %s", w)
	}
	if len(d.Jobs) == 0 {
		return nil
	}
	t := c.newTable()
	t.row("JOB", "TRIGGER", "SCHEDULE", "NEXT")
	for _, j := range d.Jobs {
		if len(j.Triggers) == 0 {
			t.row(j.Name, "", "only on request", "")
		}
		for _, trigger := range j.Triggers {
			next := trigger.Problem
			if len(trigger.Next) > 0 {
				next = clock(trigger.Next[0])
			}
			t.row(j.Name, trigger.Name, scheduleText(trigger.Schedule), next)
		}
	}
	return t.flush()
}

// timeLimit writes a time limit; empty: none.
func timeLimit(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return durationText(d)
}

// retries writes a retry policy in words; empty: none.
func retries(p *jobhost.RetryPolicy) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("up to %d, after %s", p.MaxRetries, durationText(p.Delay))
	switch {
	case p.Exponential && p.MaxDelay > 0:
		text += ", doubled each time up to " + durationText(p.MaxDelay)
	case p.Exponential:
		text += ", doubled each time"
	}
	return text
}
