package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// Explain says why a job is not running now. It asks in the order of SPEC 32 and answers with the first reason that holds.
func (e *Engine) Explain(ctx context.Context, name jobhost.Name) (jobhost.Explanation, error) {
	var job jobhost.JobState
	var triggers []jobhost.Trigger
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		jobs, err := tx.Jobs(name)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return notFoundJob(name)
		}
		job = jobs[0]
		triggers, err = tx.TriggersOf(name)
		return err
	})
	if err != nil {
		return jobhost.Explanation{}, err
	}
	now := e.now()
	out := jobhost.Explanation{Job: name, Triggers: []jobhost.TriggerExplanation{}}
	for _, t := range triggers {
		t = e.localView(job.Job, t)
		x := jobhost.TriggerExplanation{
			Trigger: t.Key.Trigger, State: reported(job.Job, t), Due: t.Due, Answer: e.explain(job, t, now),
		}
		if t.Refused != (jobhost.Refusals{}) {
			x.Refused = &t.Refused
		}
		out.Triggers = append(out.Triggers, x)
	}
	out.Answer = summary(job, out.Triggers)
	return out, nil
}

func summary(job jobhost.JobState, xs []jobhost.TriggerExplanation) string {
	if len(job.Open) > 0 {
		return fmt.Sprintf("it is running: run %s", job.Open[0])
	}
	if len(xs) == 0 {
		return "it has no trigger, so it runs only on request"
	}
	next := slices.MinFunc(xs, func(a, b jobhost.TriggerExplanation) int {
		if a.Due.IsZero() || b.Due.IsZero() {
			return b.Due.Compare(a.Due) // none comes last
		}
		return a.Due.Compare(b.Due)
	})
	return fmt.Sprintf("trigger %q: %s", next.Trigger, next.Answer)
}

// explain is the first reason why a trigger is not running now.
func (e *Engine) explain(job jobhost.JobState, t jobhost.Trigger, now time.Time) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.state != Serving:
		return "the scheduler is not serving: it is " + e.state.String()
	case !e.store.Shared() && !e.leads() && !job.RunOnEveryInstance && t.OneShot == nil:
		return "another node leads, and this store is private"
	case t.State == jobhost.TriggerComplete:
		return e.plans.whyComplete(t, now)
	case job.Paused:
		return "the job is paused" + reason(job.PauseReason)
	case t.Paused:
		return "the trigger is paused" + reason(t.PauseReason)
	case e.orphansNow[job.Name]:
		return "no live node's files define the job any more"
	case t.State == jobhost.TriggerBlocked:
		return fmt.Sprintf("run %s is in progress, and the job must not run concurrently%s", first(job.Open), e.plans.meanwhile(t, now))
	case t.State == jobhost.TriggerRunning:
		return fmt.Sprintf("it waits for the end of run %s", t.RunID)
	case t.Due.After(now):
		return "it is not due yet"
	}
	return e.whyDue(t.Key)
}

// whyComplete says why a trigger has no next due.
func (c *plans) whyComplete(t jobhost.Trigger, now time.Time) string {
	const over = "it has no next due and never fires again: "
	p, err := c.of(t.Schedule)
	switch {
	case err != nil:
	case p.Kind == jobhost.Once && t.FiredCount > 0:
		return over + "it has fired at its one instant"
	case p.Kind == jobhost.Once && t.Refused.Last != "":
		return over + t.Refused.Last
	case p.Kind == jobhost.Once && p.excludes(p.At):
		return over + p.whyExcluded(p.At)
	case p.Kind == jobhost.Once && !p.inWindow(p.At):
		return over + "its instant is outside its own window"
	case p.Kind == jobhost.Once:
		return fmt.Sprintf(over+"its instant, %s, was before it was defined", p.At.UTC().Format(time.RFC3339Nano))
	case p.Times > 0 && t.FiredCount >= p.Times:
		return fmt.Sprintf(over+"it has fired %d times, as often as it was to", t.FiredCount)
	case !p.End.IsZero() && p.End.Before(now):
		return over + "its window ended at " + p.End.UTC().Format(time.RFC3339Nano)
	}
	return "it has no next due: its schedule has ended, or never matches"
}

// meanwhile says how many slots have passed since the due that a Blocked trigger has kept.
func (c *plans) meanwhile(t jobhost.Trigger, now time.Time) string {
	p, err := c.of(t.Schedule)
	if err != nil || t.OneShot != nil {
		return ""
	}
	n, _, more := p.missed(t.Due, t.Due, now)
	switch {
	case n == 0:
		return ""
	case more:
		return fmt.Sprintf("; at least %d further slots have passed meanwhile", n)
	}
	return fmt.Sprintf("; %d further slots have passed meanwhile", n)
}

func first(ids []jobhost.RunID) jobhost.RunID {
	if len(ids) == 0 {
		return "(unknown)"
	}
	return ids[0]
}

func reason(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// whyDue says why a due trigger has not started. The caller holds mu.
func (e *Engine) whyDue(k jobhost.TriggerKey) string {
	switch {
	case e.heldNow.jobs[k.Job] != "":
		return e.heldNow.jobs[k.Job]
	case e.heldNow.triggers[k] != "":
		return e.heldNow.triggers[k]
	case e.problem() != nil:
		return "the store does not answer: " + e.problem().Error()
	case len(e.active) >= e.cfg.MaxConcurrentRuns:
		return fmt.Sprintf("no slot is free: %d runs are in progress, max_concurrent_runs is %d", len(e.active), e.cfg.MaxConcurrentRuns)
	}
	return "it is about to start"
}

// reported is a trigger's state as status calls show it (SPEC 10.1).
func reported(job jobhost.Job, t jobhost.Trigger) string {
	if (job.Paused || t.Paused) && (t.State == jobhost.TriggerWaiting || t.State == jobhost.TriggerBlocked) {
		return "Paused"
	}
	return t.State.String()
}

// localView is a trigger of a local job as it stands on this instance.
func (e *Engine) localView(job jobhost.Job, t jobhost.Trigger) jobhost.Trigger {
	if !job.RunOnEveryInstance {
		return t
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.localNow[t.Key]; ok {
		x.trigger.Paused, x.trigger.PauseReason = t.Paused, t.PauseReason
		return x.trigger
	}
	return t
}
