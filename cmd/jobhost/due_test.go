package main

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestADueIsShownAsWhatBecomesOfIt(t *testing.T) {
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	soon, past := now.Add(time.Hour), now.Add(-time.Hour)
	trigger := func(state string, at time.Time) jobhost.TriggerStatus {
		return jobhost.TriggerStatus{Name: "t", State: state, NextFireAt: at}
	}
	for _, c := range []struct {
		name        string
		job         jobhost.JobStatus
		state, next string
	}{
		{"nothing is due", jobhost.JobStatus{}, "Idle", ""},
		{"due", jobhost.JobStatus{NextRun: soon, Triggers: []jobhost.TriggerStatus{trigger("Waiting", soon)}}, "Waiting", clock(soon)},
		{"a little late", jobhost.JobStatus{NextRun: now.Add(-time.Second), Triggers: []jobhost.TriggerStatus{trigger("Waiting", now.Add(-time.Second))}}, "Waiting", clock(now.Add(-time.Second))},
		{"overdue", jobhost.JobStatus{NextRun: past, Triggers: []jobhost.TriggerStatus{trigger("Waiting", past)}}, "Waiting", clock(past) + " overdue"},
		{"paused", jobhost.JobStatus{Paused: true, NextRun: past, Triggers: []jobhost.TriggerStatus{trigger("Paused", past)}}, "Paused", "(" + clock(past) + ")"},
		{"its only trigger is paused", jobhost.JobStatus{NextRun: past, Triggers: []jobhost.TriggerStatus{trigger("Paused", past)}}, "Paused", "(" + clock(past) + ")"},
		{
			"one of two triggers is paused",
			jobhost.JobStatus{NextRun: past, Triggers: []jobhost.TriggerStatus{trigger("Paused", past), trigger("Waiting", soon)}},
			"Waiting", clock(soon),
		},
		{
			"paused and running",
			jobhost.JobStatus{IsRunning: true, NextRun: soon, Triggers: []jobhost.TriggerStatus{trigger("Paused", soon)}},
			"Paused, Running", "(" + clock(soon) + ")",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, fires := nextOf(c.job)
			if got := due(next, fires, now); got != c.next {
				t.Errorf("next is %q, want %q", got, c.next)
			}
			if got := jobState(c.job); got != c.state {
				t.Errorf("state is %q, want %q", got, c.state)
			}
		})
	}
}
