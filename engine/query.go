package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// The pages of a history query (SPEC 22).
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Runs lists the history, and before it the enqueued runs that have not started, if they are asked for. See
// [jobhost.Scheduler].
func (e *Engine) Runs(ctx context.Context, q jobhost.RunQuery) (runs []jobhost.Run, err error) {
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Limit < 0 || q.Limit > maxLimit {
		return nil, outOfRange("limit", q.Limit, fmt.Sprintf("1 to %d", maxLimit))
	}
	if q.Skip < 0 {
		return nil, outOfRange("skip", q.Skip, "0 or more")
	}
	ids, err := e.pendingIDs(ctx, &q)
	if err != nil {
		return nil, err
	}
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		if runs, err = e.selectPending(tx, &q, ids); err != nil {
			return err
		}
		n := len(runs)
		runs = runs[min(q.Skip, n):]
		runs = runs[:min(q.Limit, len(runs))]
		rest := q
		rest.Skip, rest.Limit = max(0, q.Skip-n), q.Limit-len(runs)
		if rest.Limit == 0 || asksForPendingOnly(&q) {
			return nil
		}
		history, err := tx.QueryRuns(rest)
		runs = append(runs, history...)
		return err
	})
	e.addProgress(runs)
	return runs, err
}

// addProgress completes runs that are in progress here with what they have told last.
func (e *Engine) addProgress(runs []jobhost.Run) {
	for i := range runs {
		if runs[i].State != jobhost.RunRunning {
			continue
		}
		if live, _ := e.liveLog(runs[i].ID); live != nil {
			runs[i].Progress = live.lastProgress()
		}
	}
}

// JobNames lists at most limit names of jobs after one, in their order, without describing the jobs.
func (e *Engine) JobNames(ctx context.Context, after jobhost.Name, limit int) (names []jobhost.Name, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		names, err = tx.JobNames(after, limit)
		return err
	})
	return names, err
}

// CountRuns counts the history. See [jobhost.Scheduler].
func (e *Engine) CountRuns(ctx context.Context, q jobhost.RunQuery) (n int, err error) {
	ids, err := e.pendingIDs(ctx, &q)
	if err != nil {
		return 0, err
	}
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		pending, err := e.selectPending(tx, &q, ids)
		if n = len(pending); err != nil || asksForPendingOnly(&q) {
			return err
		}
		ended, err := tx.CountRuns(q)
		n += ended
		return err
	})
	return n, err
}

func outOfRange(key string, value int, want string) error {
	return &jobhost.Error{
		Code: jobhost.InvalidPage, Op: "runs", Msg: fmt.Sprintf("%s is %d, want %s", key, value, want),
		Params: map[string]any{"key": key, "value": value},
	}
}

// Plugins lists what jobs can refer to.
func (e *Engine) Plugins(ctx context.Context) ([]jobhost.Plugin, error) { return e.runner.Plugins(ctx) }

// Status describes jobs. See [jobhost.Scheduler].
func (e *Engine) Status(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
	var out []jobhost.Result[jobhost.JobStatus]
	now := e.now()
	all := len(names) == 0
	if all {
		if err := e.eachJob(ctx, func(j jobhost.JobState) { names = append(names, j.Name) }); err != nil {
			return []jobhost.Result[jobhost.JobStatus]{{Err: err}}
		}
	}
	const page = 200 // short transactions: a long one makes a bolt file grow
	for part := range slices.Chunk(names, page) {
		var got []jobhost.Result[jobhost.JobStatus]
		err := e.store.View(ctx, func(tx jobhost.Tx) error {
			got = got[:0]
			for _, n := range part {
				s, ok, err := e.status(tx, n, now)
				switch {
				case err != nil:
					return err
				case ok:
					got = append(got, jobhost.Result[jobhost.JobStatus]{Value: s})
				case !all:
					got = append(got, jobhost.Result[jobhost.JobStatus]{Err: notFoundJob(n)})
				}
			}
			return nil
		})
		if err != nil {
			got = make([]jobhost.Result[jobhost.JobStatus], len(part))
			for i := range got {
				got[i].Err = err
			}
		}
		out = append(out, got...)
	}
	return out
}

