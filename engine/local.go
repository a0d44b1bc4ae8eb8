package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// refreshPolls is after how many poll intervals the local trigger set is read again (SPEC 14).
const refreshPolls = 10

// A local is a trigger of a local job as it stands on this instance: its due and state are here and not in the store. One
// with a OneShot is a retry or an enqueued run that waits in this process.
type local struct {
	job     jobhost.Job
	trigger jobhost.Trigger
}

// locals are the triggers of the local jobs. Only a turn touches them; others read a copy.
type locals struct {
	byKey map[jobhost.TriggerKey]local
	read  time.Time // when the set was last read; zero: to be read at once
}

// A move is what becomes of a local trigger once the turn that decided it is stored.
type move struct {
	key  jobhost.TriggerKey
	next *local        // nil: it is gone
	run  jobhost.RunID // that was started; empty: none
}

// refresh reads the set again when it is time to. What has not changed keeps its due; what is new is planned from now.
func (l *locals) refresh(ctx context.Context, e *Engine, now time.Time) error {
	if age := now.Sub(l.read); !l.read.IsZero() && age >= 0 && age < refreshPolls*e.cfg.PollInterval {
		return nil
	}
	var jobs []jobhost.JobState
	var stored []jobhost.Trigger
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		names, err := tx.LocalJobs()
		if err != nil {
			return err
		}
		if jobs, err = tx.Jobs(names...); err != nil {
			return err
		}
		stored, err = tx.TriggersOf(names...)
		return err
	})
	if err != nil {
		return err
	}
	byName := make(map[jobhost.Name]jobhost.Job, len(jobs))
	for _, j := range jobs {
		byName[j.Name] = j.Job
	}
	set := make(map[jobhost.TriggerKey]local, len(stored))
	for _, t := range stored {
		p, err := e.plans.of(t.Schedule)
		if t.OneShot != nil || err != nil {
			continue
		}
		old, ok := l.byKey[t.Key]
		n := local{byName[t.Key.Job], t}
		if ok && sameSchedule(old.trigger.Schedule, p) {
			n.trigger = old.trigger
			n.trigger.TriggerDef, n.trigger.Paused = t.TriggerDef, t.Paused
		} else {
			n.trigger.FiredCount, n.trigger.LastFired, n.trigger.RunID = 0, time.Time{}, ""
			n.trigger = wait(n.trigger, p.first(now, e.cfg.MisfireThreshold))
		}
		set[t.Key] = n
	}
	for k, old := range l.byKey { // retries and enqueued runs go with their job
		if job, ok := byName[k.Job]; ok && old.trigger.OneShot != nil {
			set[k] = local{job, old.trigger}
		}
	}
	l.byKey, l.read = set, now
	e.mu.Lock()
	defer e.mu.Unlock()
	e.localNow = l.copy()
	return nil
}

// ready reports whether a local trigger may fire, and when at the earliest.
func (x local) ready() (time.Time, bool) {
	t := x.trigger
	return later(t.Due, t.Ready), t.State == jobhost.TriggerWaiting && !t.Paused && !x.job.Paused
}

