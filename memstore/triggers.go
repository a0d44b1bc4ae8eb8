package memstore

import (
	"math"
	"time"

	"github.com/jobhost/jobhost"
)

func (t *tx) Due(q jobhost.DueQuery) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	if q.Limit <= 0 {
		return nil, nil
	}
	now := q.Now.UnixMicro()
	t.byPriority(&q, func(r ready) bool {
		if r.at > now || len(out) >= q.Limit {
			return false
		}
		x, _ := t.triggers.Get(trigger{key: r.key})
		out = append(out, cloneTrigger(x.Trigger))
		return true
	})
	return out, nil
}

func (t *tx) NextReady(q jobhost.DueQuery) (time.Time, error) {
	next, found := int64(math.MaxInt64), false
	t.byPriority(&q, func(r ready) bool {
		next, found = min(next, r.at), true
		return false
	})
	if !found {
		return time.Time{}, nil
	}
	return time.UnixMicro(next).UTC(), nil
}

// byPriority calls each for the ready triggers that the filters of q let pass, a priority at a time, the earliest
// first. When each answers false, the rest of the priority is skipped.
func (t *tx) byPriority(q *jobhost.DueQuery, each func(ready) bool) {
	from := ready{priority: math.MaxInt32, at: math.MinInt64}
	for more := true; more; {
		more = false
		t.ready.Ascend(from, func(r ready) bool {
			if q.OneShots && !r.oneShot || q.NotJobs[r.key.Job] || q.NotTriggers[r.key] || each(r) {
				return true
			}
			from.priority, more = r.priority-1, r.priority > math.MinInt32
			return false
		})
	}
}

func (t *tx) Blocked(job jobhost.Name, limit int) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	t.blocked.Ascend(blocked{job: job, priority: math.MaxInt32, due: math.MinInt64}, func(b blocked) bool {
		if b.job != job || len(out) >= limit {
			return false
		}
		x, _ := t.triggers.Get(trigger{key: jobhost.TriggerKey{Job: job, Trigger: b.trigger}})
		out = append(out, cloneTrigger(x.Trigger))
		return true
	})
	return out, nil
}

func (t *tx) Triggers(keys ...jobhost.TriggerKey) ([]jobhost.Trigger, error) {
	out := make([]jobhost.Trigger, 0, len(keys))
	for _, k := range keys {
		if x, ok := t.triggers.Get(trigger{key: k}); ok {
			out = append(out, cloneTrigger(x.Trigger))
		}
	}
	return out, nil
}

func (t *tx) TriggersOf(jobs ...jobhost.Name) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	for _, n := range inOrder(jobs) {
		t.ofJob(n, func(x trigger) { out = append(out, cloneTrigger(x.Trigger)) })
	}
	return out, nil
}

func (t *tx) ofJob(job jobhost.Name, each func(trigger)) {
	t.triggers.Ascend(trigger{key: jobhost.TriggerKey{Job: job}}, func(x trigger) bool {
		if x.key.Job == job {
			each(x)
		}
		return x.key.Job == job
	})
}

func (t *tx) Pending(ids ...jobhost.RunID) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	for _, id := range ids {
		if k, ok := t.pending.Get(id); ok {
			x, _ := t.triggers.Get(trigger{key: k})
			out = append(out, cloneTrigger(x.Trigger))
		}
	}
	return out, nil
}

func (t *tx) PendingIDs(job jobhost.Name, after jobhost.RunID, limit int) (ids []jobhost.RunID, err error) {
	t.pending.Ascend(after, func(id jobhost.RunID, k jobhost.TriggerKey) bool {
		if len(ids) < limit && id > after && (job == "" || job == k.Job) {
			ids = append(ids, id)
		}
		return len(ids) < limit
	})
	return ids, nil
}

func (t *tx) PutTriggers(ts ...jobhost.Trigger) error {
	if err := t.write(); err != nil {
		return err
	}
	for i := range ts {
		x := cloneTrigger(&ts[i])
		x.Name = x.Key.Trigger
		if old, ok := t.triggers.Set(trigger{x.Key, &x}); ok {
			t.unlist(old.Trigger)
		}
		if !x.Ready.IsZero() {
			t.ready.Set(readyOf(&x))
		}
		if x.State == jobhost.TriggerBlocked {
			t.blocked.Set(blockedOf(&x))
		}
		if id, ok := pendingOf(&x); ok {
			t.pending.Set(id, x.Key)
		}
	}
	return nil
}

func (t *tx) DeleteTriggers(keys ...jobhost.TriggerKey) error {
	if err := t.write(); err != nil {
		return err
	}
	for _, k := range keys {
		if old, ok := t.triggers.Delete(trigger{key: k}); ok {
			t.unlist(old.Trigger)
		}
	}
	return nil
}

func (t *tx) unlist(x *jobhost.Trigger) {
	if !x.Ready.IsZero() {
		t.ready.Delete(readyOf(x))
	}
	if x.State == jobhost.TriggerBlocked {
		t.blocked.Delete(blockedOf(x))
	}
	if id, ok := pendingOf(x); ok {
		t.pending.Delete(id)
	}
}

func readyOf(x *jobhost.Trigger) ready {
	return ready{priority: x.Priority, at: x.Ready.UnixMicro(), key: x.Key, oneShot: x.OneShot != nil}
}

func blockedOf(x *jobhost.Trigger) blocked {
	return blocked{job: x.Key.Job, priority: x.Priority, due: x.Due.UnixMicro(), trigger: x.Key.Trigger}
}

func pendingOf(x *jobhost.Trigger) (id jobhost.RunID, ok bool) {
	if x.OneShot == nil || x.OneShot.Kind != jobhost.KindManual {
		return "", false
	}
	return x.OneShot.RunID, true
}

func cloneTrigger(x *jobhost.Trigger) jobhost.Trigger {
	c := *x
	c.Data = cloneData(x.Data)
	c.Due, c.Ready, c.LastFired, c.Refused.At = instant(x.Due), instant(x.Ready), instant(x.LastFired), instant(x.Refused.At)
	c.Refused.Slot = instant(x.Refused.Slot)
	if x.OneShot != nil {
		o := *x.OneShot
		o.Data = cloneData(o.Data)
		c.OneShot = &o
	}
	return c
}
