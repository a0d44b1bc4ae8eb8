package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// A file that was emptied, by a full disk or an editor that failed, looks like one that wants no jobs, and a job that is removed
// loses its values. So only a file that says that it has no jobs removes them all.
const removeAll = "put back what was in it, or write `jobs: []` there to remove them"

// emptied are files without a setting that jobs are in force of: each of them, or if all files are so, whatever the jobs are from.
func emptied(files []config.File, inForce *config.Settings) (found config.Problems) {
	blank := emptyFiles(files)
	of := map[string][]string{} // names of jobs, by their file
	var all []string
	for _, j := range inForce.Jobs {
		if slices.ContainsFunc(inForce.Manifests, func(m config.Manifest) bool { return m.Text.Name == j.Pos.File }) {
			continue
		}
		of[j.Pos.File] = append(of[j.Pos.File], j.Def.Name)
		all = append(all, j.Def.Name)
	}
	for _, p := range blank {
		if names := of[p.Pos.File]; len(names) > 0 {
			found = append(found, config.Problem{Pos: p.Pos, Msg: fmt.Sprintf("has no settings in it, and its jobs are in force: %s; %s", someOf(names), removeAll)})
		}
	}
	if len(found) > 0 || len(all) == 0 || len(blank) < len(files) {
		return found
	}
	if len(files) == 0 {
		return config.Problems{{Pos: config.Position{File: "configuration"}, Msg: fmt.Sprintf("there is no configuration file any more, and jobs of one are in force: %s; "+
			"put it back, or give one with `jobs: []` in it to remove them", someOf(all))}}
	}
	return config.Problems{{Pos: blank[0].Pos, Msg: fmt.Sprintf("has no settings in it, and jobs of files are in force: %s; %s", someOf(all), removeAll)}}
}

// someOf lists names, at most 20.
func someOf(names []string) string {
	const most = 20
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// keepJobs refuses a start without a setting in any file while the store has jobs that came from files: the start would delete
// them with their values. Jobs that a plugin brings stay, and do not count.
func (n *node) keepJobs(ctx context.Context, files []config.File) error {
	blank := emptyFiles(files)
	if len(blank) < len(files) || n.store.Shared() {
		return nil
	}
	lost, err := n.lostJobs(ctx)
	if err != nil || len(lost) == 0 {
		return err
	}
	many := "1 job that came"
	if len(lost) > 1 {
		many = fmt.Sprintf("%d jobs that came", len(lost))
	}
	has := fmt.Sprintf("and the store has %s from files and would lose their values: %s", many, someOf(lost))
	if len(blank) > 0 {
		return exit{exitUsage, config.Problems{{Pos: blank[0].Pos, Msg: "has no settings in it, " + has + "; " + removeAll}}}
	}
	return exit{exitUsage, fmt.Errorf("there is no configuration file, %s; put it back, name it with -c, or give one with `jobs: []` in it to remove them", has)}
}

// lostJobs are the stored jobs that came from files, and that the settings do not have.
func (n *node) lostJobs(ctx context.Context) (lost []jobhost.Name, err error) {
	const batch = 500
	err = n.store.View(ctx, func(tx jobhost.Tx) error {
		lost = nil
		for after := jobhost.Name(""); ; {
			names, err := tx.JobNames(after, batch)
			if err != nil || len(names) == 0 {
				return err
			}
			after = names[len(names)-1]
			jobs, err := tx.Jobs(names...)
			if err != nil {
				return err
			}
			for _, j := range jobs {
				if j.Source != jobhost.SourceRuntime && !slices.ContainsFunc(n.settings.Jobs, func(s config.Job) bool { return s.Def.Name == j.Name }) {
					lost = append(lost, j.Name)
				}
			}
		}
	})
	return lost, err
}
