package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// An active is a run in progress on this node. Its fields are guarded by Engine.mu, except those that never change.
type active struct {
	log   *runLog
	stop  chan struct{}           // closed when the run is asked to end
	end   context.CancelCauseFunc // the hard end
	local bool                    // of a job that runs on every instance
	job   jobhost.Name
	cause jobhost.Code // why it is to end, the first reason; "" while there is none
}

var (
	errTimedOut = &jobhost.Error{Code: jobhost.TimedOut, Op: "engine.run", Msg: "the run exceeded its time limit"}
	errDisowned = &jobhost.Error{Code: jobhost.Unexpected, Op: "engine.run", Msg: "the run's record is not this node's any more"}
	errCanceled = &jobhost.Error{Code: jobhost.Canceled, Op: "engine.run", Msg: "the run was cancelled"}
)

// dispatch runs what a turn has started, in a goroutine of its own.
func (e *Engine) dispatch(s started) {
	r := s.run
	ctx, end := context.WithCancelCause(context.Background())
	a := &active{log: newRunLog(e.now), stop: make(chan struct{}), end: end, job: r.Job, local: s.job.RunOnEveryInstance}
	e.mu.Lock()
	e.active[r.ID] = a
	e.signal() // whoever follows its log finds it now
	e.mu.Unlock()
	e.runs.Go(func() { e.run(ctx, a, s) })
}

func (e *Engine) run(ctx context.Context, a *active, s started) {
	job := s.job
	call := e.callOf(a, s.run, job)
	call.KV = kv{e, s.run.Job, s.run.ID}
	r, out, _ := e.perform(ctx, a, call, job.Timeout, e.chain)
	a.end(nil)
	d := &ending{run: r, permanent: out.Permanent, output: out.Output, log: a.log.close(), awaited: s.awaited, live: a.log}
	e.mu.Lock()
	delete(e.active, r.ID) // the slot is free, whatever the store does
	e.done = append(e.done, d)
	e.signal()
	e.mu.Unlock()
	e.nudge()
}

// callOf is what the runner gets, without values and a limit.
func (e *Engine) callOf(a *active, r jobhost.Run, job jobhost.Job) jobhost.Call {
	return jobhost.Call{Run: r, Plugin: job.Plugin, Stop: a.stop, Traceparent: r.ID.Traceparent(false), Sink: a.log}
}

// perform makes a call within a limit, which is none if it is zero. It returns the run as it ended, and why it was ended from
// outside: one of our codes, or "" if it was not.
func (e *Engine) perform(ctx context.Context, a *active, call jobhost.Call, limit time.Duration, do jobhost.RunFunc) (jobhost.Run, jobhost.Outcome, jobhost.Code) {
	if limit > 0 {
		call.Deadline = e.now().Add(limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimedOut)
		defer cancel()
	}
	r := call.Run
	out := e.call(jobhost.ContextWithRun(ctx, r), call, do)
	r.EndedAt = e.now()
	e.mu.Lock()
	if a.cause == "" && ctx.Err() != nil {
		a.cause = jobhost.CodeOf(context.Cause(ctx))
	}
	cause := a.cause
	e.mu.Unlock()
	r.State, r.ErrorCode, r.ErrorMessage = judge(out, cause, r.EndedAt, call.Deadline)
	r.Digest, r.Fuel, r.PeakMemory = out.Digest, out.Fuel, out.PeakMemory
	return r, out, cause
}

// call makes a call. A panic of the host is the run's failure and nobody else's.
func (e *Engine) call(ctx context.Context, c jobhost.Call, do jobhost.RunFunc) (out jobhost.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			e.log.ErrorContext(ctx, "a run panicked in the host", slog.String("run", string(c.Run.ID)), slog.String("job", c.Run.Job),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			out = jobhost.Outcome{Code: jobhost.Unexpected, Message: fmt.Sprintf("the host panicked: %v", p)}
		}
	}()
	return do(ctx, c)
}

// ask asks a run to end: it is told, and after the grace, but not later than its deadline, ended. The caller holds mu.
func (e *Engine) ask(a *active) {
	if a.cause != "" {
		return // the first cause decides
	}
	a.cause = jobhost.Canceled
	close(a.stop)
	if e.cfg.CancelGrace == 0 {
		a.end(errCanceled)
		return
	}
	time.AfterFunc(e.cfg.CancelGrace, func() { a.end(errCanceled) })
}

// inProgress reports whether a run of this node has not been recorded as ended. The caller holds mu.
func (e *Engine) inProgress(id jobhost.RunID) bool {
	return e.active[id] != nil || slices.ContainsFunc(e.done, func(d *ending) bool { return d.run.ID == id })
}

// tell gives the recorded end of a run to whoever waits for it. The caller holds mu.
func (e *Engine) tell(d *ending) {
	if w, ok := e.waiters[d.run.ID]; ok {
		w <- d.run
		delete(e.waiters, d.run.ID)
	}
	if d.live != nil {
		d.live.recorded()
	}
}
