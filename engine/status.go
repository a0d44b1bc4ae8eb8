package engine

import (
	"context"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// Status describes jobs. See [jobhost.Scheduler].
func (e *Engine) Status(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
	var out []jobhost.Result[jobhost.JobStatus]
	now := e.now()
	all := len(names) == 0
	if all {
		if err := e.eachJob(ctx, func(j jobhost.JobState) { names = append(names, j.Name) }); err != nil {
			return []jobhost.Result[jobhost.JobStatus]{{Err: err}}
		}
	}
	const page = 200 // short transactions: a long one makes a bolt file grow
	for part := range slices.Chunk(names, page) {
		var got []jobhost.Result[jobhost.JobStatus]
		err := e.store.View(ctx, func(tx jobhost.Tx) error {
			got = got[:0]
			for _, n := range part {
				s, ok, err := e.status(tx, n, now)
				switch {
				case err != nil:
					return err
				case ok:
					got = append(got, jobhost.Result[jobhost.JobStatus]{Value: s})
				case !all:
					got = append(got, jobhost.Result[jobhost.JobStatus]{Err: notFoundJob(n)})
				}
			}
			return nil
		})
		if err != nil {
			got = make([]jobhost.Result[jobhost.JobStatus], len(part))
			for i := range got {
				got[i].Err = err
			}
		}
		out = append(out, got...)
	}
	return out
}

func (e *Engine) status(tx jobhost.Tx, name jobhost.Name, now time.Time) (jobhost.JobStatus, bool, error) {
	jobs, err := tx.Jobs(name)
	if err != nil || len(jobs) == 0 {
		return jobhost.JobStatus{}, false, err
	}
	job := jobs[0]
	ts, err := tx.TriggersOf(name)
	if err != nil {
		return jobhost.JobStatus{}, false, err
	}
	e.mu.Lock()
	orphaned := e.orphansNow[name]
	e.mu.Unlock()
	s := jobhost.JobStatus{
		Name: job.Name, Plugin: job.Plugin, Source: job.Source, Local: job.RunOnEveryInstance, Orphaned: orphaned, Description: job.Description, Paused: job.Paused,
		PauseReason: job.PauseReason, IsRunning: len(job.Open) > 0, Triggers: []jobhost.TriggerStatus{},
	}
	for _, t := range ts {
		if t.OneShot != nil {
			continue
		}
		t = e.localView(job.Job, t)
		if !t.Due.IsZero() && (s.NextRun.IsZero() || t.Due.Before(s.NextRun)) {
			s.NextRun = t.Due
		}
		s.Triggers = append(s.Triggers, e.triggerStatus(job, t, now))
	}
	// The run that ended last is among the newest few: runs of one job overlap little.
	const few = 16
	recent, err := tx.QueryRuns(jobhost.RunQuery{Job: name, Limit: few, States: []jobhost.RunState{
		jobhost.RunSucceeded, jobhost.RunFailed, jobhost.RunCanceled, jobhost.RunLost,
	}})
	for i := range recent {
		if s.Last == nil || recent[i].EndedAt.After(s.Last.EndedAt) {
			s.Last = &recent[i]
		}
	}
	return s, true, err
}

func (e *Engine) triggerStatus(job jobhost.JobState, t jobhost.Trigger, now time.Time) jobhost.TriggerStatus {
	s := jobhost.TriggerStatus{
		Name: t.Key.Trigger, Schedule: t.Schedule, State: reported(job.Job, t), NextFireAt: t.Due, LastFiredAt: t.LastFired,
		FiredCount: t.FiredCount, Priority: t.Priority, Misfire: t.Misfire,
	}
	if t.Refused != (jobhost.Refusals{}) {
		s.Refused = &t.Refused
	}
	if !t.Due.IsZero() && t.Due.Before(now) {
		s.Why = e.explain(job, t, now)
	}
	return s
}
