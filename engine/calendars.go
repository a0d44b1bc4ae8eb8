package engine

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// SetCalendars replaces the calendars that schedules may name. A trigger whose calendar is another one than before gets
// the due that it would have if it were planned now, and so leaves out what is excluded from now on and takes what no
// longer is; one that is due already keeps its due. A trigger whose calendar is gone waits with its due until it is back.
// What does not name a changed calendar is not touched.
//
// It can be called at any time, and delays no firing. Its only errors are the store's and those of ctx; then the next call
// goes on where this one ended.
func (e *Engine) SetCalendars(ctx context.Context, set calendar.Set) error {
	e.syncing.Lock()
	defer e.syncing.Unlock()
	e.swapCalendars(set)
	if len(e.recast) == 0 {
		return nil
	}
	now := e.now()
	moved := map[jobhost.TriggerKey]jobhost.Trigger{}
	err := e.eachTrigger(ctx, nil, func(t jobhost.Trigger, p *plan) (jobhost.Trigger, bool) {
		if !e.recast[p.Calendar] {
			return t, false
		}
		n := recast(t, p, now)
		if n.State == t.State && n.Due.Equal(t.Due) {
			return t, false
		}
		moved[n.Key] = n
		return n, true
	})
	if err != nil {
		return err
	}
	clear(e.recast)
	e.nudge()
	t := &turn{plans: e.plans, now: now, fired: slices.Collect(maps.Values(moved))}
	t.report(e.log)
	return nil
}

// swapCalendars makes the next turn plan with a new set, and look again at what it could not plan.
func (e *Engine) swapCalendars(set calendar.Set) {
	e.turning.Lock()
	defer e.turning.Unlock()
	names := e.plans.swap(set)
	if len(names) == 0 {
		return
	}
	if e.recast == nil {
		e.recast = map[jobhost.Name]bool{}
	}
	for _, n := range names {
		e.recast[n] = true
	}
	e.log.Info("calendars have changed", slog.Any("calendars", names))
	now := e.now()
	for k, x := range e.locals.byKey {
		p, err := e.plans.of(x.trigger.Schedule)
		if x.trigger.OneShot == nil && err == nil && e.recast[p.Calendar] {
			x.trigger = recast(x.trigger, p, now)
			e.locals.byKey[k] = x
		}
	}
	e.held.triggers = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heldNow.triggers, e.localNow = nil, e.locals.copy()
}

// swap replaces the calendars and forgets the plans that were made with the old ones. It returns the names of those that
// are new, gone or another one, sorted.
func (c *plans) swap(set calendar.Set) (changed []jobhost.Name) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, cal := range set {
		if old, ok := c.calendars[name]; !ok || !reflect.DeepEqual(old, cal) {
			changed = append(changed, name)
		}
	}
	for name := range c.calendars {
		if _, ok := set[name]; !ok {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		c.calendars, c.byText = maps.Clone(set), nil
	}
	slices.Sort(changed)
	return changed
}

// recast is the trigger t once its calendar has changed. What has fired or is due stays as it is, and so does an
// interval's due, which counts from the end of a run, unless it is excluded now.
func recast(t jobhost.Trigger, p *plan, now time.Time) jobhost.Trigger {
	after := later(now, t.LastFired)
	switch {
	case t.State == jobhost.TriggerRunning, t.State == jobhost.TriggerBlocked, p.Times > 0 && t.FiredCount >= p.Times:
		return t
	case t.State == jobhost.TriggerWaiting && !t.Due.After(now):
		return t
	case t.State == jobhost.TriggerWaiting && p.Kind == jobhost.Every:
		if !p.excludes(t.Due) {
			return t
		}
		after = t.Due
	}
	t.Ready = time.Time{}
	return wait(t, p.next(after))
}
