package engine

import (
	"time"

	"github.com/jobhost/jobhost"
)

// A verdict says what becomes of a due trigger.
type verdict uint8

const (
	fire  verdict = iota + 1 // a run starts
	block                    // it waits for a run of its exclusive job (T8)
	skip                     // this firing does not run (T9)
)

// rules are the settings that verdicts depend on.
type rules struct {
	Threshold time.Duration // a firing later than this is a misfire
	Poll      time.Duration // at most one run_all make-up in this time
}

// settle decides what becomes of one due trigger at now: misfire, start deadline, overlap (SPEC 12, 13). busy says that a
// run of its exclusive job is in progress. It returns the verdict, of a fire the planned time of the run, and the trigger as
// it is afterwards; the caller sets RunID and Ready.
func settle(t jobhost.Trigger, p *plan, busy bool, now time.Time, r rules) (verdict, time.Time, jobhost.Trigger) {
	if t.OneShot != nil { // no misfire policy, no window, no calendar
		if busy {
			return blocked(t)
		}
		return fire, t.Due, t
	}
	late := now.Sub(t.Due)
	misfire := late > r.Threshold
	lost, madeUp, why := skipped, collapsed, "missed, and one run made up for all that were"
	if t.State == jobhost.TriggerBlocked { // else it would not have missed them
		lost, madeUp, why = blockedSlots, blockedSlots, whyBlocked
	}
	at, after := t.Due, t.Due
	if misfire && t.Misfire == jobhost.MisfireRunOnce {
		at, after = now, now
	}
	switch {
	case t.StartDeadline > 0 && late > t.StartDeadline:
		t.Refused = refuse(t, p, now, deadline, "later than the start deadline of "+t.StartDeadline.String())
		return skip, time.Time{}, wait(t, p.next(now))
	case misfire && t.Misfire == jobhost.MisfireSkip:
		t.Refused = refuse(t, p, now, lost, "misfire, and the policy is skip")
		return skip, time.Time{}, wait(t, p.next(now))
	case misfire && t.Misfire == jobhost.MisfireRunOnce && !p.allows(now):
		t.Refused = refuse(t, p, now, lost, "misfire, and a run now would be outside the schedule's window or in an excluded time")
		return skip, time.Time{}, wait(t, p.next(now))
	case busy:
		return blocked(t)
	case misfire && t.Misfire == jobhost.MisfireRunOnce:
		t.Refused = refuseAllButOne(t, p, now, madeUp, why)
	}
	after = later(after, t.LastFired) // an instant that has fired never fires again, wherever the clock went
	t.FiredCount++
	t.LastFired = at
	if p.Kind == jobhost.Every {
		t.State, t.Due = jobhost.TriggerRunning, time.Time{} // T5
		return fire, at, t
	}
	t = wait(t, p.next(after)) // T4, T6
	if misfire && t.Misfire == jobhost.MisfireRunAll && t.State == jobhost.TriggerWaiting {
		t.Ready = later(t.Due, now.Add(r.Poll))
	}
	return fire, at, t
}

// blocked is T8. The due waits: whether it runs is decided when the trigger is freed.
func blocked(t jobhost.Trigger) (verdict, time.Time, jobhost.Trigger) {
	t.State = jobhost.TriggerBlocked
	return block, time.Time{}, t
}

// afterRun is the interval trigger t after its run ended or was marked Lost at end (T11, T12).
func afterRun(t jobhost.Trigger, p *plan, end time.Time) jobhost.Trigger {
	t.RunID = ""
	if p.Times > 0 && t.FiredCount >= p.Times {
		return wait(t, time.Time{})
	}
	return wait(t, p.next(end))
}

// redefine is the trigger def of a job that is defined at now, when the store has old under its name; old is nil when
// there is none (T1, T2, T14, T17–T19). unchanged says that the schedule text means what it meant.
func redefine(old *jobhost.Trigger, job jobhost.JobDef, def jobhost.TriggerDef, p *plan, unchanged bool, now time.Time, r rules) jobhost.Trigger {
	if old == nil {
		t := jobhost.Trigger{Key: jobhost.TriggerKey{Job: job.Name, Trigger: def.Name}, TriggerDef: def}
		return wait(t, p.first(now, r.Threshold))
	}
	t := *old
	t.TriggerDef = def
	if unchanged {
		if t.State == jobhost.TriggerBlocked && job.AllowConcurrent {
			t.State = jobhost.TriggerWaiting
		}
		return t
	}
	t.FiredCount = 0
	if t.State == jobhost.TriggerRunning && p.Kind == jobhost.Every {
		return t
	}
	t.RunID, t.Ready = "", time.Time{}
	return wait(t, p.first(now, r.Threshold))
}

// wait is t with its next due, or Complete without one.
func wait(t jobhost.Trigger, due time.Time) jobhost.Trigger {
	t.Due, t.State = due.Truncate(precision), jobhost.TriggerWaiting
	if due.IsZero() {
		t.State = jobhost.TriggerComplete
	}
	return t
}

// ready sets when t may be claimed. A "not before" that settle has set later than the due stays.
func ready(t jobhost.Trigger, job jobhost.Job) jobhost.Trigger {
	if t.State != jobhost.TriggerWaiting || t.Paused || job.Paused || job.RunOnEveryInstance {
		t.Ready = time.Time{}
	} else {
		t.Ready = later(t.Due, t.Ready)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
