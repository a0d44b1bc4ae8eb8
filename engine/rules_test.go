package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func mustPlan(t *testing.T, text string) *plan {
	t.Helper()
	p, err := newPlan(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func at(clock string) time.Time {
	for _, layout := range []string{"15:04:05.999999", "15:04:05", "15:04"} {
		if c, err := time.Parse(layout, clock); err == nil {
			return t0.Add(c.Sub(c.Truncate(24 * time.Hour)))
		}
	}
	if clock == "" {
		return time.Time{}
	}
	panic("no clock time: " + clock)
}

// TestSettle is the table of SPEC 12: what becomes of a trigger that is due.
func TestSettle(t *testing.T) {
	const hourly, every, once = "cron 0 * * * *", "every 10m", "once 2026-01-05T01:00:00Z"
	for _, c := range []struct {
		name     string
		schedule string
		misfire  jobhost.Misfire
		deadline time.Duration
		busy     bool
		due, now string

		verdict   verdict
		scheduled string
		next      string // "": none
		state     jobhost.TriggerState
	}{
		{"on time", hourly, jobhost.MisfireRunOnce, 0, false, "01:00", "01:00", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"late by the threshold", hourly, jobhost.MisfireSkip, 0, false, "01:00", "01:01", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"S-75 no drift", hourly, jobhost.MisfireRunOnce, 0, false, "01:00", "01:00:07", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"run_once", hourly, jobhost.MisfireRunOnce, 0, false, "01:00", "03:30", fire, "03:30", "04:00", jobhost.TriggerWaiting},
		{"skip", hourly, jobhost.MisfireSkip, 0, false, "01:00", "03:30", skip, "", "04:00", jobhost.TriggerWaiting},
		{"run_all", hourly, jobhost.MisfireRunAll, 0, false, "01:00", "03:30", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"busy", hourly, jobhost.MisfireRunOnce, 0, true, "01:00", "01:00", block, "", "01:00", jobhost.TriggerBlocked},
		{"busy, run_once misfire", hourly, jobhost.MisfireRunOnce, 0, true, "01:00", "03:30", block, "", "01:00", jobhost.TriggerBlocked},
		{"busy, but it would be skipped anyway", hourly, jobhost.MisfireSkip, 0, true, "01:00", "03:30", skip, "", "04:00", jobhost.TriggerWaiting},
		{"past the start deadline, before the threshold", hourly, jobhost.MisfireRunAll, 10 * time.Second, false, "01:00", "01:00:11", skip, "", "02:00", jobhost.TriggerWaiting},
		{"at the start deadline", hourly, jobhost.MisfireRunAll, 10 * time.Second, false, "01:00", "01:00:10", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"past the start deadline and busy", hourly, jobhost.MisfireRunOnce, 10 * time.Second, true, "01:00", "01:00:11", skip, "", "02:00", jobhost.TriggerWaiting},
		{"interval", every, jobhost.MisfireRunOnce, 0, false, "01:00", "01:00", fire, "01:00", "", jobhost.TriggerRunning},
		{"interval, run_once", every, jobhost.MisfireRunOnce, 0, false, "01:00", "03:30", fire, "03:30", "", jobhost.TriggerRunning},
		{"interval, run_all", every, jobhost.MisfireRunAll, 0, false, "01:00", "03:30", fire, "01:00", "", jobhost.TriggerRunning},
		{"interval, skip", every, jobhost.MisfireSkip, 0, false, "01:00", "03:30", skip, "", "03:40", jobhost.TriggerWaiting},
		{"once", once, jobhost.MisfireRunOnce, 0, false, "01:00", "01:00:30", fire, "01:00", "", jobhost.TriggerComplete},
		{"once, run_once", once, jobhost.MisfireRunOnce, 0, false, "01:00", "02:00", fire, "02:00", "", jobhost.TriggerComplete},
		{"once, run_all", once, jobhost.MisfireRunAll, 0, false, "01:00", "02:00", fire, "01:00", "", jobhost.TriggerComplete},
		{"once, skip", once, jobhost.MisfireSkip, 0, false, "01:00", "02:00", skip, "", "", jobhost.TriggerComplete},
		{"run_all is judged by its own time, not by the end", hourly + " end=2026-01-05T02:00:00Z", jobhost.MisfireRunAll, 0, false, "01:00", "05:00", fire, "01:00", "02:00", jobhost.TriggerWaiting},
		{"run_once after the end", hourly + " end=2026-01-05T02:00:00Z", jobhost.MisfireRunOnce, 0, false, "01:00", "05:00", skip, "", "", jobhost.TriggerComplete},
		{"the last one before the end", hourly + " end=2026-01-05T01:30:00Z", jobhost.MisfireRunOnce, 0, false, "01:00", "01:00", fire, "01:00", "", jobhost.TriggerComplete},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at(c.due)}
			x.Misfire, x.StartDeadline = c.misfire, c.deadline
			v, scheduled, next := settle(x, mustPlan(t, c.schedule), c.busy, at(c.now), rules{time.Minute, time.Second})
			if v != c.verdict || !scheduled.Equal(at(c.scheduled)) || !next.Due.Equal(at(c.next)) || next.State != c.state {
				t.Errorf("verdict %d at %v, then %v at %v; want %d at %q, then %v at %q",
					v, scheduled, next.State, next.Due, c.verdict, c.scheduled, c.state, c.next)
			}
			if fired := v == fire; (next.FiredCount == 1) != fired || next.LastFired.IsZero() == fired {
				t.Errorf("count %d, last fired %v", next.FiredCount, next.LastFired)
			}
			if wait := next.Ready.IsZero(); c.name == "run_all" && wait {
				t.Error("a make-up does not hold back the next one")
			}
		})
	}
}