// next is when the next local trigger wants to fire; zero: never.
func (l *locals) next() (next time.Time) {
	for _, x := range l.byKey {
		if at, ok := x.ready(); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// due lists the local triggers that want to fire at now, in the order of SPEC 11.
func (l *locals) due(now time.Time) []local {
	var out []local
	for _, x := range l.byKey {
		if at, ok := x.ready(); ok && !at.After(now) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b local) int {
		switch {
		case a.trigger.Priority != b.trigger.Priority:
			return cmp.Compare(b.trigger.Priority, a.trigger.Priority)
		case !a.trigger.Due.Equal(b.trigger.Due):
			return a.trigger.Due.Compare(b.trigger.Due)
		}
		return strings.Compare(a.trigger.Key.Job+"\x00"+a.trigger.Key.Trigger, b.trigger.Key.Job+"\x00"+b.trigger.Key.Trigger)
	})
	return out
}

// claimLocal starts due local triggers while there are slots. Their runs are put on record like all others; what becomes
// of the triggers is left in t.moves for the time after the commit.
func (t *turn) claimLocal() error {
	for _, x := range t.locals.due(t.now) {
		if t.slots == 0 {
			return nil
		}
		if t.plugins.why(x.job.Plugin) != "" {
			continue
		}
		if err := t.lock([]jobhost.Name{x.job.Name}); err != nil {
			return err
		}
		job := t.jobs[x.job.Name]
		if job == nil || !job.RunOnEveryInstance {
			continue // changed meanwhile; the next refresh sees it
		}
		d := x.trigger
		d.Ready = time.Time{}
		v, at, next, err := t.decide(d, t.busy(job))
		if err != nil {
			t.hold(d.Key, err.Error())
			continue
		}
		switch v {
		case fire:
			r, err := start(d, job.Job, t.draw(), at, t.now, t.cfg.NodeID)
			if err != nil {
				t.hold(d.Key, err.Error())
				continue
			}
			t.slots--
			awaited := d.OneShot == nil && next.State == jobhost.TriggerRunning
			if awaited {
				next.RunID = r.ID
			}
			t.moveLocal(x.job, d.Key, next, d.OneShot != nil)
			t.moves[len(t.moves)-1].run = r.ID
			t.begin(job, r, awaited)
		case block: // dropped, and planned from now: within an instance nothing is kept Blocked
			if d.OneShot != nil { // it stays due until the run before it has ended
				d.Ready = t.now.Add(t.cfg.PollInterval)
				t.moveLocal(x.job, d.Key, d, false)
				continue
			}
			p, err := t.plans.of(d.Schedule)
			if err != nil {
				continue
			}
			next.Refused = refuse(next, p, t.now, blockedSlots, "")
			next.Refused.Last = "a run of the job was in progress on this instance"
			t.moveLocal(x.job, d.Key, wait(next, p.next(t.now)), false)
		case skip:
			t.moveLocal(x.job, d.Key, next, false)
		}
	}
	return t.flush()
}

func (t *turn) moveLocal(job jobhost.Job, key jobhost.TriggerKey, next jobhost.Trigger, gone bool) {
	m := move{key: key}
	if !gone {
		m.next = &local{job, next}
	}
	t.moves = append(t.moves, m)
}

// addLocal makes a one-shot wait in this process.
func (t *turn) addLocal(job jobhost.Job, one jobhost.Trigger) {
	t.moves = append(t.moves, move{key: one.Key, next: &local{job, one}})
}

// endLocal is the interval trigger of a local run that has ended.
func (t *turn) endLocal(r jobhost.Run) {
	key := jobhost.TriggerKey{Job: r.Job, Trigger: r.Trigger}
	x, ok := t.locals.byKey[key]
	if !ok || x.trigger.State != jobhost.TriggerRunning || x.trigger.RunID != r.ID {
		return
	}
	if p, err := t.plans.of(x.trigger.Schedule); err == nil {
		t.moveLocal(x.job, key, afterRun(x.trigger, p, t.endOf(r)), false)
	}
}

// apply carries out the moves of a turn that is stored.
func (l *locals) apply(moves []move) {
	for _, m := range moves {
		if m.next == nil {
			delete(l.byKey, m.key)
			continue
		}
		if l.byKey == nil {
			l.byKey = map[jobhost.TriggerKey]local{}
		}
		l.byKey[m.key] = *m.next
	}
}

// settle carries out of the moves of unconfirmed turns those whose run was stored after all.
func (l *locals) settle(moves []move, stored []started) {
	for _, m := range moves {
		if slices.ContainsFunc(stored, func(s started) bool { return s.run.ID == m.run }) {
			l.apply([]move{m})
		}
	}
}

// copy is for others to read.
func (l *locals) copy() map[jobhost.TriggerKey]local { return maps.Clone(l.byKey) }

// pending is the enqueued local run with an id, if it waits in this process.
func (l *locals) pending(id jobhost.RunID) (local, bool) {
	for _, x := range l.byKey {
		if o := x.trigger.OneShot; o != nil && o.Kind == jobhost.KindManual && o.RunID == id {
			return x, true
		}
	}
	return local{}, false
}