func (e *Engine) status(tx jobhost.Tx, name jobhost.Name, now time.Time) (jobhost.JobStatus, bool, error) {
	jobs, err := tx.Jobs(name)
	if err != nil || len(jobs) == 0 {
		return jobhost.JobStatus{}, false, err
	}
	job := jobs[0]
	ts, err := tx.TriggersOf(name)
	if err != nil {
		return jobhost.JobStatus{}, false, err
	}
	e.mu.Lock()
	orphaned := e.orphansNow[name]
	e.mu.Unlock()
	s := jobhost.JobStatus{
		Name: job.Name, Plugin: job.Plugin, Source: job.Source, Local: job.RunOnEveryInstance, Orphaned: orphaned, Description: job.Description, Paused: job.Paused,
		PauseReason: job.PauseReason, IsRunning: len(job.Open) > 0, Triggers: []jobhost.TriggerStatus{},
	}
	for _, t := range ts {
		if t.OneShot != nil {
			continue
		}
		t = e.localView(job.Job, t)
		if !t.Due.IsZero() && (s.NextRun.IsZero() || t.Due.Before(s.NextRun)) {
			s.NextRun = t.Due
		}
		s.Triggers = append(s.Triggers, e.triggerStatus(job, t, now))
	}
	// The run that ended last is among the newest few: runs of one job overlap little.
	const few = 16
	recent, err := tx.QueryRuns(jobhost.RunQuery{Job: name, Limit: few, States: []jobhost.RunState{
		jobhost.RunSucceeded, jobhost.RunFailed, jobhost.RunCanceled, jobhost.RunLost,
	}})
	for i := range recent {
		if s.Last == nil || recent[i].EndedAt.After(s.Last.EndedAt) {
			s.Last = &recent[i]
		}
	}
	return s, true, err
}

func (e *Engine) triggerStatus(job jobhost.JobState, t jobhost.Trigger, now time.Time) jobhost.TriggerStatus {
	s := jobhost.TriggerStatus{
		Name: t.Key.Trigger, Schedule: t.Schedule, State: reported(job.Job, t), NextFireAt: t.Due, LastFiredAt: t.LastFired,
		FiredCount: t.FiredCount, Priority: t.Priority, Misfire: t.Misfire,
	}
	if t.Refused != (jobhost.Refusals{}) {
		s.Refused = &t.Refused
	}
	if !t.Due.IsZero() && t.Due.Before(now) {
		s.Why = e.explain(job, t, now)
	}
	return s
}

// Next lists coming slots. See [jobhost.Scheduler].
func (e *Engine) Next(ctx context.Context, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	if q.Count == 0 {
		q.Count = 10
	}
	if q.Count < 0 || q.Count > maxLimit {
		return nil, invalid("count is %d, want 1 to %d", q.Count, maxLimit)
	}
	if q.From.IsZero() {
		q.From = e.now()
	}
	if q.Schedule != "" {
		p, err := e.plans.of(q.Schedule)
		if err != nil {
			return nil, invalid("schedule %q: %v", q.Schedule, err)
		}
		return p.slots(q.From, q.Count), nil
	}
	var ts []jobhost.Trigger
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		jobs, err := tx.Jobs(q.Job)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return notFoundJob(q.Job)
		}
		ts, err = tx.TriggersOf(q.Job)
		return err
	})
	if err != nil {
		return nil, err
	}
	ts = slices.DeleteFunc(ts, func(t jobhost.Trigger) bool {
		return t.OneShot != nil || q.Trigger != "" && t.Key.Trigger != q.Trigger
	})
	if q.Trigger != "" && len(ts) == 0 {
		return nil, notFoundTrigger(q.Job, q.Trigger)
	}
	return e.slotsOf(ts, q)
}

