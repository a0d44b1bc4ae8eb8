package engine

import (
	"testing"

	"github.com/jobhost/jobhost"
)

func TestLocalJobs(t *testing.T) {
	local := func(schedule string) jobhost.JobDef {
		d := job("j", schedule)
		d.RunOnEveryInstance = true
		return d
	}
	eachStore(t, "S-149 the retry of a local job goes with its process", func(w *world) {
		d := local("once 2026-01-05T01:00:00Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: minute}
		w.define(d)
		w.fails("j")
		stop := w.serve()
		w.until(hour + 61*second)
		is(w, "runs", len(w.runs("j")), 2)
		is(w, "kind", w.runs("j")[1].Kind, jobhost.KindRetry)
		is(w, "one-shots in the store", len(w.oneShots("j")), 0)
		stop()
		w.restart()
		stop = w.serve()
		w.until(2 * hour)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})
	eachStore(t, "S-169 a local firing that finds a run in progress is dropped", func(w *world) {
		w.define(local("cron 0 * * * * *"))
		w.takes("j", 90*second)
		stop := w.serve()
		w.until(2*minute + second)
		w.only("j")
		s := w.eng().Status(w.Context(), []jobhost.Name{"j"})[0].Value
		is(w, "state", s.Triggers[0].State, "Waiting")
		isAt(w, "next", s.NextRun, 3*minute)
		_, err := jobhost.One(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}}))
		is(w, "code", jobhost.CodeOf(err), jobhost.JobRunning)
		stop()
	})
	eachStore(t, "a local interval and an enqueued local run", func(w *world) {
		w.define(local("every 10s x3"))
		w.takes("j", second)
		stop := w.serve()
		id, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "j", At: t0.Add(45 * second)}}))
		is(w, "error", err, nil)
		w.until(2 * minute)
		rs := w.runs("j")
		is(w, "runs", len(rs), 4)
		is(w, "id", rs[3].ID, id)
		isAt(w, "third", rs[2].ScheduledAt, 32*second)
		is(w, "stored state", w.trigger("j").FiredCount, 0)
		stop()
	})
	eachStore(t, "downtime of a local job is not made up, a pause is seen", func(w *world) {
		w.define(local("cron 0 0 * * * *"))
		w.until(3*hour + 30*minute)
		w.restart()
		stop := w.serve()
		w.until(3*hour + 40*minute)
		is(w, "runs", len(w.runs("j")), 0)
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(4*hour + minute)
		is(w, "runs", len(w.runs("j")), 0)
		w.eng().Resume(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(5*hour + minute)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})
	eachStore(t, "a job that becomes local is planned anew, and back", func(w *world) {
		w.define(job("j", "every 1h"))
		stop := w.serve()
		w.until(30 * minute)
		w.define(local("every 1h"))
		isAt(w, "next", w.eng().Status(w.Context(), nil)[0].Value.NextRun, 90*minute)
		w.until(100 * minute)
		is(w, "runs", len(w.runs("j")), 1)
		w.define(job("j", "every 1h"))
		w.waits("j", 160*minute)
		stop()
	})
}
