package engine

import (
	"context"
	"slices"

	"github.com/jobhost/jobhost"
)

// Next lists coming slots. See [jobhost.Scheduler].
func (e *Engine) Next(ctx context.Context, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	if q.Count == 0 {
		q.Count = 10
	}
	if q.Count < 0 || q.Count > maxLimit {
		return nil, invalid("count is %d, want 1 to %d", q.Count, maxLimit)
	}
	if q.From.IsZero() {
		q.From = e.now()
	}
	if q.Schedule != "" {
		p, err := e.plans.of(q.Schedule)
		if err != nil {
			return nil, invalid("schedule %q: %v", q.Schedule, err)
		}
		return p.slots(q.From, q.Count), nil
	}
	var ts []jobhost.Trigger
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		jobs, err := tx.Jobs(q.Job)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return notFoundJob(q.Job)
		}
		ts, err = tx.TriggersOf(q.Job)
		return err
	})
	if err != nil {
		return nil, err
	}
	ts = slices.DeleteFunc(ts, func(t jobhost.Trigger) bool {
		return t.OneShot != nil || q.Trigger != "" && t.Key.Trigger != q.Trigger
	})
	if q.Trigger != "" && len(ts) == 0 {
		return nil, notFoundTrigger(q.Job, q.Trigger)
	}
	return e.slotsOf(ts, q)
}

// slotsOf lists the coming slots of triggers together, in the order of time.
func (e *Engine) slotsOf(ts []jobhost.Trigger, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	var out []jobhost.Slot
	for _, t := range ts {
		p, err := e.plans.of(t.Schedule)
		if err != nil {
			return nil, invalid("trigger %q: %v", t.Key.Trigger, err)
		}
		for _, s := range p.slots(q.From, q.Count) {
			s.Trigger = t.Key.Trigger
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b jobhost.Slot) int { return a.At.Compare(b.At) })
	if len(ts) > 1 && len(out) > q.Count {
		out = out[:q.Count]
	}
	return out, nil
}