func TestOneShotsAreNeverSkipped(t *testing.T) {
	x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at("01:00"), OneShot: &jobhost.OneShot{Kind: jobhost.KindRetry}}
	x.Misfire = jobhost.MisfireSkip
	if v, scheduled, _ := settle(x, nil, false, at("09:00"), rules{time.Minute, time.Second}); v != fire || !scheduled.Equal(x.Due) {
		t.Errorf("verdict %d at %v, want a run at its own due", v, scheduled)
	}
	if v, _, next := settle(x, nil, true, at("09:00"), rules{time.Minute, time.Second}); v != block || !next.Due.Equal(x.Due) {
		t.Errorf("verdict %d, due %v, want Blocked with the due kept", v, next.Due)
	}
}

func TestAnInstantNeverFiresAgain(t *testing.T) {
	t.Run("FR-26 the clock went back", func(t *testing.T) {
		x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at("01:00"), LastFired: at("05:00")}
		_, _, next := settle(x, mustPlan(t, "cron 0 * * * *"), false, at("01:00"), rules{time.Minute, time.Second})
		if !next.Due.Equal(at("06:00")) {
			t.Errorf("next due %v, want 06:00", next.Due)
		}
	})
}

// TestFirstDue is the table of SPEC 9 for a trigger that is created at T0 + 1h.
func TestFirstDue(t *testing.T) {
	for _, c := range []struct{ name, schedule, due string }{
		{"S-71 every", "every 1h", "02:00"},
		{"S-71 every, start ahead", "every 1h start=2026-01-05T04:00:00Z", "05:00"},
		{"S-71 every, start past", "every 1h start=2026-01-04T00:00:00Z", "02:00"},
		{"every, end before the first", "every 1h end=2026-01-05T01:59:59Z", ""},
		{"every, end at the first", "every 1h end=2026-01-05T02:00:00Z", "02:00"},
		{"cron, strictly after", "cron 0 * * * *", "02:00"},
		{"S-72 cron, start on a match", "cron 0 * * * * start=2026-01-05T05:00:00Z", "05:00"},
		{"S-72 cron, end on a match", "cron 0 2 * * * end=2026-01-05T02:00:00Z", "02:00"},
		{"cron, end before the match", "cron 0 2 * * * end=2026-01-05T01:59:59Z", ""},
		{"once ahead", "once 2026-01-05T03:00:00Z", "03:00"},
		{"S-74 once, 60s ago", "once 2026-01-05T00:59:00Z", "00:59"},
		{"S-74 once, 61s ago", "once 2026-01-05T00:58:59Z", ""},
		{"once before its own start", "once 2026-01-05T03:00:00Z start=2026-01-05T04:00:00Z", ""},
		{"cron that never matches", "cron 0 0 30 2 *", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mustPlan(t, c.schedule).first(at("01:00"), time.Minute); !got.Equal(at(c.due)) {
				t.Errorf("first due %v, want %q", got, c.due)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	bad := jobhost.Outcome{Code: "E_OWN", Message: "broken"}
	for _, c := range []struct {
		name     string
		out      jobhost.Outcome
		cause    jobhost.Code
		deadline string
		state    jobhost.RunState
		code     jobhost.Code
	}{
		{"success", jobhost.Outcome{}, "", "", jobhost.RunSucceeded, ""},
		{"success before the deadline", jobhost.Outcome{}, "", "01:00:01", jobhost.RunSucceeded, ""},
		{"success at the deadline", jobhost.Outcome{}, "", "01:00", jobhost.RunFailed, jobhost.TimedOut},
		{"failure after the deadline", bad, "", "00:59", jobhost.RunFailed, jobhost.TimedOut},
		{"failure", bad, "", "", jobhost.RunFailed, "E_OWN"},
		{"ended by the limit", jobhost.Outcome{Code: jobhost.TimedOut}, jobhost.TimedOut, "01:00", jobhost.RunFailed, jobhost.TimedOut},
		{"success although asked to stop", jobhost.Outcome{}, jobhost.Canceled, "", jobhost.RunSucceeded, ""},
		{"failure after being asked to stop", bad, jobhost.Canceled, "", jobhost.RunCanceled, jobhost.Canceled},
		{"the limit after being asked to stop", bad, jobhost.Canceled, "00:59", jobhost.RunCanceled, jobhost.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, code, _ := judge(c.out, c.cause, at("01:00"), at(c.deadline))
			if state != c.state || code != c.code {
				t.Errorf("%v, %q; want %v, %q", state, code, c.state, c.code)
			}
		})
	}
}

func TestWhatFollowsAnEnd(t *testing.T) {
	data := json.RawMessage(`{"a":1}`)
	run := jobhost.Run{ID: "r2", Job: "j", Trigger: "t", Attempt: 2, RetryOf: "r1", Priority: 7, Data: data, EndedAt: at("01:00")}
	job := jobhost.Job{JobDef: jobhost.JobDef{Name: "j", RequestsRecovery: true, Retry: &jobhost.RetryPolicy{MaxRetries: 2, Delay: time.Minute, Exponential: true}}}

	run.State = jobhost.RunFailed
	got, ok := retry(job, run, false)
	want := jobhost.Trigger{
		Key: jobhost.TriggerKey{Job: "j", Trigger: "retry-r2"}, State: jobhost.TriggerWaiting, Due: at("01:02"),
		TriggerDef: jobhost.TriggerDef{Name: "retry-r2", Priority: 7},
		OneShot:    &jobhost.OneShot{Kind: jobhost.KindRetry, Trigger: "t", Attempt: 3, RetryOf: "r1", Data: data},
	}
	if diff := cmp.Diff(got, want); diff != "" || !ok {
		t.Errorf("retry: %v %s", ok, diff)
	}
	if _, ok := retry(job, run, true); ok {
		t.Error("a permanent failure is retried")
	}
	for _, s := range []jobhost.RunState{jobhost.RunSucceeded, jobhost.RunCanceled, jobhost.RunLost} {
		run.State = s
		if _, ok := retry(job, run, false); ok {
			t.Errorf("%v is retried", s)
		}
	}

	run.State = jobhost.RunLost
	got, ok = recovery(job, run, at("02:00"))
	want.Key.Trigger, want.Name, want.Due = "recovery-r2", "recovery-r2", at("02:00")
	want.OneShot = &jobhost.OneShot{Kind: jobhost.KindRecovery, Trigger: "t", Attempt: 2, RetryOf: "r1", RecoveryOf: "r2", Data: data}
	if diff := cmp.Diff(got, want); diff != "" || !ok {
		t.Errorf("recovery: %v %s", ok, diff)
	}
	t.Run("S-97 what is not recovered", func(t *testing.T) {
		again := run
		again.Kind = jobhost.KindRecovery
		if _, ok := recovery(job, again, at("02:00")); ok {
			t.Error("a lost recovery is recovered again")
		}
		unasked, local := job, job
		unasked.RequestsRecovery, local.RunOnEveryInstance = false, true
		for what, j := range map[string]jobhost.Job{"a job that does not ask for it": unasked, "a local job": local} {
			if _, ok := recovery(j, run, at("02:00")); ok {
				t.Errorf("%s is recovered", what)
			}
		}
	})
}
