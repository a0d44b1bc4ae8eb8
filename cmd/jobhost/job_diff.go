package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff -f <file>...", Short: "Show what job apply would change", Args: takes(0, 0, "no arguments; files are given with -f"),
		Long: `Show what "jobhost job apply" would change on a running host, and change nothing. A line with - is what the host has, one with
+ what the files say. The exit code is 1 when something differs.`,
		Example: `  jobhost job diff -f imports.yaml
  jobhost job diff -f jobs.d -o json | jq -r '.[] | select(.change != "none") | .job'`,
	}
	f, form, read := c.client(cmd), format(cmd), c.jobsFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		jobs, err := read()
		if err != nil {
			return err
		}
		return f.ask(func(ctx context.Context, s *api.Client) error {
			found, err := differences(ctx, s, defsOf(jobs))
			if err != nil {
				return err
			}
			return c.showDifferences(*form, found)
		})
	}
	return cmd
}

// difference is what apply would change about a job.
type difference struct {
	Job    jobhost.Name `json:"job"`
	Change string       `json:"change"` // one of the words below
	Fields []field      `json:"fields"`
}

const (
	unchanged = "none"
	created   = "new"
	replaced  = "changed"
)

// field is a value of a definition, named by its path.
type field struct {
	Path string          `json:"path"`
	Host json.RawMessage `json:"host,omitempty"` // empty: it is not there
	File json.RawMessage `json:"file,omitempty"`
}

func differences(ctx context.Context, s api.Definer, defs []jobhost.JobDef) ([]difference, error) {
	names := make([]jobhost.Name, len(defs))
	for i, d := range defs {
		names[i] = d.Name
	}
	out := []difference{}
	for i, r := range s.Definitions(ctx, names) {
		d := difference{Job: names[i], Change: unchanged, Fields: []field{}}
		file, err := fields(defs[i])
		if err != nil {
			return nil, err
		}
		host := map[string]json.RawMessage{}
		switch {
		case jobhost.CodeOf(r.Err) == jobhost.NotFoundJob:
			d.Change = created
		case r.Err != nil:
			return nil, r.Err
		case r.Value.Fingerprint() == defs[i].Fingerprint():
			out = append(out, d)
			continue
		default:
			d.Change = replaced
			if host, err = fields(r.Value); err != nil {
				return nil, err
			}
		}
		paths := maps.Clone(host)
		maps.Copy(paths, file)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if string(host[path]) != string(file[path]) {
				d.Fields = append(d.Fields, field{path, host[path], file[path]})
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// fields takes a definition apart into single values by their path. Schedules are in canonical text, and triggers and data
// are told apart by their names.
func fields(d jobhost.JobDef) (map[string]json.RawMessage, error) {
	d.Triggers = slices.Clone(d.Triggers)
	for i, t := range d.Triggers {
		if s, err := jobhost.ParseSchedule(t.Schedule); err == nil {
			d.Triggers[i].Schedule = s.String()
		}
	}
	raw, err := json.Marshal(api.DefinitionOf(d))
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // numbers stay as they are written
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	delete(tree, "name")
	triggers, _ := tree["triggers"].([]any)
	delete(tree, "triggers")
	out := map[string]json.RawMessage{}
	err = flatten(out, "", tree)
	for i, t := range triggers {
		values, _ := t.(map[string]any)
		delete(values, "name")
		err = errors.Join(err, flatten(out, "triggers["+d.Triggers[i].Name+"].", values))
	}
	return out, err
}

func flatten(out map[string]json.RawMessage, prefix string, tree map[string]any) error {
	for name, v := range tree {
		if below, ok := v.(map[string]any); ok && len(below) > 0 {
			if err := flatten(out, prefix+name+".", below); err != nil {
				return err
			}
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		out[prefix+name] = raw
	}
	return nil
}

// showDifferences writes them. That there are some is an exit code and no message.
func (c *cli) showDifferences(form string, found []difference) error {
	if form == asJSON {
		if err := c.writeJSON(found); err != nil {
			return err
		}
	}
	differ := false
	for _, d := range found {
		if d.Change == unchanged {
			continue
		}
		differ = true
		if form == asJSON {
			continue
		}
		if err := c.writeDifference(d); err != nil {
			return err
		}
	}
	if differ {
		return exit{exitFailed, nil}
	}
	return nil
}

func (c *cli) writeDifference(d difference) error {
	if _, err := fmt.Fprintf(c.out, "job %s is %s\n", d.Job, d.Change); err != nil {
		return err
	}
	for _, f := range d.Fields {
		for _, side := range []struct {
			sign  string
			value json.RawMessage
		}{{"-", f.Host}, {"+", f.File}} {
			if len(side.value) == 0 {
				continue
			}
			if _, err := fmt.Fprintf(c.out, "%s %s: %s\n", side.sign, f.Path, oneLine(readable(f.Path, side.value))); err != nil {
				return err
			}
		}
	}
	return nil
}

// readable is a value of a definition for people: as everywhere, a duration is 1h30m, and no clock value.
func readable(path string, value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil || path == "data" || strings.HasPrefix(path, "data.") || strings.Contains(path, ".data.") {
		return string(value)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return strconv.Quote(durationText(d))
	}
	return strconv.Quote(scheduleText(text))
}
