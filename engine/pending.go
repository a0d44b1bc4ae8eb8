package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
)

// An enqueued run has no record before it starts: it is a manual- one-shot in the store, or of a local job one that waits
// in this process. It has its id already, and shows as Pending.

// asksForPending reports whether q can select runs that have not started. By ids and by their state they can be asked for; a
// query for the time of the start leaves them out, and one that says nothing is about the history.
func asksForPending(q *jobhost.RunQuery) bool {
	return (len(q.IDs) > 0 || slices.Contains(q.States, jobhost.RunPending)) && q.From.IsZero() && q.To.IsZero()
}

// asksForPendingOnly reports whether the history has nothing that q selects.
func asksForPendingOnly(q *jobhost.RunQuery) bool {
	return len(q.States) > 0 && !slices.ContainsFunc(q.States, func(s jobhost.RunState) bool { return s != jobhost.RunPending })
}

// pendingIDs are the ids that may be pending and that q may select. Without ids in q the triggers of its job, or of all
// jobs, are looked through, a page of a transaction at a time.
func (e *Engine) pendingIDs(ctx context.Context, q *jobhost.RunQuery) (ids []jobhost.RunID, err error) {
	if !asksForPending(q) || len(q.IDs) > 0 {
		return q.IDs, nil
	}
	note := func(tx jobhost.Tx, names ...jobhost.Name) error {
		ts, err := tx.TriggersOf(names...)
		for _, t := range ts {
			if isPending(t) {
				ids = append(ids, t.OneShot.RunID)
			}
		}
		return err
	}
	for _, t := range e.localPending() {
		ids = append(ids, t.OneShot.RunID)
	}
	if q.Job != "" {
		return ids, e.store.View(ctx, func(tx jobhost.Tx) error { return note(tx, q.Job) })
	}
	const page = 500
	for last := ""; ; {
		var names []jobhost.Name
		err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
			if names, err = tx.JobNames(last, page); err != nil {
				return err
			}
			return note(tx, names...)
		})
		if err != nil || len(names) < page {
			return ids, err
		}
		last = names[len(names)-1]
	}
}

func isPending(t jobhost.Trigger) bool {
	return t.OneShot != nil && t.OneShot.Kind == jobhost.KindManual
}

// localPending are the enqueued runs that wait in this process.
func (e *Engine) localPending() (ts []jobhost.Trigger) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.localNow {
		if isPending(x.trigger) {
			ts = append(ts, x.trigger)
		}
	}
	return ts
}

// pendingOf are those of the ids whose runs have not started, as runs.
func (e *Engine) pendingOf(tx jobhost.Tx, ids ...jobhost.RunID) (runs []jobhost.Run, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ts, err := tx.Pending(ids...)
	if err != nil {
		return nil, err
	}
	for _, t := range ts {
		runs = append(runs, pendingRun(t))
	}
	for _, t := range e.localPending() {
		if !slices.Contains(ids, t.OneShot.RunID) {
			continue
		}
		started, err := tx.Runs(t.OneShot.RunID) // in a turn that is not over yet
		if err != nil {
			return nil, err
		}
		if len(started) == 0 {
			runs = append(runs, pendingRun(t))
		}
	}
	return runs, nil
}

// selectPending are the pending ones of the ids that q selects, the latest planned time first, as the history has the newest
// start first.
func (e *Engine) selectPending(tx jobhost.Tx, q *jobhost.RunQuery, ids []jobhost.RunID) ([]jobhost.Run, error) {
	if !asksForPending(q) {
		return nil, nil
	}
	runs, err := e.pendingOf(tx, ids...)
	runs = slices.DeleteFunc(runs, func(r jobhost.Run) bool { return !q.Matches(&r) })
	slices.SortFunc(runs, func(a, b jobhost.Run) int {
		if c := b.ScheduledAt.Compare(a.ScheduledAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return runs, err
}

// pendingRun is how an enqueued run shows before it starts.
func pendingRun(p jobhost.Trigger) jobhost.Run {
	return jobhost.Run{
		ID: p.OneShot.RunID, Job: p.Key.Job, Kind: p.OneShot.Kind, Attempt: p.OneShot.Attempt, ScheduledAt: p.Due,
		Priority: p.Priority, Data: p.OneShot.Data, State: jobhost.RunPending,
	}
}
