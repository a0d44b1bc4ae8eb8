package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
)

// idempotencyTime is how long an idempotency key stands for its run.
const idempotencyTime = 24 * time.Hour

// Trigger runs jobs on this instance and waits. See [jobhost.Scheduler].
func (e *Engine) Trigger(ctx context.Context, reqs []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
	now := e.now()
	ids := drawIDs(now, len(reqs))
	ends := make([]chan jobhost.Run, len(reqs))
	bad := checkRequests(ctx, e, reqs, func(r jobhost.TriggerRequest) manual { return manual{r.Job, r.Data} })
	out := batch(ctx, e, reqs, func(i int, req jobhost.TriggerRequest, out *jobhost.Result[jobhost.Run]) *command {
		if out.Err = bad[i]; out.Err == nil {
			out.Err = e.await(ids[i], &ends[i])
		}
		if out.Err != nil {
			return nil
		}
		return e.startNow(req, ids[i], now)
	})
	for i := range out {
		if out[i].Err != nil {
			e.unawait(ids[i])
			continue
		}
		out[i].Value, out[i].Err = e.awaitEnd(ctx, ids[i], ends[i])
	}
	return out
}

// await registers somebody who waits for the end of a run that is about to be started. It fails where no run may be.
func (e *Engine) await(id jobhost.RunID, end *chan jobhost.Run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == Created || e.state >= Stopping {
		return errStopped
	}
	*end = make(chan jobhost.Run, 1)
	e.waiters[id] = *end
	return nil
}

func (e *Engine) unawait(id jobhost.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiters, id)
}

// awaitEnd waits until the end of a run is on record. When no loop runs it turns by itself.
func (e *Engine) awaitEnd(ctx context.Context, id jobhost.RunID, end <-chan jobhost.Run) (jobhost.Run, error) {
	for {
		e.mu.Lock()
		pulse, turn := e.pulse, !e.looping && len(e.done) > 0
		e.mu.Unlock()
		if turn {
			if _, _, err := e.turn(ctx, false); err != nil {
				return jobhost.Run{ID: id}, err
			}
		}
		select {
		case r, ok := <-end:
			if !ok {
				return jobhost.Run{ID: id}, errStopped
			}
			return r, nil
		case <-pulse:
		case <-ctx.Done():
			e.unawait(id)
			return jobhost.Run{ID: id}, context.Cause(ctx)
		}
	}
}

// startNow is the command that starts a manual run.
func (e *Engine) startNow(req jobhost.TriggerRequest, id jobhost.RunID, now time.Time) *command {
	c := &command{jobs: []jobhost.Name{req.Job}}
	c.do = func(t *turn) error {
		job := t.jobs[req.Job]
		if job == nil {
			c.err = notFoundJob(req.Job)
			return nil
		}
		if t.busy(job) {
			c.err = &jobhost.Error{
				Code: jobhost.JobRunning, Op: "trigger", Msg: fmt.Sprintf("job %q is running and must not run concurrently: run %s", req.Job, job.Open[0]),
				Hint:   "wait for it, enqueue the run instead, or set allow_concurrent",
				Params: map[string]any{"job": req.Job, "run": string(job.Open[0])},
			}
			return nil
		}
		r := jobhost.Run{
			ID: id, Job: req.Job, Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: now, Priority: jobhost.DefaultPriority,
			State: jobhost.RunRunning, Node: e.cfg.NodeID, StartedAt: t.now,
		}
		if r.Data, c.err = mergeRequest(job.Job, req.Data); c.err == nil {
			t.begin(job, r, false)
		}
		return nil
	}
	return c
}

// Enqueue plans runs and returns their ids. See [jobhost.Scheduler].
func (e *Engine) Enqueue(ctx context.Context, reqs []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
	now := e.now()
	ids := drawIDs(now, len(reqs))
	bad := checkRequests(ctx, e, reqs, func(r jobhost.EnqueueRequest) manual { return manual{r.Job, r.Data} })
	return batch(ctx, e, reqs, func(i int, req jobhost.EnqueueRequest, out *jobhost.Result[jobhost.RunID]) *command {
		if out.Err = bad[i]; out.Err != nil {
			return nil
		}
		if len(req.IdempotencyKey) > 255 {
			out.Err = invalid("the idempotency key has %d characters, at most 255 are allowed", len(req.IdempotencyKey))
			return nil
		}
		return e.enqueue(req, ids[i], now, &out.Value)
	})
}

