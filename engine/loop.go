package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/jobhost/jobhost"
)

// memory is what turns remember between each other. Only a turn touches it.
type memory struct {
	strain

	held       held           // what cannot start here
	unfreed    []jobhost.Name // jobs whose Blocked triggers were freed in part
	plugins    plugins        // as of listed
	listed     time.Time      // zero: never
	reconciled bool
	doubtful   []move          // of local triggers, decided by turns whose outcome is unknown
	unsure     []jobhost.RunID // may have been started by turns whose outcome is unknown
	flushed    time.Time       // when logs of runs in progress were last stored
	logs       []logChunks     // taken from them and not stored yet
	cleaned    time.Time
	locals     locals
	orphaned   map[jobhost.Name]bool // jobs that no live node's files define
	last       time.Time             // of the last turn, to see a clock that goes back
	intervals  bool                  // the dues of intervals were checked since the clock last went back
	cleaning   cleaning
	sizes      map[jobhost.Name]int // bytes of jobs' values, on a private store; not of all
}

// loop turns until over is closed, and sleeps as long as there is nothing to do.
func (e *Engine) loop(ctx context.Context, over <-chan struct{}, timer *time.Timer) {
	for {
		select {
		case <-over:
			return
		default:
		}
		_, again, err := e.turn(ctx, e.State() == Serving)
		if again && err == nil {
			continue
		}
		wait, wake := e.cfg.PollInterval, e.wake
		if err != nil {
			e.complain(ctx, err)
			wake = nil // a store that fails is not asked more often because runs end
		} else {
			e.calm(ctx)
			wait = e.sleep(ctx)
		}
		timer.Reset(wait)
		select {
		case <-over:
			return
		case <-timer.C:
		case <-wake:
		}
	}
}

// sleep is how long there is nothing to do: until the next trigger is due that could start, at most a poll interval.
func (e *Engine) sleep(ctx context.Context) time.Duration {
	e.turning.Lock()
	defer e.turning.Unlock()
	e.mu.Lock()
	idle := e.state != Serving || len(e.active) >= e.cfg.MaxConcurrentRuns
	e.mu.Unlock()
	if idle || e.room > ample {
		return e.cfg.PollInterval
	}
	next, err := e.nextReady(ctx)
	if err != nil || next.IsZero() {
		return e.cfg.PollInterval
	}
	return min(e.cfg.PollInterval, max(0, next.Sub(e.cfg.Now())))
}

func (e *Engine) nextReady(ctx context.Context) (next time.Time, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		next, err = tx.NextReady(e.held.query(time.Time{}, 0, e.orphaned, e.oneShotsOnly()))
		return err
	})
	if local := e.locals.next(); !local.IsZero() && (next.IsZero() || local.Before(next)) {
		next = local
	}
	return next, err
}

// turn does one turn, with claims or without. It returns the runs that were started, and reports whether another turn
// should follow at once.
func (e *Engine) turn(ctx context.Context, claim bool) (runs []started, again bool, err error) {
	e.turning.Lock()
	defer e.turning.Unlock()
	now, err := e.prepare(ctx)
	if err != nil {
		e.refuse(err)
		return nil, false, err
	}
	done, cmds, slots := e.take(now, claim)
	e.takeLogs(now)
	nothing := len(done) == 0 && len(cmds) == 0 && len(e.logs) == 0 && len(e.unfreed) == 0
	if e.wantsRoom(nothing) {
		again, err := e.makeRoom(ctx, now)
		return nil, again && (claim || e.waiting()), err
	}
	if nothing {
		due, err := e.due(ctx, now, slots)
		if err != nil {
			return nil, false, err
		}
		if !due {
			again, err := e.housekeep(ctx, now)
			return nil, again || e.waiting(), err
		}
	}
	t := e.newTurn(now, slots, e.apart && len(cmds) > 0)
	err = e.store.Update(ctx, func(tx jobhost.Tx) error { return t.run(tx, done, cmds, slots) })
	if err != nil {
		again, err := e.failed(ctx, err, t, done, cmds)
		return nil, again, err
	}
	e.succeeded(ctx, t, done, cmds)
	if _, err := e.housekeep(ctx, now); err != nil {
		e.log.ErrorContext(ctx, "housekeeping failed", slog.Any("err", err))
	}
	atLimit := slots > 0 && t.slots == 0
	heldBack := e.apart && len(cmds) > 0 && claim && slots == 0
	return t.started, e.waiting() || atLimit || heldBack || len(e.unfreed) > 0, nil
}

// due reports whether a trigger is due that one of the slots can take.
func (e *Engine) due(ctx context.Context, now time.Time, slots int) (bool, error) {
	if slots == 0 {
		return false, nil
	}
	next, err := e.nextReady(ctx)
	return err == nil && !next.IsZero() && !next.After(now), err
}

// newTurn gives a turn what it decides by. A command that has a turn of its own, on a full store, is not to fail because
// something else does not fit.
func (e *Engine) newTurn(now time.Time, slots int, alone bool) *turn {
	t := &turn{
		cfg: &e.cfg, plans: e.plans, now: now, ids: drawIDs(now, slots), held: e.held, plugins: e.plugins, logs: e.logs,
		locals: &e.locals, inHand: e.localRuns(), orphaned: e.orphaned, oneShots: e.oneShotsOnly(), heard: e.events.wanted(), sizes: e.sizes,
		quiet: e.State() > Serving, narrow: e.apart, toFree: e.unfreed,
	}
	if alone {
		t.logs, t.toFree = nil, nil
	}
	return t
}

// succeeded acts on what a turn has stored: answers, reports, and dispatches the runs that it started.
func (e *Engine) succeeded(ctx context.Context, t *turn, done []*ending, cmds []*command) {
	e.relieved()
	e.held = t.newHeld
	if t.logs != nil {
		e.logs = nil
	}
	if t.toFree != nil {
		e.unfreed = nil
	}
	e.unfreed = append(e.unfreed, t.unfreed...)
	e.keepSizes(t)
	e.locals.apply(t.moves)
	if t.reread {
		e.locals.read = time.Time{}
		if err := e.locals.refresh(ctx, e, t.now); err != nil {
			e.log.ErrorContext(ctx, "local jobs cannot be read", slog.Any("err", err)) // the next turn tries again
		}
	}
	e.recorded(done, cmds, t)
	t.report(e.log)
	e.events.publish(t.events)
	for _, s := range t.started {
		e.dispatch(s) //nolint:contextcheck // a run outlives the turn and its caller
	}
}

// prepare does what must precede the first turn, after a turn whose outcome is unknown the next, and now and then any. It
// returns the instant of the turn.
func (e *Engine) prepare(ctx context.Context) (now time.Time, err error) {
	if err := e.reconcile(ctx); err != nil {
		return now, err
	}
	if err := e.readBack(ctx); err != nil {
		return now, err
	}
	now = e.now()
	e.refresh(ctx, now)
	if err := e.locals.refresh(ctx, e, now); err != nil {
		return now, err
	}
	return now, e.mendIntervals(ctx, now)
}

// makeRoom is the turn of a store that did not take one. It reports whether another may be tried at once.
func (e *Engine) makeRoom(ctx context.Context, now time.Time) (again bool, err error) {
	if e.room > ample {
		e.cleaned = time.Time{}
	}
	_, err = e.housekeep(ctx, now)
	if e.room == jammed && jobhost.CodeOf(err) == jobhost.StoreFull {
		err = nil // a command may make the room that this could not
	}
	e.madeRoom(now.Add(e.cfg.PollInterval))
	return err == nil, err
}