// slotsOf lists the coming slots of triggers together, in the order of time.
func (e *Engine) slotsOf(ts []jobhost.Trigger, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	var out []jobhost.Slot
	for _, t := range ts {
		p, err := e.plans.of(t.Schedule)
		if err != nil {
			return nil, invalid("trigger %q: %v", t.Key.Trigger, err)
		}
		for _, s := range p.slots(q.From, q.Count) {
			s.Trigger = t.Key.Trigger
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b jobhost.Slot) int { return a.At.Compare(b.At) })
	if len(ts) > 1 && len(out) > q.Count {
		out = out[:q.Count]
	}
	return out, nil
}

// Output is what a run returned.
func (e *Engine) Output(ctx context.Context, id jobhost.RunID) (out []byte, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		if _, err := e.find(tx, id); err != nil {
			return err
		}
		out, _, err = tx.Output(id)
		return err
	})
	return out, err
}

// find is a run, also one that has not started, or the error for one that is not there.
func (e *Engine) find(tx jobhost.Tx, id jobhost.RunID) (jobhost.Run, error) {
	runs, err := tx.Runs(id)
	if err == nil && len(runs) == 0 {
		runs, err = e.pendingOf(tx, id)
	}
	switch {
	case err != nil:
		return jobhost.Run{}, err
	case len(runs) == 0:
		return jobhost.Run{}, notFoundRun(id, "does not exist")
	}
	return runs[0], nil
}

// Log reads a run's log; with Follow it goes on until the run's end is on record. See [jobhost.Scheduler].
func (e *Engine) Log(ctx context.Context, id jobhost.RunID, q jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
	return func(yield func(jobhost.LogEntry, error) bool) {
		last := q.After
		for {
			live, pulse := e.liveLog(id)
			if live != nil {
				entries, over, more := live.after(last)
				for _, entry := range entries {
					last = entry.Seq
					if !yield(entry, nil) {
						return
					}
				}
				if !q.Follow {
					return
				}
				if over {
					more = pulse // its end is about to be recorded
				}
				if !waitFor(ctx, more, yield) {
					return
				}
				continue
			}
			state, entries, err := e.storedLog(ctx, id)
			if err != nil {
				yield(jobhost.LogEntry{}, err)
				return
			}
			for _, entry := range entries {
				if entry.Seq > last {
					last = entry.Seq
					if !yield(entry, nil) {
						return
					}
				}
			}
			if state.Ended() || !q.Follow || !waitFor(ctx, pulse, yield) {
				return
			}
		}
	}
}

// waitFor waits for a channel; when ctx ends first it yields its error and returns false.
func waitFor(ctx context.Context, more <-chan struct{}, yield func(jobhost.LogEntry, error) bool) bool {
	select {
	case <-more:
		return true
	case <-ctx.Done():
		yield(jobhost.LogEntry{}, context.Cause(ctx))
		return false
	}
}

// liveLog is the log of a run in progress or not yet recorded here, and a channel that is closed when that may change.
func (e *Engine) liveLog(id jobhost.RunID) (*runLog, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.active[id]; a != nil {
		return a.log, e.pulse
	}
	for _, d := range e.done {
		if d.run.ID == id {
			return d.live, e.pulse
		}
	}
	return nil, e.pulse
}

func (e *Engine) storedLog(ctx context.Context, id jobhost.RunID) (jobhost.RunState, []jobhost.LogEntry, error) {
	var state jobhost.RunState
	var chunks [][]byte
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		r, err := e.find(tx, id)
		if err != nil {
			return err
		}
		state = r.State
		chunks, err = tx.Log(id)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	var out []jobhost.LogEntry
	for line := range bytes.Lines(bytes.Join(chunks, nil)) {
		var entry jobhost.LogEntry
		if json.Unmarshal(line, &entry) == nil { // a damaged line is left out
			out = append(out, entry)
		}
	}
	return state, out, nil
}