// enqueue is the command that writes a manual- one-shot.
func (e *Engine) enqueue(req jobhost.EnqueueRequest, id jobhost.RunID, now time.Time, got *jobhost.RunID) *command {
	c := &command{jobs: []jobhost.Name{req.Job}}
	c.do = func(t *turn) error {
		job := t.jobs[req.Job]
		if job == nil {
			c.err = notFoundJob(req.Job)
			return nil
		}
		if _, c.err = mergeRequest(job.Job, req.Data); c.err != nil {
			return nil //nolint:nilerr // the caller's mistake, not the store's
		}
		*got = id
		if key := req.IdempotencyKey; key != "" {
			first, ok, err := t.tx.Idempotent(req.Job, key, t.now)
			if err != nil {
				return err
			}
			if ok {
				*got = first
				return nil
			}
			if err := t.tx.PutIdempotent(req.Job, key, id, t.now.Add(idempotencyTime)); err != nil {
				return err
			}
		}
		due := now
		if !req.At.IsZero() {
			due = req.At.Round(0).UTC().Truncate(precision)
		}
		r := jobhost.Run{ID: id, Job: req.Job, Priority: jobhost.DefaultPriority}
		if req.Priority != nil {
			r.Priority = *req.Priority
		}
		one := oneShot(jobhost.ManualPrefix, r, due, jobhost.OneShot{Kind: jobhost.KindManual, RunID: id, Attempt: 1, Data: req.Data})
		if job.RunOnEveryInstance { // it waits in this process
			t.addLocal(job.Job, one)
			return nil
		}
		return t.tx.PutTriggers(ready(one, job.Job))
	}
	return c
}

// mergeRequest is the data of a manual run: job and request, no trigger (SPEC 3).
func mergeRequest(job jobhost.Job, data []byte) ([]byte, error) {
	merged, err := jobhost.MergeData(job.Data, data)
	if err != nil {
		return nil, invalid("job %q: data cannot be merged: %v", job.Name, err)
	}
	if len(merged) > jobhost.MaxData {
		return nil, invalid("job %q: merged with the request's, data has %d bytes, at most %d are allowed", job.Name, len(merged), jobhost.MaxData)
	}
	return merged, nil
}

// CancelRuns asks runs to end. See [jobhost.Scheduler].
func (e *Engine) CancelRuns(ctx context.Context, ids []jobhost.RunID) []jobhost.Result[struct{}] {
	out := batch(ctx, e, ids, func(_ int, id jobhost.RunID, _ *jobhost.Result[struct{}]) *command {
		if e.askHere(id) {
			return nil
		}
		return e.cancelElsewhere(id)
	})
	for i, id := range ids {
		if out[i].Err == nil {
			e.askHere(id) // it was on record at the first look, and is dispatched now
		}
	}
	return out
}

// askHere asks a run to end, if it is in progress on this node.
func (e *Engine) askHere(id jobhost.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.active[id]
	if a != nil {
		e.ask(a)
	}
	return a != nil
}

// cancelElsewhere is the command that cancels a run which is not in progress on this node: one that has not started is
// taken out of the queue and recorded as Canceled; for one on another node a request is left.
func (e *Engine) cancelElsewhere(id jobhost.RunID) *command {
	c := &command{}
	c.do = func(t *turn) error {
		runs, err := t.tx.Runs(id)
		if err != nil {
			return err
		}
		if len(runs) == 1 {
			r := runs[0]
			switch {
			case r.State.Ended():
				c.err = notFoundRun(id, fmt.Sprintf("has ended: %v", r.State))
			case r.Node != e.cfg.NodeID:
				return t.tx.PutCancel(r.Node, id)
			}
			return nil
		}
		pending, err := t.tx.Pending(id)
		if err != nil {
			return err
		}
		if x, ok := t.locals.pending(id); ok {
			t.moves = append(t.moves, move{key: x.trigger.Key})
			return t.cancelPending(x.trigger, "cancelled before it started")
		}
		if len(pending) == 0 {
			c.err = unknownRun(id)
			return nil
		}
		return t.cancelPending(pending[0], "cancelled before it started")
	}
	return c
}

// cancelPending removes the one-shot of a run that has not started, and records the run as Canceled: on no node, and without a
// start.
func (t *turn) cancelPending(p jobhost.Trigger, why string) error {
	if err := t.lock([]jobhost.Name{p.Key.Job}); err != nil {
		return err
	}
	if err := t.tx.DeleteTriggers(p.Key); err != nil {
		return err
	}
	var job jobhost.Job
	if j := t.jobs[p.Key.Job]; j != nil {
		job = j.Job
	}
	r, err := start(p, job, p.OneShot.RunID, p.Due, t.now, "")
	switch {
	case t.narrow: // it is to make room
		r.Data = nil
	case err != nil:
		r.Data = p.OneShot.Data
	}
	r.State, r.StartedAt, r.EndedAt, r.ErrorCode, r.ErrorMessage = jobhost.RunCanceled, time.Time{}, t.now, jobhost.Canceled, why
	if t.heard {
		t.tell(t.endEvent(r))
	}
	return t.tx.PutRuns(r)
}
