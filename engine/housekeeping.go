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
	gone []jobhost.Name            // deleted jobs whose history is to go, since the store is full
	size int                       // how much the next commit deletes; 0: pruneBatch

	scanned bool // gone was looked for since the store became full
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

// clean deletes one batch of what is too old or too much, and when the store is full also the history of jobs that were
// deleted. After a batch that itself did not fit the next is smaller.
func (e *Engine) clean(ctx context.Context, now time.Time) (again bool, err error) {
	c := &e.cleaning
	if e.apart && !c.scanned {
		if c.gone, err = e.deletedJobs(ctx); err != nil {
			return false, err
		}
		c.scanned = true
	}
	if c.size == 0 {
		c.size = pruneBatch
	}
	again, err = e.cleanBatch(ctx, now)
	if jobhost.CodeOf(err) == jobhost.StoreFull {
		c.size = max(1, c.size/8)
	} else {
		c.size = min(pruneBatch, c.size*8)
	}
	return again, err
}

// cleanBatch is one commit of clean.
func (e *Engine) cleanBatch(ctx context.Context, now time.Time) (again bool, err error) {
	c, coming := &e.cleaning, e.unstored()
	left, gone := c.jobs, c.gone
	err = e.store.Update(ctx, func(tx jobhost.Tx) error {
		room := c.size
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
			if len(jobs) == 1 {
				if keep := keeps(jobs[0].Job, coming); keep > 0 {
					if err := take(tx.PruneJobRuns(left[0], keep, room)); err != nil {
						return err
					}
				}
			}
			if room > 0 {
				left = left[1:]
			}
		}
		for gone = c.gone; room > 0 && len(gone) > 0; {
			jobs, err := tx.Jobs(gone[0])
			if err != nil {
				return err
			}
			if len(jobs) == 0 { // nobody has defined it again
				if err := take(tx.PruneJobRuns(gone[0], 0, room)); err != nil {
					return err
				}
			}
			if room > 0 {
				gone = gone[1:]
			}
		}
		again = room == 0
		return nil
	})
	if err != nil {
		return false, err
	}
	c.jobs, c.gone, c.due = left, gone, again
	return again, nil
}

// keeps is how many ended runs of a job are kept; 0: no limit. A lower limit of its file counts before it is stored, since
// the store may be too full for that.
func keeps(job jobhost.Job, coming map[jobhost.Name]jobhost.JobDef) int {
	limit := coming[job.Name].HistoryLimit
	if limit > 0 && (job.HistoryLimit == 0 || limit < job.HistoryLimit) {
		return limit
	}
	return job.HistoryLimit
}

// unstored are the definitions of the files while they are not all in the store.
func (e *Engine) unstored() map[jobhost.Name]jobhost.JobDef {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.unsynced {
		return nil
	}
	return e.files // Apply makes another, and leaves this one as it is
}

// deletedJobs lists the jobs of the history that are not defined, and are not about to be.
func (e *Engine) deletedJobs(ctx context.Context) ([]jobhost.Name, error) {
	const page, pages = 1000, 100 // short transactions, and a bound for a large history: the rest is found the next time
	seen := map[jobhost.Name]bool{}
	for name := range e.unstored() {
		seen[name] = true
	}
	var out []jobhost.Name
	q := jobhost.RunQuery{Limit: page}
	for range pages {
		var runs []jobhost.Run
		err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
			runs, err = tx.QueryRuns(q)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if !seen[r.Job] {
				seen[r.Job] = true
				out = append(out, r.Job)
			}
		}
		if len(runs) < page {
			break
		}
		q.To = runs[len(runs)-1].ListedAt() // others of that instant are mostly of jobs that were seen
	}
	var defined []jobhost.JobState
	err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		defined, err = tx.Jobs(out...)
		return err
	})
	for _, j := range defined {
		out = slices.DeleteFunc(out, func(n jobhost.Name) bool { return n == j.Name })
	}
	return out, err
}
