package engine

import (
	"testing"

	"github.com/jobhost/jobhost"
)

// What TestEngineDoesWhatTheModelSays has found, as stories of their own.
func TestRedefinitions(t *testing.T) {
	eachStore(t, "S-93 a Blocked one-shot is freed too when its job may run concurrently", func(w *world) {
		w.define(job("j", "cron 0 * * * *"))
		w.takes("j", hour)
		stop := w.serve()
		w.startManual("j")
		if _, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "j"}})); err != nil {
			w.Fatal(err)
		}
		w.until(second)
		is(w, "state", w.oneShots("j")[0].State, jobhost.TriggerBlocked)
		d := job("j", "cron 0 * * * *")
		d.AllowConcurrent = true
		w.define(d)
		w.until(2 * second)
		is(w, "one-shots", len(w.oneShots("j")), 0)
		is(w, "runs in progress", w.eng().RunningCount(), 2)
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "S-93 a Blocked trigger is freed when its job may run concurrently", func(w *world) {
		w.define(job("j", "cron 0 * * * *"))
		w.takes("j", 2*hour)
		stop := w.serve()
		w.startManual("j")
		w.until(hour + second)
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		d := job("j", "cron 0 * * * *")
		d.AllowConcurrent = true
		w.define(d)
		w.until(hour + 2*second)
		isAt(w, "scheduledAt", w.runs("j")[1].ScheduledAt, hour)
		w.waits("j", 2*hour)
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "S-81 S-86 a Blocked trigger that is paused is freed and does not start", func(w *world) {
		w.define(jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 * * * *"), jobhost.NewTrigger("b", "cron 0 * * * *")))
		w.takes("j", hour+10*second)
		stop := w.serve()
		w.startManual("j")
		w.until(hour + second)
		w.takes("j", second)
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "j", Trigger: "a"}})
		w.until(hour + 20*second)
		rs := w.runs("j")
		is(w, "runs", len(rs), 2)
		is(w, "trigger", rs[1].Trigger, "b")
		is(w, "state of a", w.trigger("j", "a").State, jobhost.TriggerWaiting)
		isAt(w, "due of a", w.trigger("j", "a").Due, hour)
		stop()
	})

	eachStore(t, "S-83 S-192 a run of a deleted job counts for a job of the same name", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", hour)
		stop := w.serve()
		w.startManual("j")
		w.until(10 * second)
		is(w, "error", w.eng().Delete(w.Context(), []jobhost.Name{"j"})[0].Err, nil)
		w.define(job("j", "once 2026-01-05T00:00:05Z")) // due already
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		is(w, "runs in progress", w.eng().RunningCount(), 1)
		w.until(hour + second)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})

	eachStore(t, "S-125 a resume that changes nothing does not hurry the next make-up", func(w *world) {
		d := job("j", "cron 0 * * * *")
		d.Triggers[0].Misfire = jobhost.MisfireRunAll
		w.define(d)
		w.until(5*hour + 30*minute)
		w.poll()
		for range 3 {
			w.eng().Resume(w.Context(), []jobhost.Target{{Job: "j"}, {Job: "j", Trigger: "t"}})
			w.poll()
		}
		is(w, "runs", len(w.runs("j")), 1)
		w.until(5*hour + 30*minute + second)
		w.poll()
		is(w, "runs", len(w.runs("j")), 2)
	})
}
