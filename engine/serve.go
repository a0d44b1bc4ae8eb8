package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// Serve waits until the plugins of the file jobs are ready, fires triggers until ctx ends, and then stops: it drains for
// DrainDelay, refuses requests, waits up to ShutdownTimeout for the runs in progress, cancels the rest and waits until their
// ends are recorded. It returns nil after an orderly stop, the error of a file job that cannot run here, or the store's
// error. An engine serves once.
func (e *Engine) Serve(ctx context.Context) error {
	e.mu.Lock()
	if e.looping || e.state >= Stopping {
		e.mu.Unlock()
		return errStopped
	}
	e.state, e.looping = Started, true
	e.mu.Unlock()
	work := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	e.doDuties(work)
	over := make(chan struct{})
	var attending sync.WaitGroup
	attending.Go(func() { e.attend(work, over) })
	for _, s := range e.cfg.Sinks {
		l := e.events.listen()
		e.events.sinks.Go(func() { e.events.feed(s, l, e.stopped) })
	}
	err := e.serve(ctx, work, timer)
	err = errors.Join(err, e.stop(work, timer))
	close(over)
	attending.Wait()
	err = errors.Join(err, e.leave(work))
	e.end()
	return err
}

// serve is Serve from Started to the end of ctx.
func (e *Engine) serve(ctx, work context.Context, timer *time.Timer) error {
	ready, problem := make(chan struct{}), error(nil)
	go func() {
		defer close(ready)
		problem = e.awaitPlugins(ctx)
	}()
	e.loop(work, ready, timer)
	if problem != nil || ctx.Err() != nil {
		return problem
	}
	if err := e.enterService(ctx, work); err != nil {
		return err
	}
	e.loop(work, ctx.Done(), timer)
	if e.cfg.DrainDelay > 0 {
		e.set(Draining)
		e.loop(work, e.drainFor(e.cfg.DrainDelay), timer)
	}
	return nil
}

// awaitPlugins waits until every plugin that a file job needs is ready. One that cannot be is an error.
func (e *Engine) awaitPlugins(ctx context.Context) error {
	const look = 20 * time.Millisecond
	for {
		list, err := e.runner.Plugins(ctx)
		if err != nil {
			return err
		}
		problems := map[jobhost.Name]string{} // of those that are not ready; "": it is being compiled
		for _, p := range list {
			if !p.Ready {
				problems[p.Key] = p.Problem
			}
		}
		waiting := false
		for _, def := range e.fileDefs() {
			problem, notReady := problems[def.Plugin]
			if problem != "" {
				return &jobhost.Error{
					Code: jobhost.NotFoundPlugin, Op: "engine.serve",
					Msg: fmt.Sprintf("job %q cannot run: plugin %q is not ready: %s", def.Name, def.Plugin, problem),
				}
			}
			waiting = waiting || notReady
		}
		if !waiting {
			return nil
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// enterService makes the engine Serving and brings the files' definitions into the store. A store that does not answer is
// asked again until ctx ends.
func (e *Engine) enterService(ctx, work context.Context) error {
	e.mu.Lock()
	if e.state != Started { // somebody asked to drain
		e.mu.Unlock()
		return nil
	}
	e.state, e.looping = Serving, false
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.looping = true
		e.mu.Unlock()
	}()
	for {
		err := e.synchronise(work)
		if code := jobhost.CodeOf(err); code != jobhost.StoreUnreachable && code != jobhost.StoreFull {
			e.doDuties(work) // the lease, before the first claim
			return err
		}
		e.log.ErrorContext(ctx, "the files' definitions cannot be stored", slog.Any("err", err))
		select {
		case <-time.After(e.cfg.PollInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// drain stops the firing of triggers; requests are still taken and runs in progress go on.
func (e *Engine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == Started || e.state == Serving {
		e.state = Draining
	}
	e.nudge()
}

func (e *Engine) set(s State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = s
}
