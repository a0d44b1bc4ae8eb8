package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// The cases of SPEC 31 that are marked Sc: misfires and their policies.
func TestMisfires(t *testing.T) {
	eachStore(t, "S-121 a due trigger runs once in a cycle", func(w *world) {
		d := job("j", "cron 0 * * * *")
		d.Data, d.Triggers[0].Data = json.RawMessage(`{"a":1,"b":1}`), json.RawMessage(`{"b":2}`)
		w.define(d)
		w.until(hour)
		w.poll()
		r := w.only("j")
		isAt(w, "scheduledAt", r.ScheduledAt, hour)
		isAt(w, "started", r.StartedAt, hour)
		want := jobhost.Run{
			ID: r.ID, Job: "j", Trigger: "t", Kind: jobhost.KindSchedule, Attempt: 1, Priority: 5, State: jobhost.RunSucceeded,
			Node: "n1", Data: json.RawMessage(`{"a":1,"b":2}`), ScheduledAt: r.ScheduledAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		}
		if diff := cmp.Diff(r, want); diff != "" {
			w.Error(diff)
		}
	})

	eachStore(t, "S-122 late by the threshold is no misfire, a millisecond more is", func(w *world) {
		w.define(job("j", "cron 0 * * * *"))
		w.until(hour + minute)
		w.poll()
		isAt(w, "scheduledAt", w.only("j").ScheduledAt, hour)
		w.until(2*hour + minute + time.Millisecond)
		w.poll()
		isAt(w, "scheduledAt", w.runs("j")[1].ScheduledAt, 2*hour+minute+time.Millisecond)
	})

	missed := func(policy jobhost.Misfire) func(w *world) jobhost.JobDef {
		return func(w *world) jobhost.JobDef {
			d := job("j", "cron 0 * * * *")
			d.Triggers[0].Misfire = policy
			d.AllowConcurrent = true
			w.define(d)
			w.put("j", func(t *jobhost.Trigger) { t.Due, t.Ready = t0, t0 })
			w.until(3*hour + 30*minute)
			return d
		}
	}
	eachStore(t, "S-123 run_once runs one of three missed", func(w *world) {
		missed(jobhost.MisfireRunOnce)(w)
		w.poll()
		isAt(w, "scheduledAt", w.only("j").ScheduledAt, 3*hour+30*minute)
		w.waits("j", 4*hour)
		w.poll()
		w.only("j")
	})
	eachStore(t, "S-124 skip runs none of three missed", func(w *world) {
		missed(jobhost.MisfireSkip)(w)
		w.poll()
		is(w, "runs", len(w.runs("j")), 0)
		w.waits("j", 4*hour)
		is(w, "count", w.trigger("j").FiredCount, 0)
		is(w, "skipped", w.trigger("j").Refused.Skipped, 4) // 00:00 to 03:00
	})
	eachStore(t, "S-125 run_all runs each, one per poll interval", func(w *world) {
		missed(jobhost.MisfireRunAll)(w)
		for i := range 4 {
			w.poll()
			w.poll() // a cycle that was woken in between
			is(w, "runs", len(w.runs("j")), i+1)
			isAt(w, "scheduledAt", w.runs("j")[i].ScheduledAt, time.Duration(i)*hour)
			time.Sleep(w.cfg.PollInterval)
		}
		w.poll()
		is(w, "runs", len(w.runs("j")), 4)
		w.waits("j", 4*hour)
	})
	eachStore(t, "S-126 a make-up that is still going blocks the next", func(w *world) {
		d := missed(jobhost.MisfireRunAll)(w)
		d.AllowConcurrent = false
		w.define(d)
		w.takes("j", 10*second)
		stop := w.serve()
		time.Sleep(5 * second)
		is(w, "runs", len(w.runs("j")), 1)
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		isAt(w, "due", w.trigger("j").Due, hour)
		time.Sleep(6 * second)
		synctest.Wait()
		is(w, "runs", len(w.runs("j")), 2)
		isAt(w, "scheduledAt", w.runs("j")[1].ScheduledAt, hour)
		stop()
	})

	for _, c := range []struct {
		policy    jobhost.Misfire
		runs      int
		scheduled time.Duration
	}{{jobhost.MisfireRunOnce, 1, 2 * hour}, {jobhost.MisfireSkip, 0, 0}, {jobhost.MisfireRunAll, 1, hour}} {
		eachStore(t, "S-127 once, missed by an hour, "+c.policy.String(), func(w *world) {
			d := job("j", "once 2026-01-05T01:00:00Z")
			d.Triggers[0].Misfire = c.policy
			w.define(d)
			w.until(2 * hour)
			w.poll()
			is(w, "runs", len(w.runs("j")), c.runs)
			for _, r := range w.runs("j") {
				isAt(w, "scheduledAt", r.ScheduledAt, c.scheduled)
			}
			is(w, "state", w.trigger("j").State, jobhost.TriggerComplete)
		})
	}

	eachStore(t, "S-128 a run_once make-up after the end acts as skip", func(w *world) {
		w.define(job("j", "cron 0 * * * * end=2026-01-05T01:30:00Z"))
		w.until(2 * hour)
		w.poll()
		is(w, "runs", len(w.runs("j")), 0)
		is(w, "state", w.trigger("j").State, jobhost.TriggerComplete)
		is(w, "skipped", w.trigger("j").Refused.Skipped, 1)
	})

	eachStore(t, "S-129 with threshold 0 a millisecond is a misfire", func(w *world) {
		w.cfg.MisfireThreshold = 0
		w.define(job("j", "cron 0 * * * *"))
		w.until(hour + time.Millisecond)
		w.poll()
		isAt(w, "scheduledAt", w.only("j").ScheduledAt, hour+time.Millisecond)
	})

	eachStore(t, "an instant between two microseconds fires once", func(w *world) {
		w.define(job("once", "once 2026-01-05T00:00:10.0000009Z"), job("every", "every 1.0000000015s x2"),
			job("window", "cron * * * * * * start=2026-01-05T00:00:01.0000001Z end=2026-01-05T00:00:02.0000009Z"))
		stop := w.serve()
		w.until(minute)
		stop()
		for name, runs := range map[string]int{"once": 1, "every": 2, "window": 1} {
			is(w, "runs of "+name, len(w.runs(name)), runs)
			is(w, "state of "+name, w.trigger(name).State, jobhost.TriggerComplete)
		}
	})

	eachStore(t, "FR-18 later than its start deadline a firing is skipped, with the reason", func(w *world) {
		d := job("j", "cron 0 * * * *")
		d.Triggers[0].StartDeadline = 10 * second
		w.define(d)
		w.until(hour + 100*second)
		w.poll()
		is(w, "runs", len(w.runs("j")), 0)
		is(w, "refused", w.trigger("j").Refused.Deadline, 1)
		is(w, "reason", w.trigger("j").Refused.Last, "later than the start deadline of 10s")
	})

	eachStore(t, "FR-01 a firing missed before the very first one is judged like any other", func(w *world) {
		skip := job("skip", "cron 5 0 0 * * *")
		skip.Triggers[0].Misfire = jobhost.MisfireSkip
		w.define(job("once", "cron 5 0 0 * * *"), skip)
		w.until(70 * second)
		w.restart()
		w.poll()
		is(w, "runs of once", len(w.runs("once")), 1)
		is(w, "runs of skip", len(w.runs("skip")), 0)
	})

	eachStore(t, "FR-02 an interval longer than the process's life still fires", func(w *world) {
		w.define(job("j", "every 10s"))
		for range 10 {
			stop := w.serve()
			time.Sleep(6 * second)
			stop()
			w.restart()
		}
		if n := len(w.runs("j")); n < 5 {
			w.Errorf("%d runs in a minute, want 5 or more", n)
		}
	})
}

