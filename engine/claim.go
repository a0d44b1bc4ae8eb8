package engine

import (
	"fmt"
	"maps"
	"time"

	"github.com/jobhost/jobhost"
)

// held is what cannot start on this node although it is due, with the reason: jobs whose plugin is not ready, triggers
// whose plan cannot be made. It is passed to the store as exceptions, so that it neither blocks a batch nor makes the loop
// spin.
type held struct {
	jobs     map[jobhost.Name]string
	triggers map[jobhost.TriggerKey]string
}

func (h held) clone() held { return held{maps.Clone(h.jobs), maps.Clone(h.triggers)} }

func (h held) query(now time.Time, limit int, orphaned map[jobhost.Name]bool, oneShots bool) jobhost.DueQuery {
	q := jobhost.DueQuery{Now: now, Limit: limit, OneShots: oneShots, NotJobs: orphaned}
	if len(h.jobs) > 0 {
		q.NotJobs = make(map[jobhost.Name]bool, len(h.jobs)+len(orphaned))
		maps.Copy(q.NotJobs, orphaned)
		for n := range h.jobs {
			q.NotJobs[n] = true
		}
	}
	if len(h.triggers) > 0 {
		q.NotTriggers = map[jobhost.TriggerKey]bool{}
		for k := range h.triggers {
			q.NotTriggers[k] = true
		}
	}
	return q
}

// claim settles due triggers while there are slots.
func (t *turn) claim() error {
	for t.slots > 0 {
		due, err := t.tx.Due(t.newHeld.query(t.now, t.slots, t.orphaned, t.oneShots))
		if err != nil || len(due) == 0 {
			return err
		}
		names := make([]jobhost.Name, len(due))
		for i := range due {
			names[i] = due[i].Key.Job
		}
		if err := t.lock(names); err != nil {
			return err
		}
		heldBack := false
		for _, d := range due {
			if why := t.unstartable(d); why != "" {
				heldBack = true
				continue
			}
			if err := t.settle(d); err != nil {
				return err
			}
		}
		if err := t.flush(); err != nil || !heldBack {
			return err
		}
	}
	return nil
}

// unstartable says why a due trigger cannot start on this node, and remembers it (T10).
func (t *turn) unstartable(d jobhost.Trigger) string {
	job := t.jobs[d.Key.Job]
	if job == nil {
		return t.hold(d.Key, "its job is not in the store")
	}
	if why := t.plugins.why(job.Plugin); why != "" {
		if t.newHeld.jobs == nil {
			t.newHeld.jobs = map[jobhost.Name]string{}
		}
		t.newHeld.jobs[d.Key.Job] = why
		return why
	}
	if d.OneShot == nil {
		if _, err := t.plans.of(d.Schedule); err != nil {
			return t.hold(d.Key, err.Error())
		}
	}
	return ""
}

// unhold forgets what was held of a job that is defined anew or gone.
func (t *turn) unhold(job jobhost.Name) {
	delete(t.newHeld.jobs, job)
	maps.DeleteFunc(t.newHeld.triggers, func(k jobhost.TriggerKey, _ string) bool { return k.Job == job })
}

func (t *turn) hold(k jobhost.TriggerKey, why string) string {
	if t.newHeld.triggers == nil {
		t.newHeld.triggers = map[jobhost.TriggerKey]string{}
	}
	t.newHeld.triggers[k] = why
	return why
}

// busy reports whether a run of an exclusive job is in progress: of a local job on this instance, else anywhere.
func (t *turn) busy(job *jobhost.JobState) bool {
	if job.RunOnEveryInstance {
		return !job.AllowConcurrent && t.localOpen[job.Name] > 0
	}
	return !job.AllowConcurrent && len(job.Open) > 0
}

// settle decides one due or freed trigger, whose job is locked, and leaves what follows for the next flush.
func (t *turn) settle(d jobhost.Trigger) error {
	job := t.jobs[d.Key.Job]
	d.Ready = time.Time{}
	v, at, next, err := t.decide(d, t.busy(job))
	if err != nil {
		t.hold(d.Key, err.Error())
		d.State = jobhost.TriggerWaiting
		t.moved = append(t.moved, ready(d, job.Job))
		return nil
	}
	switch v {
	case fire:
		return t.fire(job, d, next, at)
	case block:
		job.Blocked = true
	case skip:
		t.fired = append(t.fired, next)
	}
	t.moved = append(t.moved, ready(next, job.Job))
	return nil
}

// decide asks the rules. A panic in them is an error of this trigger and of no other.
func (t *turn) decide(d jobhost.Trigger, busy bool) (v verdict, at time.Time, next jobhost.Trigger, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("deciding panicked: %v", p)
		}
	}()
	var p *plan
	if d.OneShot == nil {
		if p, err = t.plans.of(d.Schedule); err != nil {
			return 0, time.Time{}, d, err
		}
	}
	v, at, next = settle(d, p, busy, t.now, t.rules())
	return v, at, next, nil
}

// fire puts the run on record and moves its trigger on: claim and start are one commit.
func (t *turn) fire(job *jobhost.JobState, d, next jobhost.Trigger, at time.Time) error {
	r, err := start(d, job.Job, t.draw(), at, t.now, t.cfg.NodeID)
	if err != nil {
		t.hold(d.Key, fmt.Sprintf("its data cannot be merged: %v", err))
		return nil
	}
	t.slots--
	if d.OneShot != nil {
		t.begin(job, r, false)
		return t.tx.DeleteTriggers(d.Key) // T7
	}
	awaited := next.State == jobhost.TriggerRunning
	if awaited {
		next.RunID = r.ID
	} else {
		t.fired = append(t.fired, next)
	}
	t.moved = append(t.moved, ready(next, job.Job))
	t.begin(job, r, awaited)
	return nil
}

// begin puts a run on record with the next flush, and has it dispatched after the commit.
func (t *turn) begin(job *jobhost.JobState, r jobhost.Run, awaited bool) {
	job.Open = append(job.Open, r.ID)
	if job.RunOnEveryInstance {
		if t.localOpen == nil {
			t.localOpen = map[jobhost.Name]int{}
		}
		t.localOpen[job.Name]++
	}
	if t.heard {
		t.tell(runEvent(jobhost.TopicRunStarted, r))
	}
	t.runs = append(t.runs, r)
	t.started = append(t.started, started{r, job.Job, awaited})
}

// draw takes one of the ids that were drawn before the turn.
func (t *turn) draw() jobhost.RunID {
	t.drawn++
	return t.ids[t.drawn-1]
}
