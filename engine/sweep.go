package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// mendIntervals sees to it that an interval's due is never later than now, or the start of its window, and the interval:
// a clock that was set back does not silence it (SPEC 12). It looks once at the start and whenever the clock went back.
func (e *Engine) mendIntervals(ctx context.Context, now time.Time) error {
	if now.Before(e.last) {
		e.log.WarnContext(ctx, "the clock went back", slog.Time("now", now))
		e.intervals = false
	}
	e.last = now
	if e.intervals {
		return nil
	}
	var unfreed []jobhost.Name
	look := func(j jobhost.JobState) { // also those that a process before this one has freed in part
		if j.Blocked && len(j.Open) == 0 && !e.store.Shared() {
			unfreed = append(unfreed, j.Name)
		}
	}
	err := e.eachTrigger(ctx, look, func(t jobhost.Trigger, p *plan) (jobhost.Trigger, bool) {
		latest := later(now, p.Start).Add(p.Interval)
		if p.Kind != jobhost.Every || t.State != jobhost.TriggerWaiting || !t.Due.After(latest) {
			return t, false
		}
		return wait(t, p.next(now)), true
	})
	if e.intervals = err == nil; e.intervals {
		e.unfreed = unfreed
	}
	return err
}

// eachTrigger changes the scheduled triggers for which f says so, a page of jobs at a time. Before that look, if there is one,
// sees each job.
func (e *Engine) eachTrigger(ctx context.Context, look func(jobhost.JobState), f func(jobhost.Trigger, *plan) (jobhost.Trigger, bool)) error {
	var names []jobhost.Name
	err := e.eachJob(ctx, func(j jobhost.JobState) {
		names = append(names, j.Name)
		if look != nil {
			look(j)
		}
	})
	if err != nil {
		return err
	}
	const page = 500
	for part := range slices.Chunk(names, page) {
		changes := false
		change := func(tx jobhost.Tx, put func(...jobhost.Trigger) error) error {
			jobs, err := tx.Jobs(part...)
			if err != nil {
				return err
			}
			for _, j := range jobs {
				ts, err := tx.TriggersOf(j.Name)
				if err != nil {
					return err
				}
				for _, t := range ts {
					p, err := e.plans.of(t.Schedule)
					if t.OneShot != nil || err != nil {
						continue
					}
					n, changed := f(t, p)
					if !changed {
						continue
					}
					n.Ready = time.Time{}
					if err := put(ready(n, j.Job)); err != nil {
						return err
					}
				}
			}
			return nil
		}
		err := e.store.View(ctx, func(tx jobhost.Tx) error { // most pages need no change, so no commit
			return change(tx, func(...jobhost.Trigger) error { changes = true; return nil })
		})
		if err == nil && changes {
			err = e.store.Update(ctx, func(tx jobhost.Tx) error { return change(tx, tx.PutTriggers) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
