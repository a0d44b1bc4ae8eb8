package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// pruneBatch is how much one clean-up commit deletes, so that it never keeps a claim waiting for long.
const pruneBatch = 500

// cleaning is how far a clean-up has come.
type cleaning struct {
	due  bool                      // one is in progress
	jobs []jobhost.Name            // whose history by count is still to be looked at
	ran  map[jobhost.Name]struct{} // jobs that may have grown since the last one
	all  bool                      // ran was complete from the first turn on
}

// grew notes that a job has one more ended run.
func (c *cleaning) grew(job jobhost.Name) {
	if c.ran == nil {
		c.ran = map[jobhost.Name]struct{}{}
	}
	c.ran[job] = struct{}{}
}

// housekeep ends this node's records that have no run behind them, and deletes old history, a batch at a time. It reports
// whether there is more to delete.
func (e *Engine) housekeep(ctx context.Context, now time.Time) (again bool, err error) {
	if age := now.Sub(e.cleaned); age >= 0 && age < e.cfg.HousekeepingInterval && !e.cleaning.due {
		return false, nil
	}
	if !e.cleaning.due {
		if err := e.loseOwn(ctx); err != nil {
			return false, err
		}
		if err := e.watchNodes(ctx, now); err != nil {
			return false, err
		}
		if e.store.Shared() && !e.IsLeader() { // the leader cleans a shared history
			e.cleaned = now
			return false, nil
		}
		if err := e.beginCleaning(ctx); err != nil {
			return false, err
		}
		e.held.triggers = nil // another node may have mended them
		e.cleaned = now
	}
	return e.clean(ctx, now)
}

// inHand are the runs whose goroutine or end this node holds.
func (e *Engine) inHand() map[jobhost.RunID]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[jobhost.RunID]bool, len(e.active)+len(e.done))
	for id := range e.active {
		out[id] = true
	}
	for _, d := range e.done {
		out[d.run.ID] = true
	}
	return out
}

// beginCleaning lists the jobs whose history may be too long: at first all, later those that ran.
func (e *Engine) beginCleaning(ctx context.Context) error {
	c := &e.cleaning
	c.jobs = slices.Sorted(maps.Keys(c.ran))
	if !c.all {
		c.jobs = nil
		err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
			c.jobs, err = tx.JobNames("", int(^uint(0)>>1))
			return err
		})
		if err != nil {
			return err
		}
	}
	c.ran, c.all, c.due = map[jobhost.Name]struct{}{}, true, true
	return nil
}

// clean deletes one batch of what is too old or too much.
func (e *Engine) clean(ctx context.Context, now time.Time) (again bool, err error) {
	c := &e.cleaning
	left := c.jobs
	err = e.store.Update(ctx, func(tx jobhost.Tx) error {
		room := pruneBatch
		take := func(n int, err error) error {
			room -= n
			return err
		}
		if e.cfg.HistoryRetention > 0 {
			if err := take(tx.PruneRuns(now.Add(-e.cfg.HistoryRetention), room)); err != nil {
				return err
			}
		}
		if err := take(tx.PruneIdempotent(now, room)); err != nil {
			return err
		}
		for left = c.jobs; room > 0 && len(left) > 0; {
			jobs, err := tx.Jobs(left[0])
			if err != nil {
				return err
			}
			if len(jobs) == 1 && jobs[0].HistoryLimit > 0 {
				if err := take(tx.PruneJobRuns(left[0], jobs[0].HistoryLimit, room)); err != nil {
					return err
				}
			}
			if room > 0 {
				left = left[1:]
			}
		}
		again = room == 0
		return nil
	})
	if err != nil {
		return false, err
	}
	c.jobs, c.due = left, again
	return again, nil
}
