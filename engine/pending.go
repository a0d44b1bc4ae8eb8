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
	return (len(q.IDs) > 0 || q.Prefix != "" || slices.Contains(q.States, jobhost.RunPending)) && q.From.IsZero() && q.To.IsZero()
}

// asksForPendingOnly reports whether the history has nothing that q selects.
func asksForPendingOnly(q *jobhost.RunQuery) bool {
	return len(q.States) > 0 && !slices.ContainsFunc(q.States, func(s jobhost.RunState) bool { return s != jobhost.RunPending })
}

// pendingIDs are the ids of runs that the store may have as pending and that q may select.
func (e *Engine) pendingIDs(ctx context.Context, q *jobhost.RunQuery) (ids []jobhost.RunID, err error) {
	if !asksForPending(q) || len(q.IDs) > 0 {
		return q.IDs, nil
	}
	const page = 1000 // short transactions: a long one makes a bolt file grow
	after := jobhost.RunID(q.Prefix[:min(len(q.Prefix), 31)])
	for {
		var some []jobhost.RunID
		err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
			some, err = tx.PendingIDs(q.Job, after, page)
			return err
		})
		for _, id := range some {
			if after = id; !strings.HasPrefix(string(id), q.Prefix) {
				continue
			}
			ids = append(ids, id)
		}
		if err != nil || len(some) < page || string(after) > q.Prefix && !strings.HasPrefix(string(after), q.Prefix) {
			return ids, err
		}
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

// selectPending are the pending runs that q selects, in the store those of the ids, the latest planned time first, as the
// history has the newest start first. They are without their data.
func (e *Engine) selectPending(tx jobhost.Tx, q *jobhost.RunQuery, ids []jobhost.RunID) (runs []jobhost.Run, err error) {
	if !asksForPending(q) {
		return nil, nil
	}
	keep := func(p jobhost.Trigger) {
		r := pendingRun(p)
		if r.Data = nil; q.Matches(&r) {
			runs = append(runs, r)
		}
	}
	for part := range slices.Chunk(ids, 16) { // each may have 1 MiB of data
		ts, err := tx.Pending(part...)
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			keep(t)
		}
	}
	for _, t := range e.localPending() {
		started, err := tx.CountRuns(jobhost.RunQuery{IDs: []jobhost.RunID{t.OneShot.RunID}}) // in a turn that is not over yet
		if err != nil {
			return nil, err
		}
		if started == 0 {
			keep(t)
		}
	}
	slices.SortFunc(runs, func(a, b jobhost.Run) int {
		if c := b.ScheduledAt.Compare(a.ScheduledAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return runs, nil
}

// pendingByID is one pending run with its data; ok is false when there is none of the id.
func (e *Engine) pendingByID(tx jobhost.Tx, id jobhost.RunID) (r jobhost.Run, ok bool, err error) {
	ts, err := tx.Pending(id)
	for _, t := range append(ts, e.localPending()...) {
		if t.OneShot.RunID == id {
			return pendingRun(t), true, err
		}
	}
	return r, false, err
}

// pendingRun is how an enqueued run shows before it starts.
func pendingRun(p jobhost.Trigger) jobhost.Run {
	return jobhost.Run{
		ID: p.OneShot.RunID, Job: p.Key.Job, Kind: p.OneShot.Kind, Attempt: p.OneShot.Attempt, ScheduledAt: p.Due,
		Priority: p.Priority, Data: p.OneShot.Data, State: jobhost.RunPending,
	}
}