// Intervals, exclusive jobs, quota and pauses.
func TestFirings(t *testing.T) {
	eachStore(t, "S-130 an interval is a delay after the end of its run", func(w *world) {
		w.define(job("j", "every 10m"))
		w.takes("j", 4*minute)
		stop := w.serve()
		w.until(12 * minute)
		is(w, "due", w.trigger("j").Due, time.Time{})
		w.until(15 * minute)
		w.waits("j", 24*minute)
		stop()
	})

	eachStore(t, "S-131 the number of an interval's runs is a total", func(w *world) {
		d := job("j", "every 1s x3")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: 100 * time.Millisecond}
		w.define(d)
		w.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.ScheduledAt.Equal(t0.Add(2 * second)) {
				return jobhost.Outcome{Code: "E", Message: "the second fails"}
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.until(minute)
		is(w, "runs", len(w.runs("j")), 4)
		is(w, "count", w.trigger("j").FiredCount, 3)
		is(w, "state", w.trigger("j").State, jobhost.TriggerComplete)
		stop()
	})

	eachStore(t, "S-132 an interval never overlaps itself", func(w *world) {
		d := job("j", "every 1s")
		d.AllowConcurrent = true
		w.define(d)
		w.takes("j", 10*second)
		stop := w.serve()
		w.until(30 * second)
		is(w, "runs", len(w.runs("j")), 3)
		stop()
	})

	eachStore(t, "S-133 a short overlap runs late with its own time", func(w *world) {
		w.define(job("j", "cron * * * * *"))
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.ScheduledAt.Equal(t0.Add(minute)) {
				time.Sleep(75 * second)
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.until(2*minute + second)
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		isAt(w, "due", w.trigger("j").Due, 2*minute)
		w.until(2*minute + 16*second)
		r := w.runs("j")[1]
		isAt(w, "scheduledAt", r.ScheduledAt, 2*minute)
		isAt(w, "started", r.StartedAt, 2*minute+15*second)
		w.waits("j", 3*minute)
		stop()
	})

	eachStore(t, "S-134 after a long overlap the policy decides", func(w *world) {
		w.define(job("j", "cron * * * * *"))
		w.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.ScheduledAt.Equal(t0.Add(minute)) {
				time.Sleep(5 * minute)
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.until(6*minute - second)
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		w.until(6*minute + second)
		isAt(w, "scheduledAt", w.runs("j")[1].ScheduledAt, 6*minute)
		w.waits("j", 7*minute)
		stop()
	})

	eachStore(t, "S-135 FR-09 a manual run blocks a scheduled one", func(w *world) {
		w.define(job("j", "cron * * * * *"))
		w.takes("j", 70*second)
		done := w.startManual("j")
		stop := w.serve()
		w.until(61 * second)
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		w.until(71 * second)
		is(w, "runs", len(w.runs("j")), 2)
		is(w, "error", (<-done).Err, nil)
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "S-137 of two triggers of an exclusive job the larger priority runs", func(w *world) {
		d := jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 * * * *"), jobhost.NewTrigger("b", "cron 0 * * * *"))
		d.Triggers[1].Priority = 6
		w.define(d)
		w.takes("j", minute)
		w.until(hour)
		w.pollAside()
		is(w, "trigger", w.only("j").Trigger, "b")
		is(w, "a", w.trigger("j", "a").State, jobhost.TriggerBlocked)
	})

	eachStore(t, "S-138 S-139 the quota is the smaller of batch and free slots", func(w *world) {
		var defs []jobhost.JobDef
		for i := range 20 {
			defs = append(defs, job(fmt.Sprintf("j%02d", i), "cron 0 * * * *"))
			w.takes(defs[i].Name, 3*hour)
		}
		w.define(defs...)
		w.until(hour)
		w.pollAside()
		is(w, "runs", w.eng().RunningCount(), 16)
		for i := range 14 {
			name := fmt.Sprintf("m%d", i)
			w.define(jobhost.NewJob(name, "p"))
			w.takes(name, 3*hour)
			w.startManual(name)
		}
		is(w, "runs", w.eng().RunningCount(), 30)
		w.pollAside()
		is(w, "runs", w.eng().RunningCount(), 32)
		w.pollAside()
		is(w, "runs at the maximum", w.eng().RunningCount(), 32)
		w.define(jobhost.NewJob("extra", "p"))
		w.takes("extra", hour)
		w.startManual("extra")
		is(w, "runs with a manual one", w.eng().RunningCount(), 33)
	})

	eachStore(t, "S-140 after a pause lateness decides", func(w *world) {
		w.define(job("short", "cron 0 * * * *"), job("long", "cron 0 * * * *"))
		both := []jobhost.Target{{Job: "short"}, {Job: "long"}}
		w.eng().Pause(w.Context(), both)
		w.until(hour + 30*second)
		w.poll()
		is(w, "runs", len(w.runs("short"))+len(w.runs("long")), 0)
		w.eng().Resume(w.Context(), both[:1])
		w.poll()
		isAt(w, "scheduledAt", w.only("short").ScheduledAt, hour)
		w.until(hour + 90*second)
		w.eng().Resume(w.Context(), both[1:])
		w.poll()
		isAt(w, "scheduledAt", w.only("long").ScheduledAt, hour+90*second)
	})

	eachStore(t, "FR-04 a manual run moves no trigger", func(w *world) {
		w.define(job("j", "every 1h"), job("c", "cron 0 * * * *"))
		stop := w.serve()
		before := []jobhost.Trigger{w.trigger("j"), w.trigger("c")}
		for range 3 {
			<-w.startManual("j")
			<-w.startManual("c")
			time.Sleep(minute)
		}
		if diff := cmp.Diff([]jobhost.Trigger{w.trigger("j"), w.trigger("c")}, before); diff != "" {
			w.Error(diff)
		}
		stop()
	})
}

// Retries, cancelling, requests and what the caller sees.
func TestRunsAndRequests(t *testing.T) {
	retried := func(n int) jobhost.JobDef {
		d := job("j", "once 2026-01-05T01:00:00Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: n, Delay: minute}
		d.Data = json.RawMessage(`{"v":1}`)
		return d
	}
	eachStore(t, "S-142 S-145 a failure is retried as often as the policy says", func(w *world) {
		w.define(retried(2))
		w.fails("j")
		stop := w.serve()
		w.until(2 * hour)
		rs := w.runs("j")
		is(w, "runs", len(rs), 3)
		for i, r := range rs {
			is(w, "attempt", r.Attempt, i+1)
			isAt(w, "scheduledAt", r.ScheduledAt, hour+time.Duration(i)*minute)
			is(w, "data", string(r.Data), `{"v":1}`)
			is(w, "trigger", r.Trigger, "t")
			is(w, "code", r.ErrorCode, "E_BROKEN")
			if i > 0 {
				is(w, "retryOf", r.RetryOf, rs[0].ID)
				is(w, "kind", r.Kind, jobhost.KindRetry)
			}
		}
		stop()
	})

	eachStore(t, "S-143 a retry has the old data", func(w *world) {
		d := retried(1)
		w.define(d)
		w.fails("j")
		stop := w.serve()
		w.until(hour + second)
		d.Data = json.RawMessage(`{"v":2,"new":true}`)
		w.define(d)
		w.until(2 * hour)
		is(w, "data", string(w.runs("j")[1].Data), `{"v":1}`)
		stop()
	})

	eachStore(t, "S-144 FR-15 Canceled and Lost are not retried", func(w *world) {
		w.define(retried(5))
		w.takes("j", hour)
		stop := w.serve()
		first := w.startManual("j")
		is(w, "error", w.eng().CancelRuns(w.Context(), []jobhost.RunID{w.only("j").ID})[0].Err, nil)
		is(w, "state", (<-first).Value.State, jobhost.RunCanceled)
		second := w.startManual("j")
		w.cfg.ShutdownTimeout = 0
		w.eng().cfg.ShutdownTimeout = 0
		stop()
		r := <-second
		is(w, "state", r.Value.State, jobhost.RunCanceled)
		is(w, "code", r.Value.ErrorCode, jobhost.Canceled)
		w.restart()
		third := w.runs("j")[1]
		third.ID, third.State, third.EndedAt = "0123456789abcdef0123456789abcdef", jobhost.RunRunning, time.Time{}
		if err := w.store.Update(w.Context(), func(tx jobhost.Tx) error { return tx.PutRuns(third) }); err != nil {
			w.Fatal(err)
		}
		w.poll()
		is(w, "one-shots", len(w.oneShots("j")), 0)
		states := map[jobhost.RunState]int{}
		for _, r := range w.runs("j") {
			states[r.State]++
		}
		is(w, "states", fmt.Sprint(states), "map[Canceled:2 Lost:1]")
	})

	eachStore(t, "S-145 S-153 a time-out is retried, and the limit is per attempt", func(w *world) {
		d := retried(1)
		d.Timeout = 300 * time.Millisecond
		w.define(d)
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.Attempt == 1 {
				<-ctx.Done()
				return jobhost.Outcome{} // a success after the limit is a time-out
			}
			time.Sleep(200 * time.Millisecond)
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.until(2 * hour)
		rs := w.runs("j")
		is(w, "runs", len(rs), 2)
		is(w, "code", rs[0].ErrorCode, jobhost.TimedOut)
		is(w, "lasted", rs[0].EndedAt.Sub(rs[0].StartedAt), 300*time.Millisecond)
		is(w, "state", rs[1].State, jobhost.RunSucceeded)
		stop()
	})

	eachStore(t, "S-145 a panic of the host is the run's failure", func(w *world) {
		w.define(retried(1))
		w.does("j", func(context.Context, jobhost.Call) jobhost.Outcome { panic("at the disco") })
		stop := w.serve()
		w.until(2 * hour)
		is(w, "runs", len(w.runs("j")), 2)
		is(w, "code", w.runs("j")[0].ErrorCode, jobhost.Unexpected)
		stop()
	})

	eachStore(t, "S-147 a retry survives a restart", func(w *world) {
		w.define(retried(1))
		w.fails("j")
		stop := w.serve()
		w.until(hour + second)
		stop()
		w.restart()
		stop = w.serve()
		w.until(2 * hour)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})

	eachStore(t, "FR-42 a permanent failure is not retried", func(w *world) {
		w.define(retried(5))
		w.does("j", func(context.Context, jobhost.Call) jobhost.Outcome {
			return jobhost.Outcome{Code: "E", Message: "never", Permanent: true}
		})
		stop := w.serve()
		w.until(2 * hour)
		w.only("j")
		stop()
	})

	eachStore(t, "S-174 a stop waits for short runs and cancels endless ones", func(w *world) {
		w.define(jobhost.NewJob("short", "p"), jobhost.NewJob("endless", "p"))
		w.takes("short", 10*second)
		w.takes("endless", 9*hour)
		stop := w.serve()
		w.startManual("short")
		w.startManual("endless")
		stop()
		is(w, "short", w.only("short").State, jobhost.RunSucceeded)
		is(w, "endless", w.only("endless").State, jobhost.RunCanceled)
		isAt(w, "ended", w.only("endless").EndedAt, 25*second)
	})
}
