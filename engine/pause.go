package engine

import (
	"context"
	"slices"

	"github.com/jobhost/jobhost"
)

// Pause stops the firing of jobs or triggers. See [jobhost.Scheduler].
func (e *Engine) Pause(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	return e.setPaused(ctx, targets, true)
}

// Resume lets jobs or triggers fire again; how late they are is judged by their misfire policy.
func (e *Engine) Resume(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	return e.setPaused(ctx, targets, false)
}

func (e *Engine) setPaused(ctx context.Context, targets []jobhost.Target, paused bool) []jobhost.Result[struct{}] {
	return batch(ctx, e, targets, func(_ int, g jobhost.Target, _ *jobhost.Result[struct{}]) *command {
		c := &command{jobs: []jobhost.Name{g.Job}}
		c.do = func(t *turn) error {
			job := t.jobs[g.Job]
			if job == nil {
				c.err = notFoundJob(g.Job)
				return nil
			}
			why := func(was bool, reason string) string {
				if paused && was && g.Reason == "" { // paused once more: the reason still holds
					return reason
				}
				return g.Reason
			}
			if !paused {
				g.Reason = ""
			}
			ts, err := t.tx.TriggersOf(g.Job)
			if err != nil {
				return err
			}
			if g.Trigger != "" {
				ts = slices.DeleteFunc(ts, func(x jobhost.Trigger) bool { return x.Key.Trigger != g.Trigger })
				if len(ts) == 0 {
					c.err = notFoundTrigger(g.Job, g.Trigger)
					return nil
				}
				ts[0].Paused, ts[0].PauseReason = paused, why(ts[0].Paused, ts[0].PauseReason)
			} else {
				job.Paused, job.PauseReason = paused, why(job.Paused, job.PauseReason)
				if err := t.tx.PutJobs(job.Job); err != nil {
					return err
				}
			}
			topic := jobhost.TopicJobResumed
			if paused {
				topic = jobhost.TopicJobPaused
			}
			t.tell(jobhost.Event{Topic: topic, Time: t.now, Job: g.Job, Trigger: g.Trigger, Node: t.cfg.NodeID})
			t.reread = t.reread || job.RunOnEveryInstance
			for i := range ts {
				if g.SkipMissed && !paused {
					ts[i] = t.skipMissed(ts[i])
				}
				ts[i] = ready(ts[i], job.Job)
			}
			return t.tx.PutTriggers(ts...)
		}
		return c
	})
}

// skipMissed is a trigger that goes on from now, if its due has passed.
func (t *turn) skipMissed(x jobhost.Trigger) jobhost.Trigger {
	p, err := t.plans.of(x.Schedule)
	if x.OneShot != nil || err != nil || x.State != jobhost.TriggerWaiting || x.Due.After(t.now) {
		return x
	}
	x.Refused = refuse(x, p, t.now, skipped, "missed while paused, and the resume asked to skip")
	return wait(x, p.next(t.now))
}
