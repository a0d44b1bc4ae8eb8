package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// The cases of SPEC 31 that are marked St and are about rules: they hold over every store.
func TestStoreRules(t *testing.T) {
	eachStore(t, "S-76 the larger priority is claimed first", func(w *world) {
		w.cfg.AcquireBatchSize = 1
		low, high := job("low", "cron 0 * * * *"), job("high", "cron 0 * * * *")
		high.Triggers[0].Priority = 8
		w.define(low, high)
		w.until(time.Hour)
		w.poll()
		is(w, "runs of high", len(w.runs("high")), 1)
		is(w, "runs of low", len(w.runs("low")), 0)
	})

	eachStore(t, "S-77 then the earlier due, the job and the trigger name", func(w *world) {
		w.cfg.AcquireBatchSize = 1
		two := jobhost.NewJob("b", "p", jobhost.NewTrigger("y", "once 2026-01-05T00:00:20Z"), jobhost.NewTrigger("x", "once 2026-01-05T00:00:20Z"))
		w.define(job("c", "once 2026-01-05T00:00:10Z"), job("a", "once 2026-01-05T00:00:20Z"), two)
		w.until(30 * time.Second)
		var order []string
		for range 4 {
			w.poll()
		}
		for _, c := range w.calls {
			order = append(order, c.Run.Job+"/"+c.Run.Trigger)
		}
		is(w, "order", fmt.Sprint(order), "[c/t a/t b/x b/y]")
	})

	eachStore(t, "S-79 due now is claimed, a millisecond later is not", func(w *world) {
		w.define(job("now", "once 2026-01-05T00:00:10Z"), job("next", "once 2026-01-05T00:00:10.001Z"))
		w.until(10 * time.Second)
		w.poll()
		is(w, "runs of now", len(w.runs("now")), 1)
		is(w, "runs of next", len(w.runs("next")), 0)
	})

	eachStore(t, "S-80 no trigger is claimed twice by 32 callers", func(w *world) {
		w.cfg.MaxConcurrentRuns = 1000
		var defs []jobhost.JobDef
		for i := range 100 {
			defs = append(defs, job(fmt.Sprintf("j%d", i), "once 2026-01-05T00:00:10Z"))
		}
		w.define(defs...)
		w.until(10 * time.Second)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() { w.poll() })
		}
		all.Wait()
		for _, d := range defs {
			is(w, "runs of "+d.Name, len(w.runs(d.Name)), 1)
		}
	})

	eachStore(t, "S-81 paused, Complete, Blocked and Running triggers are never claimed", func(w *world) {
		hourly := "cron 0 * * * *"
		w.define(job("paused-job", hourly), job("paused-trigger", hourly), job("complete", hourly), job("blocked", hourly), job("running", "every 1h"))
		pause := w.eng().Pause(w.Context(), []jobhost.Target{{Job: "paused-job"}, {Job: "paused-trigger", Trigger: "t"}})
		is(w, "errors", fmt.Sprint(pause[0].Err, pause[1].Err), "<nil> <nil>")
		w.takes("blocked", 3*time.Hour)
		w.startManual("blocked")
		w.put("complete", func(t *jobhost.Trigger) { *t = ready(wait(*t, time.Time{}), jobhost.Job{}) })
		w.takes("running", 9*time.Hour)
		w.until(time.Hour)
		w.pollAside() // blocks the one, starts the other
		w.until(2 * time.Hour)
		w.pollAside()
		for name, runs := range map[string]int{"paused-job": 0, "paused-trigger": 0, "complete": 0, "blocked": 1, "running": 1} {
			is(w, "runs of "+name, len(w.runs(name)), runs)
		}
		is(w, "state", w.trigger("blocked").State, jobhost.TriggerBlocked)
		is(w, "state", w.trigger("running").State, jobhost.TriggerRunning)
	})

	eachStore(t, "S-82 a plugin that is not ready keeps its triggers and nobody else's", func(w *world) {
		w.cfg.AcquireBatchSize = 2
		w.not["slow"] = readyPlugin
		var defs []jobhost.JobDef
		for i := range 5 {
			d := job(fmt.Sprintf("a%d", i), "cron 0 * * * *")
			d.Plugin = "slow"
			defs = append(defs, d)
		}
		w.define(append(defs, job("z", "cron 0 * * * *"))...)
		w.not["slow"] = "it is being compiled"
		w.until(time.Hour)
		w.poll()
		is(w, "runs of z", len(w.runs("z")), 1)
		for _, d := range defs {
			w.waits(d.Name, time.Hour)
			is(w, "runs", len(w.runs(d.Name)), 0)
		}
		time.Sleep(time.Millisecond)
		why := w.eng().Status(w.Context(), []jobhost.Name{"a0"})[0].Value.Triggers[0].Why
		is(w, "why", why, "plugin slow is not ready: it is being compiled")
		w.mu.Lock()
		w.not["slow"] = readyPlugin
		w.mu.Unlock()
		time.Sleep(w.cfg.PollInterval)
		for range 3 {
			w.poll()
		}
		for _, d := range defs {
			is(w, "runs", len(w.runs(d.Name)), 1)
		}
	})

	eachStore(t, "S-83 an exclusive start is refused while a run is in progress", func(w *world) {
		w.define(job("j", "cron 0 * * * *"))
		w.takes("j", 2*time.Hour)
		w.startManual("j")
		w.until(time.Hour)
		w.poll()
		x := w.trigger("j")
		is(w, "state", x.State, jobhost.TriggerBlocked)
		isAt(w, "due", x.Due, time.Hour)
		is(w, "runs", len(w.runs("j")), 1)
		is(w, "slots that are lost", x.Refused.Count(), 0) // it waits
	})

	eachStore(t, "S-84 of 32 exclusive starts one is granted; S-85 others all are", func(w *world) {
		w.define(job("alone", "cron 0 0 * * *"))
		many := job("many", "cron 0 0 * * *")
		many.AllowConcurrent = true
		w.define(many)
		w.takes("alone", time.Minute)
		w.takes("many", time.Minute)
		stop := w.serve()
		var all sync.WaitGroup
		var mu sync.Mutex
		granted := map[string]int{}
		for range 32 {
			for _, name := range []string{"alone", "many"} {
				all.Go(func() {
					r := w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: name}})[0]
					mu.Lock()
					defer mu.Unlock()
					if r.Err == nil {
						granted[name]++
					} else {
						is(w, "code", jobhost.CodeOf(r.Err), jobhost.JobRunning)
					}
				})
			}
		}
		all.Wait()
		stop()
		is(w, "granted of alone", granted["alone"], 1)
		is(w, "granted of many", granted["many"], 32)
	})

	eachStore(t, "S-86 the end of the blocking run frees the job's triggers", func(w *world) {
		three := jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 1 * * *"), jobhost.NewTrigger("b", "cron 0 1 * * *"), jobhost.NewTrigger("c", "cron 0 1 * * *"))
		w.define(three, job("other", "cron 0 1 * * *"))
		w.takes("j", time.Hour+30*time.Second)
		w.takes("other", 3*time.Hour)
		w.startManual("j")
		w.startManual("other")
		w.until(time.Hour)
		w.pollAside()
		w.takes("j", time.Second)
		stop := w.serve()
		w.until(time.Hour + 30*time.Second)
		is(w, "a", w.trigger("j", "a").State, jobhost.TriggerWaiting)
		for _, name := range []string{"b", "c"} {
			is(w, name, w.trigger("j", name).State, jobhost.TriggerBlocked)
			isAt(w, "due of "+name, w.trigger("j", name).Due, time.Hour)
		}
		is(w, "other", w.trigger("other").State, jobhost.TriggerBlocked)
		w.until(62 * time.Minute)
		for _, r := range w.runs("j")[1:] {
			isAt(w, "scheduled", r.ScheduledAt, time.Hour)
		}
		is(w, "runs", len(w.runs("j")), 4)
		w.eng().StopNow()
		stop()
		for _, name := range []string{"a", "b", "c"} {
			is(w, name, w.trigger("j", name).State, jobhost.TriggerWaiting)
		}
	})

	eachStore(t, "S-87 a refused start and the blocker's end race, and no trigger stays Blocked", func(w *world) {
		w.cfg.MaxConcurrentRuns = 100
		w.define(job("j", "cron * * * * * *"))
		w.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			time.Sleep(time.Duration(c.Run.ID[31]) * 100 * time.Millisecond / 10) // around the next firing
			return jobhost.Outcome{}
		})
		stop := w.serve()
		for range 1000 {
			time.Sleep(997 * time.Millisecond)
			synctest.Wait()
			x := w.trigger("j")
			if x.State == jobhost.TriggerBlocked && w.eng().RunningCount() == 0 {
				w.Fatalf("Blocked without a run: %+v", x)
			}
		}
		stop()
		is(w, "state", w.trigger("j").State, jobhost.TriggerWaiting)
	})

	eachStore(t, "S-88 an interval runs, then waits from its end", func(w *world) {
		w.define(job("j", "every 1h"))
		w.takes("j", 10*time.Minute)
		w.until(time.Hour)
		w.pollAside()
		x := w.trigger("j")
		is(w, "state", x.State, jobhost.TriggerRunning)
		is(w, "due", x.Due, time.Time{})
		w.until(70 * time.Minute)
		w.poll()
		w.waits("j", 130*time.Minute)
	})

	eachStore(t, "S-89 a once trigger completes at its start, a one-shot is removed", func(w *world) {
		w.define(job("j", "once 2026-01-05T01:00:00Z"), jobhost.NewJob("manual", "p"))
		if _, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "manual"}})); err != nil {
			w.Fatal(err)
		}
		is(w, "one-shots", len(w.oneShots("manual")), 1)
		w.takes("j", time.Minute)
		w.takes("manual", 2*time.Hour)
		w.until(time.Hour)
		w.pollAside()
		is(w, "state", w.trigger("j").State, jobhost.TriggerComplete)
		is(w, "one-shots", len(w.oneShots("manual")), 0)
		is(w, "state", w.only("manual").State, jobhost.RunRunning)
	})

	eachStore(t, "S-90 an end is recorded once, and never over Lost", func(w *world) {
		w.define(job("j", "every 1h"))
		w.until(time.Hour)
		w.poll()
		before, due := w.only("j"), w.trigger("j")
		again := &ending{run: before, awaited: true}
		again.run.State, again.run.ErrorCode, again.run.EndedAt = jobhost.RunFailed, "E_LATE", w.eng().now().Add(time.Hour)
		w.eng().done = append(w.eng().done, again)
		w.poll()
		is(w, "refused", again.refused, true)
		is(w, "state", w.only("j").State, before.State)
		is(w, "due", w.trigger("j").Due, due.Due)
	})

	eachStore(t, "S-91 the outcome and its retry appear in one commit", func(w *world) {
		d := job("j", "once 2026-01-05T01:00:00Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: time.Minute}
		w.define(d)
		w.fails("j")
		w.until(time.Hour)
		w.store = &watched{w.store, func() {
			for _, r := range w.runs("j") {
				if r.State == jobhost.RunFailed && len(w.oneShots("j")) != 1 {
					w.Error("failed on record without its retry")
				}
			}
		}}
		w.engine.store = w.store
		w.poll()
		is(w, "one-shot", w.oneShots("j")[0].Key.Trigger, "retry-"+string(w.only("j").ID))
	})

	eachStore(t, "S-92 a one-shot written twice is one", func(w *world) {
		d := job("j", "cron 0 0 * * *")
		d.RequestsRecovery = true
		w.define(d)
		w.takes("j", time.Hour)
		w.startManual("j")
		for range 2 {
			if err := w.eng().lose(w.Context(), "", nil, w.eng().processEnded(nil)); err != nil {
				w.Fatal(err)
			}
		}
		is(w, "one-shots", len(w.oneShots("j")), 1)
		is(w, "state", w.only("j").State, jobhost.RunLost)
	})

	eachStore(t, "S-93 a redefinition keeps the state of what has not changed", func(w *world) {
		d := jobhost.NewJob("j", "p", jobhost.NewTrigger("same", "cron 0 * * * *"), jobhost.NewTrigger("changed", "cron 0 * * * *"), jobhost.NewTrigger("gone", "cron 0 * * * *"))
		d.AllowConcurrent = true
		w.define(d)
		w.until(time.Hour)
		w.poll()
		w.until(time.Hour + time.Minute)
		d.Triggers = []jobhost.TriggerDef{jobhost.NewTrigger("same", "cron  0 * * * *"), jobhost.NewTrigger("changed", "cron 30 * * * *")}
		d.Triggers[0].Priority = 9
		w.define(d)
		same, changed := w.trigger("j", "same"), w.trigger("j", "changed")
		isAt(w, "due", same.Due, 2*time.Hour)
		is(w, "count", same.FiredCount, 1)
		is(w, "priority", same.Priority, 9)
		isAt(w, "due", changed.Due, 90*time.Minute)
		is(w, "count", changed.FiredCount, 0)
		w.view(func(tx jobhost.Tx) error {
			ts, err := tx.TriggersOf("j")
			is(w, "triggers", len(ts), 2)
			return err
		})
	})

	eachStore(t, "S-94 a Running interval that is redefined", func(w *world) {
		w.define(job("still", "every 1h"), job("cron", "every 1h"))
		w.takes("still", 10*time.Minute)
		w.takes("cron", 10*time.Minute)
		w.until(time.Hour)
		w.pollAside()
		w.define(job("still", "every 2h"), job("cron", "cron 0 9 * * *"))
		is(w, "state", w.trigger("still").State, jobhost.TriggerRunning)
		w.waits("cron", 9*time.Hour)
		w.until(70 * time.Minute)
		w.poll()
		w.waits("still", 190*time.Minute)
		w.waits("cron", 9*time.Hour)
	})

	eachStore(t, "S-99 runs of a process that is gone are Lost at the next start", func(w *world) {
		if w.reopen == nil {
			w.reopen = func() jobhost.Store { return w.store } // a memory store that outlives its engine shows the same rule
		}
		d := job("j", "cron 0 * * * *")
		d.RequestsRecovery = true
		w.define(d, job("i", "every 1h"))
		w.does("j", func(ctx context.Context, _ jobhost.Call) jobhost.Outcome { <-ctx.Done(); return jobhost.Outcome{} })
		w.does("i", w.jobs["j"])
		w.until(time.Hour)
		w.pollAside()
		w.until(2 * time.Hour)
		w.pollAside()
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		w.restart()
		w.takes("j", 0)
		w.takes("i", 0)
		w.poll()
		lost := w.runs("j")[0]
		is(w, "state", lost.State, jobhost.RunLost)
		is(w, "state", w.runs("i")[0].State, jobhost.RunLost)
		w.waits("i", 3*time.Hour)
		w.poll()
		w.poll()
		kinds := map[jobhost.RunKind]int{}
		for _, r := range w.runs("j") {
			kinds[r.Kind]++
			if r.Kind == jobhost.KindRecovery {
				is(w, "recoveryOf", r.RecoveryOf, lost.ID)
			}
		}
		is(w, "runs", fmt.Sprint(kinds), "map[Schedule:2 Recovery:1]")
		is(w, "state", w.trigger("j").State, jobhost.TriggerWaiting)
		w.view(func(tx jobhost.Tx) error {
			open, err := tx.OpenRuns("")
			is(w, "open runs", len(open), 0)
			return err
		})
	})
}

// watched looks at the store after each commit.
type watched struct {
	jobhost.Store

	look func()
}

func (s *watched) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	err := s.Store.Update(ctx, f)
	s.look()
	return err
}
