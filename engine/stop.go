package engine

import (
	"context"
	"time"
)

// stopMargin is how long after the last possible end of a run a stop still tries to record it.
const stopMargin = 2 * time.Second

// StopNow makes a stop wait for nothing, whether it goes on or is still to come: draining ends, and the runs in progress are
// cancelled at once. By itself it stops nothing.
func (e *Engine) StopNow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.hurried {
		e.hurried = true
		close(e.hurry)
	}
	if e.state == Stopping {
		e.askAll()
	}
}

// askAll asks all runs in progress to end. The caller holds mu.
func (e *Engine) askAll() {
	for _, a := range e.active {
		e.ask(a)
	}
}

// drainFor is closed when a stop has drained long enough.
func (e *Engine) drainFor(d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-time.After(d):
		case <-e.hurry:
		}
	}()
	return over
}

// stop waits for the runs in progress, cancels those that take too long, and records how they all ended (SPEC 20).
func (e *Engine) stop(ctx context.Context, timer *time.Timer) error {
	e.mu.Lock()
	e.state = Stopping
	began := e.cfg.Now()
	cancelAt := began.Add(e.cfg.ShutdownTimeout)
	giveUpAt := cancelAt.Add(e.cfg.CancelGrace + stopMargin)
	if e.hurried {
		cancelAt = began
	}
	for a := range e.replays { // nobody's work is lost with them
		e.ask(a)
	}
	e.mu.Unlock()
	var err error
	for asked := false; ; {
		_, again, turnErr := e.turn(ctx, false)
		err = turnErr
		now := e.cfg.Now()
		if !asked && !now.Before(cancelAt) {
			asked = true
			e.mu.Lock()
			e.askAll()
			e.mu.Unlock()
		}
		if e.idle() && err == nil || !now.Before(giveUpAt) {
			break
		}
		if again && err == nil {
			continue
		}
		wait, wake := e.cfg.PollInterval, e.wake
		if err != nil {
			e.complain(ctx, err)
			wake = nil
		}
		if !asked {
			wait = min(wait, cancelAt.Sub(now))
		}
		timer.Reset(max(wait, 0))
		select {
		case <-timer.C:
		case <-wake:
		}
	}
	return err
}

// idle reports whether every run is recorded and every command answered.
func (e *Engine) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.active) == 0 && len(e.done) == 0 && len(e.cmds) == 0
}

// end refuses what is still queued and tells those who wait that no answer will come. Runs that are still in progress
// are ended and waited for; their records stay Running, and the next start on this store makes them Lost.
func (e *Engine) end() {
	e.mu.Lock()
	e.state, e.looping = Stopped, false
	for _, a := range e.active {
		a.end(errCanceled)
	}
	for a := range e.replays {
		a.end(errCanceled)
	}
	for _, c := range e.cmds {
		c.done <- errStopped
	}
	e.cmds = nil
	e.mu.Unlock()
	e.runs.Wait()
	close(e.stopped)
	e.events.sinks.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, w := range e.waiters {
		close(w)
		delete(e.waiters, id)
	}
	e.signal()
}
