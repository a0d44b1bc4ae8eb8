package engine

import (
	"cmp"
	"time"

	"github.com/jobhost/jobhost"
)

// judge names how a run ended (SPEC 15.3). cause is why it was ended from outside: Canceled, TimedOut or "". A success
// after the deadline is a time-out, whatever the plugin says.
func judge(o jobhost.Outcome, cause jobhost.Code, end, deadline time.Time) (jobhost.RunState, jobhost.Code, string) {
	switch {
	case cause == jobhost.Canceled && o.Code == "":
		return jobhost.RunSucceeded, "", "" // it finished by itself in the time of grace
	case cause == jobhost.Canceled:
		return jobhost.RunCanceled, jobhost.Canceled, "the run was cancelled"
	case cause == jobhost.TimedOut, !deadline.IsZero() && !end.Before(deadline):
		return jobhost.RunFailed, jobhost.TimedOut, "the run exceeded its time limit"
	case o.Code == "":
		return jobhost.RunSucceeded, "", ""
	}
	return jobhost.RunFailed, o.Code, cut(o.Message, jobhost.MaxErrorMessage)
}

// retry is the one-shot that follows a failed run, if its job's policy asks for one (SPEC 17).
func retry(job jobhost.Job, r jobhost.Run, permanent bool) (jobhost.Trigger, bool) {
	if r.State != jobhost.RunFailed || permanent || job.Retry == nil || r.Attempt > job.Retry.MaxRetries {
		return jobhost.Trigger{}, false
	}
	return oneShot(jobhost.RetryPrefix, r, r.EndedAt.Add(job.Retry.DelayFor(r.Attempt)), jobhost.OneShot{
		Kind:    jobhost.KindRetry,
		Trigger: r.Trigger,
		Attempt: r.Attempt + 1,
		RetryOf: cmp.Or(r.RetryOf, r.ID),
		Data:    r.Data,
	}), true
}

// recovery is the one-shot that follows a lost run, if its job asks for one. A lost recovery is not recovered again, so
// that a job which kills its node cannot take down one node after the other (SPEC 18).
func recovery(job jobhost.Job, r jobhost.Run, now time.Time) (jobhost.Trigger, bool) {
	if r.State != jobhost.RunLost || !job.RequestsRecovery || job.RunOnEveryInstance || r.Kind == jobhost.KindRecovery {
		return jobhost.Trigger{}, false
	}
	return oneShot(jobhost.RecoveryPrefix, r, now, jobhost.OneShot{
		Kind:       jobhost.KindRecovery,
		Trigger:    r.Trigger,
		Attempt:    r.Attempt,
		RetryOf:    r.RetryOf,
		RecoveryOf: r.ID,
		Data:       r.Data,
	}), true
}

// oneShot is a trigger that the engine writes itself. Its name follows from the run's id, so writing it twice is writing
// it once (SPEC 10.4).
func oneShot(prefix string, r jobhost.Run, due time.Time, o jobhost.OneShot) jobhost.Trigger {
	name := prefix + string(r.ID)
	return jobhost.Trigger{
		Key:        jobhost.TriggerKey{Job: r.Job, Trigger: name},
		TriggerDef: jobhost.TriggerDef{Name: name, Priority: r.Priority},
		State:      jobhost.TriggerWaiting,
		Due:        due,
		OneShot:    &o,
	}
}

// start is the run that a due trigger becomes. id is used unless the run's id was promised before; at is its planned time.
func start(t jobhost.Trigger, job jobhost.Job, id jobhost.RunID, at, now time.Time, node string) (jobhost.Run, error) {
	r := jobhost.Run{
		ID: id, Job: t.Key.Job, Trigger: t.Key.Trigger, Kind: jobhost.KindSchedule, Attempt: 1,
		ScheduledAt: at, Priority: t.Priority, State: jobhost.RunRunning, Node: node, StartedAt: now,
	}
	o := t.OneShot
	if o == nil {
		var err error
		r.Data, err = jobhost.MergeData(job.Data, t.Data)
		return r, err
	}
	r.ID = cmp.Or(o.RunID, id)
	r.Trigger, r.Kind, r.Attempt, r.RetryOf, r.RecoveryOf, r.Data = o.Trigger, o.Kind, o.Attempt, o.RetryOf, o.RecoveryOf, o.Data
	if o.Kind == jobhost.KindManual {
		var err error
		r.Data, err = jobhost.MergeData(job.Data, o.Data)
		return r, err
	}
	return r, nil
}

// cut shortens s to at most n bytes without cutting a character in two.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
