package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
)

// Apply makes the definitions of the files what the store has of source File (SPEC 21). Only what has changed is touched:
// the rest keeps its state, an override stays as long as its file's definition does, and on a private store jobs that no
// file defines any more are removed. It checks all definitions before it changes anything, and reports every problem,
// joined. Before the engine serves, the definitions are kept and go into the store when it enters service.
//
// Apply can be called again at any time, and delays no firing. After an error of the store, the next call goes on where
// this one ended.
func (e *Engine) Apply(ctx context.Context, defs []jobhost.JobDef) error {
	known, err := e.knownPlugins(ctx)
	if err != nil {
		return err
	}
	var problems []error
	seen := make(map[jobhost.Name]bool, len(defs))
	for _, def := range defs {
		problems = append(problems, e.checkDef(ctx, def, known))
		if seen[def.Name] {
			problems = append(problems, invalid("job %q is defined twice", def.Name))
		}
		seen[def.Name] = true
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	e.syncing.Lock()
	defer e.syncing.Unlock()
	e.duties.renew.Store(true) // other nodes are told which jobs these files define
	e.mu.Lock()
	e.files = make(map[jobhost.Name]jobhost.JobDef, len(defs))
	for _, d := range defs {
		e.files[d.Name] = d
	}
	e.unsynced = true
	early := e.state < Serving
	e.mu.Unlock()
	if early {
		return nil // the first serving cycle does it
	}
	return e.bring(ctx)
}

// Applied reports whether what was given to [Engine.Apply] is in the store.
func (e *Engine) Applied() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.unsynced
}

// fileDefs are the definitions of the files, by name.
func (e *Engine) fileDefs() []jobhost.JobDef {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.files), func(a, b jobhost.JobDef) int { return strings.Compare(a.Name, b.Name) })
}

func (e *Engine) fileNames() []jobhost.Name {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.files))
}

// synchronise brings the files' definitions into the store, if they are not there yet.
func (e *Engine) synchronise(ctx context.Context) error {
	e.syncing.Lock()
	defer e.syncing.Unlock()
	return e.bring(ctx)
}

// bring is synchronise for a caller that holds syncing.
func (e *Engine) bring(ctx context.Context) error {
	e.mu.Lock()
	unsynced := e.unsynced
	e.mu.Unlock()
	if !unsynced {
		return nil
	}
	defs := e.fileDefs()
	changed, gone, err := e.differences(ctx, defs)
	if err != nil {
		return err
	}
	if err := e.removeFileJobs(ctx, gone); err != nil {
		return err
	}
	if err := e.bringChanged(ctx, changed); err != nil {
		return err
	}
	e.adopt(defs)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsynced = false
	return nil
}

// differences compares the definitions of the files with the store. It only reads, so that a reload without a change
// costs no commit. Changed jobs that the store has come first. Gone are, on a private store, file jobs that are not among defs.
func (e *Engine) differences(ctx context.Context, defs []jobhost.JobDef) (changed []jobhost.JobDef, gone []jobhost.Name, err error) {
	byName := make(map[jobhost.Name]jobhost.JobDef, len(defs))
	for _, d := range defs {
		byName[d.Name] = d
	}
	same, known := map[jobhost.Name]bool{}, map[jobhost.Name]bool{}
	err = e.eachJob(ctx, func(j jobhost.JobState) {
		def, ok := byName[j.Name]
		switch {
		case ok:
			_, _, write := fileWins(def)(&j.Job)
			same[j.Name], known[j.Name] = !write, true
		case j.Source != jobhost.SourceRuntime && !e.store.Shared():
			gone = append(gone, j.Name)
		}
	})
	for _, old := range []bool{true, false} { // new ones last: they need room, and the others may make it
		for _, d := range defs {
			if known[d.Name] == old && !same[d.Name] {
				changed = append(changed, d)
			}
		}
	}
	return changed, gone, err
}

// bringChanged puts definitions of files into the store.
func (e *Engine) bringChanged(ctx context.Context, defs []jobhost.JobDef) error {
	results := batch(ctx, e, defs, func(_ int, def jobhost.JobDef, out *jobhost.Result[jobhost.JobInfo]) *command {
		return e.define(def, jobhost.TopicJobReset, &out.Value, fileWins(def))
	})
	var problems []error
	for i, r := range results {
		if r.Err != nil {
			problems = append(problems, r.Err)
			continue
		}
		e.log.InfoContext(ctx, "a job is new or changed in the files", slog.String("job", defs[i].Name))
		for _, w := range r.Value.Warnings {
			e.log.WarnContext(ctx, "a definition needs a look", slog.String("job", defs[i].Name), slog.String("warning", w))
		}
	}
	return errors.Join(problems...)
}

// fileWins decides what a file's definition does to what the store has.
func fileWins(def jobhost.JobDef) func(*jobhost.Job) (jobhost.Source, string, bool) {
	fingerprint := def.Fingerprint()
	return func(old *jobhost.Job) (jobhost.Source, string, bool) {
		same := old != nil && old.Fingerprint == fingerprint && old.Source != jobhost.SourceRuntime
		return jobhost.SourceFile, fingerprint, !same
	}
}

// removeFileJobs removes jobs that no file defines any more; one that was changed at run time becomes a Runtime job.
func (e *Engine) removeFileJobs(ctx context.Context, names []jobhost.Name) error {
	results := batch(ctx, e, names, func(_ int, name jobhost.Name, _ *jobhost.Result[struct{}]) *command {
		return &command{jobs: []jobhost.Name{name}, do: func(t *turn) error {
			job := t.jobs[name]
			switch {
			case job == nil, job.Source == jobhost.SourceRuntime: // meanwhile
				return nil
			case job.Source == jobhost.SourceOverridden:
				job.Source, job.Fingerprint = jobhost.SourceRuntime, ""
				return t.tx.PutJobs(job.Job)
			}
			return t.remove(name)
		}}
	})
	var problems []error
	for i, r := range results {
		if r.Err != nil {
			problems = append(problems, r.Err)
			continue
		}
		e.log.InfoContext(ctx, "a job is in no file any more", slog.String("job", names[i]))
	}
	return errors.Join(problems...)
}

// adopt lets jobs fire that no live node's files defined until now.
func (e *Engine) adopt(defs []jobhost.JobDef) {
	e.turning.Lock()
	defer e.turning.Unlock()
	left := maps.Clone(e.orphaned)
	for _, d := range defs {
		delete(left, d.Name)
	}
	if len(left) == len(e.orphaned) {
		return
	}
	e.orphaned = left
	e.mu.Lock()
	e.orphansNow = left
	e.mu.Unlock()
	e.nudge()
}
