package engine

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

// TestCrashAtEveryCommit crashes the journey before and after each of its commits, goes on with what is left, and requires
// that every firing ended exactly once, was retried or recovered as its policy says, that nothing is stuck, that no slot was
// fired twice, and that nothing is lost that was confirmed.
func TestCrashAtEveryCommit(t *testing.T) {
	for _, s := range stores {
		commits := 0
		t.Run(s.name+"/without a crash", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, w := crashAndGoOn(t, s.open, 0, jobtest.Before)
				commits = j.count
				checkSights(j, w)
			})
		})
		step := 1
		if s.name != "memory" {
			step = 11 // a commit of a file takes real time; the rules do not depend on the store
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

func crashAndGoOn(t *testing.T, open func(*testing.T) (jobhost.Store, func() jobhost.Store), n int, when jobtest.When) (*journey, *world) {
	t.Helper()
	store, reopen := open(t)
	t.Cleanup(func() { _ = store.Close() })
	opened := false
	j := &journey{T: t, began: time.Now(), crash: n, when: when}
	j.open = func() jobhost.Store {
		if opened && reopen != nil {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = reopen()
		}
		opened = true
		return store
	}
	j.travel()
	w := j.lastLife()
	checkJourney(j, w)
	return j, w
}

// checkSights requires that a journey without a crash comes by everything that it is there for.
func checkSights(j *journey, w *world) {
	j.Helper()
	for _, what := range []string{sureDefined, sureAsked, sureDeleted, sureCanceled} {
		if !j.sure[what] {
			j.Errorf("the journey does not come by: %s", what)
		}
	}
	runs, triggers := everything(w)
	sights := map[string]bool{}
	for _, r := range runs {
		sights[fmt.Sprintf("a %v run that is %v", r.Kind, r.State)] = true
		sights["a make-up of "+r.Job] = sights["a make-up of "+r.Job] || r.ScheduledAt.Nanosecond() > 0
		sights["a run of "+r.Job] = true
	}
	for _, x := range triggers {
		sights[fmt.Sprintf("%v of job %q", x.Refused.Last, x.Key.Job)] = true
	}
	for _, want := range []string{
		"a Schedule run that is Lost", "a Schedule run that is Failed", "a Schedule run that is Canceled", "a Retry run that is Failed", "a Recovery run that is Succeeded",
		"a Manual run that is Succeeded", "a make-up of once", `misfire, and the policy is skip of job "skips"`, "a run of gone", "a run of dropped", "a run of added", "a run of local",
	} {
		if !sights[want] {
			j.Errorf("the journey does not come by %s", want)
		}
	}
}

func checkJourney(j *journey, w *world) {
	j.Helper()
	runs, triggers := everything(w)
	defs := map[jobhost.Name]jobhost.JobDef{}
	for _, d := range journeyFiles(2) {
		defs[d.Name] = d
	}
	checkRuns(w, defs, runs, triggers)
	for _, x := range triggers {
		switch {
		case x.State == jobhost.TriggerBlocked || x.State == jobhost.TriggerRunning:
			w.Errorf("trigger %v is stuck: %v", x.Key, x.State)
		case x.State == jobhost.TriggerWaiting && !x.Ready.Equal(x.Due) && x.Key.Job != "local":
			w.Errorf("trigger %v would not be found: due %v, ready %v", x.Key, x.Due, x.Ready)
		case x.State == jobhost.TriggerWaiting && x.Due.Before(t0.Add(journeyEnd)) && x.Key.Job != "local":
			w.Errorf("trigger %v should have fired at %v", x.Key, x.Due)
		case x.Key.Job == "counted" && x.State != jobhost.TriggerComplete:
			w.Errorf("the counted trigger is %v after %d runs", x.State, x.FiredCount)
		case x.Key.Job == "dropped", x.Key.Job == "gone" && j.sure[sureDeleted]:
			w.Errorf("trigger %v is of a job that is gone", x.Key)
		}
	}
	byJob := map[jobhost.Name][]jobhost.Run{}
	for _, r := range runs {
		byJob[r.Job] = append(byJob[r.Job], r)
		if r.Job == "gone" && j.sure[sureDeleted] && r.StartedAt.After(t0.Add(12500*time.Millisecond)) {
			w.Errorf("a deleted job fired at %v", r.StartedAt)
		}
	}
	is(w, "runs on request", len(byJob["asked"]), 1)
	is(w, "runs of an interval of three", len(byJob["counted"]), 3)
	if n := len(byJob["changed"]); n < 10 {
		w.Errorf("the job that a reload has changed ran %d times", n)
	}
	if j.sure[sureCanceled] {
		is(w, "the end of the run that was cancelled", byJob["long"][len(byJob["long"])-1].State, jobhost.RunCanceled)
	}
	checkNoSlotIsMissing(j, w, byJob["all"])
}

// checkNoSlotIsMissing holds a trigger that makes up for all that it has missed to its word.
func checkNoSlotIsMissing(j *journey, w *world, runs []jobhost.Run) {
	j.Helper()
	at := map[time.Time]bool{}
	first := t0.Add(journeyEnd)
	for _, r := range runs {
		at[r.ScheduledAt] = true
		if r.ScheduledAt.Before(first) {
			first = r.ScheduledAt
		}
	}
	if j.sure[sureDefined] {
		isAt(w, "the first slot", first, 5*second)
	}
	for slot := first; slot.Before(t0.Add(journeyEnd)); slot = slot.Add(5 * second) {
		if !at[slot] {
			w.Errorf("the slot of %v never fired", slot)
		}
	}
}

// checkRuns checks that every run has ended, that no slot fired twice, and that what should follow a run did, once, and
// nothing else. defs says by job what should; triggers are what is still to come.
func checkRuns(w *world, defs map[jobhost.Name]jobhost.JobDef, runs []jobhost.Run, triggers []jobhost.Trigger) {
	w.Helper()
	slots, follow := map[string]int{}, map[string]int{}
	for _, x := range triggers {
		follow[x.Key.Trigger]++
	}
	for _, r := range runs {
		if !r.State.Ended() {
			w.Errorf("run %v of %q is %v", r.ID, r.Job, r.State)
		}
		if r.Kind == jobhost.KindSchedule {
			slots[fmt.Sprintf("%s/%s at %v", r.Job, r.Trigger, r.ScheduledAt)]++
		}
		if r.RecoveryOf != "" {
			follow[jobhost.RecoveryPrefix+string(r.RecoveryOf)]++
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
		def := defs[r.Job]
		recoveries, retries := 0, 0
		if r.State == jobhost.RunLost && def.RequestsRecovery && !def.RunOnEveryInstance && r.Kind != jobhost.KindRecovery {
			recoveries = 1
		}
		if r.State == jobhost.RunFailed && def.Retry != nil && r.Attempt <= def.Retry.MaxRetries {
			retries = 1
		}
		if n := follow[jobhost.RecoveryPrefix+string(r.ID)]; n != recoveries {
			w.Errorf("%v run %s of %q has %d recoveries, want %d", r.State, r.ID, r.Job, n, recoveries)
		}
		next := fmt.Sprintf("attempt %d of %s", r.Attempt+1, cmp.Or(r.RetryOf, r.ID))
		if n := follow[next] + follow[jobhost.RetryPrefix+string(r.ID)]; n != retries {
			w.Errorf("%v attempt %d of %q is followed by %d retries, want %d", r.State, r.Attempt, r.Job, n, retries)
		}
	}
}

// everything is all that a store holds of runs and triggers.
func everything(w *world) (runs []jobhost.Run, triggers []jobhost.Trigger) {
	w.Helper()
	err := w.store.View(context.Background(), func(tx jobhost.Tx) error {
		names, err := tx.JobNames("", 1000)
		if err != nil {
			return err
		}
		if triggers, err = tx.TriggersOf(names...); err != nil {
			return err
		}
		runs, err = tx.QueryRuns(jobhost.RunQuery{Limit: 1_000_000})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return runs, triggers
}
