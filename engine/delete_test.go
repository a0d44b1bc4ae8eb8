package engine

import (
	"testing"

	"github.com/jobhost/jobhost"
)

func TestWhatWasAskedForLeavesATrace(t *testing.T) {
	for name, everywhere := range map[string]bool{"a run that waits is recorded as cancelled when its job is deleted": false, "so is a local one": true} {
		eachStore(t, name, func(w *world) {
			d := jobhost.NewJob("j", "p")
			d.RunOnEveryInstance = everywhere
			w.define(d)
			w.takes("j", hour)
			stop := w.serve()
			w.startManual("j")
			id, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "j", At: t0.Add(minute), Data: []byte(`{"n":1}`)}}))
			is(w, "enqueue", err, nil)
			w.until(10 * second)
			is(w, "delete", w.eng().Delete(w.Context(), []jobhost.Name{"j"})[0].Err, nil)
			r, err := w.eng().Run(w.Context(), id)
			is(w, "error", err, nil)
			is(w, "state", r.State, jobhost.RunCanceled)
			is(w, "code", r.ErrorCode, jobhost.Canceled)
			is(w, "message", r.ErrorMessage, whyDeleted)
			is(w, "data", string(r.Data), `{"n":1}`)
			isAt(w, "scheduledAt", r.ScheduledAt, minute)
			isAt(w, "end", r.EndedAt, 10*second)
			w.until(2 * minute)
			is(w, "calls", len(w.calls), 1)
			w.eng().StopNow()
			stop()
		})
	}

	eachStore(t, "a second pause without a reason keeps the first", func(w *world) {
		w.define(job("j", "every 1h"))
		for _, g := range []jobhost.Target{{Job: "j"}, {Job: "j", Trigger: "t"}} {
			pause := func(reason string) string {
				g.Reason = reason
				is(w, "pause", w.eng().Pause(w.Context(), []jobhost.Target{g})[0].Err, nil)
				if g.Trigger != "" {
					return w.trigger("j").PauseReason
				}
				s, err := jobhost.One(w.eng().Status(w.Context(), []jobhost.Name{"j"}))
				is(w, "error", err, nil)
				return s.PauseReason
			}
			is(w, "reason", pause("too loud"), "too loud")
			is(w, "reason, paused again", pause(""), "too loud")
			is(w, "reason, given again", pause("too slow"), "too slow")
			is(w, "resume", w.eng().Resume(w.Context(), []jobhost.Target{g})[0].Err, nil)
			is(w, "reason of a new pause", pause(""), "")
		}
	})

	eachStore(t, "a lost run does not end before what it has said", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		id := drawIDs(t0, 1)[0]
		err := w.store.Update(w.Context(), func(tx jobhost.Tx) error {
			r := jobhost.Run{
				ID: id, Job: "j", Kind: jobhost.KindManual, Attempt: 1, State: jobhost.RunRunning, Node: "gone", ScheduledAt: t0, StartedAt: t0,
			}
			if err := tx.PutRuns(r); err != nil {
				return err
			}
			if _, err := tx.PutNode(jobhost.Node{ID: "gone", Started: t0, Beat: t0.Add(5 * second)}); err != nil {
				return err
			}
			return tx.AppendLog(id, []byte(`{"seq":1,"t":"2026-01-05T00:00:20Z","msg":"still here"}`+"\n"))
		})
		is(w, "error", err, nil)
		w.until(minute)
		w.restart()
		w.poll()
		is(w, "state", w.only("j").State, jobhost.RunLost)
		isAt(w, "end", w.only("j").EndedAt, 20*second)
	})
}
