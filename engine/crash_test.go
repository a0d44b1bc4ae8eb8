package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

// The journey has a schedule, an exclusive job that blocks, a misfire of each policy, a retry, an interval, an enqueued
// run, a redefinition and a deletion.
func journey(w *world) {
	retried := job("retried", "cron 10 * * * * *")
	retried.Retry = &jobhost.RetryPolicy{MaxRetries: 2, Delay: 2 * second}
	recovered := jobhost.NewJob("recovered", "p", jobhost.NewTrigger("t", "cron */20 * * * * *"), jobhost.NewTrigger("u", "cron */20 * * * * *"))
	recovered.RequestsRecovery = true
	all := job("all", "cron */30 * * * * *")
	all.Triggers[0].Misfire = jobhost.MisfireRunAll
	skips := job("skips", "cron */30 * * * * *")
	skips.Triggers[0].Misfire = jobhost.MisfireSkip
	w.fails("retried")
	w.takes("recovered", 3*second)
	w.takes("interval", second)

	e := w.eng()
	ctx, cancel := context.WithCancel(w.Context())
	over := make(chan error, 1)
	_ = e.Schedule(ctx, []jobhost.JobDef{retried, recovered, all, skips, job("interval", "every 7s"), jobhost.NewJob("asked", "p"), job("gone", "cron */15 * * * * *")})
	w.aside.Go(func() { over <- e.Serve(ctx) })
	w.until(5500 * time.Millisecond)
	_ = e.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "asked", At: t0.Add(8500 * time.Millisecond)}})
	w.until(16500 * time.Millisecond)
	_ = e.Delete(ctx, []jobhost.Name{"gone"})
	_ = e.Schedule(ctx, []jobhost.JobDef{job("interval", "every 9s")})
	w.until(65500 * time.Millisecond)
	cancel()
	if err := <-over; err != nil {
		w.Logf("serve: %v", err) // as it should be after a crash
	}
}

// TestCrashAtEveryCommit crashes the journey before and after each of its commits, starts again on what is left, and
// requires that every firing ended exactly once, that nothing is stuck and that no slot was fired twice.
func TestCrashAtEveryCommit(t *testing.T) {
	for _, s := range stores {
		commits := 0
		t.Run(s.name+"/without a crash", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, _ := s.open(t)
				t.Cleanup(func() { _ = store.Close() })
				counted := jobtest.CrashAt(store, 1<<30, jobtest.Before)
				w := newWorld(t, counted)
				journey(w)
				w.end()
				commits = counted.Commits()
				w.store = store
				checkJourney(w, store)
			})
		})
		step := 1
		if s.name != "memory" {
			step = 7 // a commit of a file takes real time; the rules do not depend on the store
		}
		for n := 1; n <= commits; n += step {
			for _, when := range []jobtest.When{jobtest.Before, jobtest.After} {
				side := map[jobtest.When]string{jobtest.Before: "before", jobtest.After: "after"}[when]
				t.Run(fmt.Sprintf("%s/%s commit %d of %d", s.name, side, n, commits), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { crashAndGoOn(t, s.open, n, when) })
				})
			}
		}
	}
}

func crashAndGoOn(t *testing.T, open func(*testing.T) (jobhost.Store, func() jobhost.Store), n int, when jobtest.When) {
	t.Helper()
	store, reopen := open(t)
	t.Cleanup(func() { _ = store.Close() })
	crash := jobtest.CrashAt(store, n, when)
	w := newWorld(t, crash)
	w.cfg.Log = nil
	dead, died := context.WithCancel(w.ctx)
	w.ctx = dead
	go func() { // the process is gone with its first failed commit
		select {
		case <-crash.Crashed():
		case <-dead.Done():
		}
		died()
	}()
	journey(w)
	w.end()
	synctest.Wait()

	if reopen != nil {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store = reopen()
	}
	again := newWorld(t, store)
	again.began, again.jobs, again.cfg.NodeID = w.began, w.jobs, "n2"
	again.cfg.Now = func() time.Time { return t0.Add(time.Since(w.began)) }
	stop := again.serve()
	again.until(3*minute + 500*time.Millisecond)
	stop()
	again.end()
	checkJourney(again, store)
}

func checkJourney(w *world, store jobhost.Store) {
	w.Helper()
	ctx := context.Background()
	err := store.View(ctx, func(tx jobhost.Tx) error {
		runs, err := tx.QueryRuns(jobhost.RunQuery{Limit: 1_000_000})
		if err != nil {
			return err
		}
		names, err := tx.JobNames("", 100)
		if err != nil {
			return err
		}
		triggers, err := tx.TriggersOf(names...)
		if err != nil {
			return err
		}
		checkRuns(w, runs, triggers)
		for _, x := range triggers {
			if x.State == jobhost.TriggerBlocked || x.State == jobhost.TriggerRunning {
				w.Errorf("trigger %v is stuck: %v", x.Key, x.State)
			}
			if x.State == jobhost.TriggerWaiting && !x.Ready.Equal(x.Due) {
				w.Errorf("trigger %v would not be found: due %v, ready %v", x.Key, x.Due, x.Ready)
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
}

// checkRuns checks that every run has ended, that no slot fired twice, and that what should follow a run did, once.
func checkRuns(w *world, runs []jobhost.Run, triggers []jobhost.Trigger) {
	w.Helper()
	slots, follow := map[string]int{}, map[string]int{}
	for _, x := range triggers {
		follow[x.Key.Trigger]++ // what is still to come
	}
	for _, r := range runs {
		if !r.State.Ended() {
			w.Errorf("run %v of %q is %v", r.ID, r.Job, r.State)
		}
		if r.Kind == jobhost.KindSchedule {
			slots[fmt.Sprintf("%s/%s at %v", r.Job, r.Trigger, r.ScheduledAt)]++
		}
		if r.RecoveryOf != "" {
			follow["recovery-"+string(r.RecoveryOf)]++
		}
		if r.Kind == jobhost.KindRetry {
			follow[fmt.Sprintf("attempt %d of %s", r.Attempt, r.RetryOf)]++
		}
	}
	for slot, n := range slots {
		if n > 1 {
			w.Errorf("%s fired %d times", slot, n)
		}
	}
	for _, r := range runs {
		if r.Job == "recovered" && r.State == jobhost.RunLost && r.Kind != jobhost.KindRecovery && follow["recovery-"+string(r.ID)] != 1 {
			w.Errorf("lost run %s has %d recoveries", r.ID, follow["recovery-"+string(r.ID)])
		}
		if r.Job == "retried" && r.State == jobhost.RunFailed && r.Attempt < 3 {
			chain := r.RetryOf
			if chain == "" {
				chain = r.ID
			}
			if n := follow[fmt.Sprintf("attempt %d of %s", r.Attempt+1, chain)] + follow["retry-"+string(r.ID)]; n != 1 {
				w.Errorf("failed attempt %d of %s is followed by %d retries", r.Attempt, chain, n)
			}
		}
	}
}
