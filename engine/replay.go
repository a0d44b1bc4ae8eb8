package engine

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
)

// Replay runs a recorded run again. See [jobhost.Scheduler]. It goes past the chain of middleware, since its trace would be
// the recorded run's.
func (e *Engine) Replay(ctx context.Context, req jobhost.ReplayRequest) (jobhost.Replayed, error) {
	replayer, ok := e.runner.(jobhost.Replayer)
	if !ok {
		return jobhost.Replayed{}, &jobhost.Error{
			Code: jobhost.NotFoundPlugin, Op: "replay", Msg: "the runner of this instance keeps no modules, so it cannot replay",
		}
	}
	recorded, job, err := e.onRecord(ctx, req.Run)
	if err != nil {
		return jobhost.Replayed{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &active{log: newRunLog(e.now), stop: make(chan struct{}), end: end, job: recorded.Job}
	if err := e.beside(a); err != nil {
		return jobhost.Replayed{}, err
	}
	defer e.runs.Done()
	defer e.besideNoMore(a)
	call := e.callOf(a, recorded, job)
	call.Run.StartedAt, call.Run.Node = e.now(), e.cfg.NodeID
	if req.Grants {
		call.KV = kv{e, recorded.Job, recorded.ID} // which can be read; writes are refused, since the run is over
	}
	again, out, cause := e.perform(ctx, a, call, job.Timeout, func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
		return replayer.Replay(ctx, c, recorded.Digest, req.Grants)
	})
	switch {
	case out.Code == jobhost.NotFoundPlugin && out.Digest == "":
		return jobhost.Replayed{}, &jobhost.Error{
			Code: out.Code, Op: "replay", Msg: fmt.Sprintf("run %q: %s", recorded.ID, out.Message),
			Params: map[string]any{"run": string(recorded.ID), "digest": recorded.Digest},
		}
	case cause == "" && ctx.Err() != nil:
		return jobhost.Replayed{}, context.Cause(ctx) // nobody waits for it any more
	}
	log, _, _ := a.log.after(0)
	return jobhost.Replayed{Recorded: recorded, Replay: again, Output: out.Output, Log: log}, nil
}

// onRecord is an ended run that had a module, and its job if there still is one.
func (e *Engine) onRecord(ctx context.Context, id jobhost.RunID) (run jobhost.Run, job jobhost.Job, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		runs, err := tx.Runs(id)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return unknownRun(id)
		}
		run = runs[0]
		switch {
		case !run.State.Ended():
			return notFoundRun(id, "has not ended; replay it afterwards")
		case run.Digest == "":
			return notFoundRun(id, "has no module on record, since it never came to call its plugin")
		}
		jobs, err := tx.Jobs(run.Job)
		if len(jobs) > 0 {
			job = jobs[0].Job
		}
		return err
	})
	return run, job, err
}

// beside takes a replay in, so that a stop of the engine ends it and waits for it.
func (e *Engine) beside(a *active) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state >= Stopping {
		return errStopped
	}
	e.replays[a] = true
	e.runs.Add(1)
	return nil
}

func (e *Engine) besideNoMore(a *active) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.replays, a)
}
