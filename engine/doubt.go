package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jobhost/jobhost"
)

// refuse answers the commands that wait for a turn which does not come, with the reason.
func (e *Engine) refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer(e.cmds, err)
	e.cmds = nil
}

// failed sorts out a turn that was not confirmed. The runs it may have started are read back before the next one. It
// reports whether another turn should follow at once: one of commands that are tried again, or a smaller one, since a
// record and not the store is to blame. Completions are then halved until the one that cannot be stored stands alone, which
// is stored without its output.
func (e *Engine) failed(ctx context.Context, err error, t *turn, done []*ending, cmds []*command) (again bool, _ error) {
	for _, s := range t.started {
		e.unsure = append(e.unsure, s.run.ID)
	}
	e.suffer(err)
	e.doubtful = append(e.doubtful, t.moves...)
	e.sizes = nil
	switch code := jobhost.CodeOf(err); {
	case code == jobhost.StoreFull && len(cmds) > 0 && !e.apart: // from now on each has a turn of its own
		e.overflowed(len(done) > 0)
		e.mu.Lock()
		e.cmds = append(cmds, e.cmds...)
		e.mu.Unlock()
		return true, nil
	case code == jobhost.StoreFull && len(cmds) > 0:
		answer(cmds, err)
		if e.waiting() {
			return true, nil
		}
		e.overflowed(false)
		return false, err
	case code == jobhost.StoreFull:
		e.overflowed(len(done) > 0)
		if len(done) == 0 && e.waiting() { // of those that wait one may make room
			return true, nil
		}
		return false, err
	}
	answer(cmds, err)
	e.room = ample
	switch {
	case jobhost.CodeOf(err) == jobhost.StoreUnreachable || len(done) == 0:
		return false, err
	case e.halves(len(done)):
	case !done[0].degraded:
		done[0].degraded = true
		e.log.ErrorContext(ctx, "an outcome cannot be stored; it is recorded without output and log",
			slog.String("run", string(done[0].run.ID)), slog.Any("err", err))
	default: // not even so: let the others pass, then wait
		e.mu.Lock()
		e.done = append(e.done[1:], done[0])
		e.mu.Unlock()
		e.refuse(err)
		return false, err
	}
	return true, nil
}

// answer tells those who wait for commands that the store did not confirm them.
func answer(cmds []*command, err error) {
	for _, c := range cmds {
		c.done <- unconfirmed(err)
	}
}

func unconfirmed(err error) error {
	if jobhost.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "engine", Msg: "the store did not confirm: " + err.Error(), Err: err}
}

// readBack looks up the runs that unconfirmed turns may have started. What was stored after all is dispatched.
func (e *Engine) readBack(ctx context.Context) error {
	if len(e.unsure) == 0 {
		return nil
	}
	var found []started
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		found = found[:0]
		runs, err := tx.Runs(e.unsure...)
		if err != nil {
			return err
		}
		for _, r := range runs {
			jobs, err := tx.Jobs(r.Job)
			if err != nil {
				return err
			}
			if r.State == jobhost.RunRunning && r.Node == e.cfg.NodeID && len(jobs) == 1 && !e.holds(r.ID) {
				found = append(found, started{r, jobs[0].Job, r.Kind == jobhost.KindSchedule})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.unsure = nil
	for _, s := range found {
		e.dispatch(s) //nolint:contextcheck // a run outlives the turn and its caller
	}
	e.locals.settle(e.doubtful, found)
	e.doubtful = nil
	return nil
}

// holds reports whether a run is in progress here, or its end is about to be recorded.
func (e *Engine) holds(id jobhost.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inProgress(id)
}
