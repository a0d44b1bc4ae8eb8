package engine

import (
	"context"
)

// PollOnce does one cycle: a turn that claims, then turns without claims until the runs that it started are on record. It
// is for tests and for programs that keep time themselves; it may be called while an earlier call still waits, but not
// beside Serve.
func (e *Engine) PollOnce(ctx context.Context) error {
	e.mu.Lock()
	if e.state == Created {
		e.state = Serving
	}
	claim := e.state == Serving
	e.mu.Unlock()
	e.doDuties(ctx)
	if claim {
		if err := e.synchronise(ctx); err != nil {
			return err
		}
	}
	mine, _, err := e.turn(ctx, claim)
	if err != nil {
		return err
	}
	for {
		e.mu.Lock()
		pulse, queued, left := e.pulse, len(e.done)+len(e.cmds), 0
		for _, s := range mine {
			if e.inProgress(s.run.ID) {
				left++
			}
		}
		e.mu.Unlock()
		switch {
		case queued > 0:
			if _, _, err := e.turn(ctx, false); err != nil {
				return err
			}
			continue
		case left == 0:
			return nil
		}
		select {
		case <-pulse:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
