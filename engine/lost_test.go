package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
)

func TestLostRuns(t *testing.T) {
	for _, id := range []string{"n1", "n2"} {
		eachStore(t, "S-99 a run that a dead process has left, on a node that is "+map[string]string{"n1": "the same", "n2": "another"}[id], func(w *world) {
			w.cfg.NodeTimeout = 30 * second // a heartbeat each ten seconds
			store := w.store
			dying := &faulty{Store: store}
			w.store = dying
			d := job("j", "every 10m")
			d.RequestsRecovery = true
			w.define(d, job("late", "once 2026-01-05T00:10:25Z"))
			w.takes("j", hour)
			w.takes("late", hour)
			ctx, kill := context.WithCancel(w.Context())
			e := w.eng()
			w.aside.Go(func() { _ = e.Serve(ctx) })
			w.until(10*minute + 27*second)
			dying.set(func(jobhost.Tx) error {
				return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "dead"}
			}, nil)
			kill()
			w.until(hour) // that is how long nobody is there
			w.store = store
			w.restart()
			w.cfg.NodeID = id
			var log bytes.Buffer
			w.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			heard := w.eng().Events(w.Context())
			stop := w.serve()
			w.until(hour + second)

			lost, late := w.runs("j")[0], w.only("late")
			is(w, "state", lost.State, jobhost.RunLost)
			is(w, "code", lost.ErrorCode, "")
			is(w, "message", lost.ErrorMessage, `the process of node "n1" ended while the run was in progress; its last heartbeat was at 2026-01-05T00:10:20Z`)
			isAt(w, "end", lost.EndedAt, 10*minute+20*second)
			isAt(w, "end of one that began after the last heartbeat", late.EndedAt, 10*minute+25*second)
			w.waits("j", hour+10*minute) // T12 counts from the marking
			recovery := w.runs("j")[1]
			is(w, "kind", recovery.Kind, jobhost.KindRecovery)
			isAt(w, "due of the recovery", recovery.ScheduledAt, hour)
			for _, want := range []string{
				fmt.Sprintf(`level=INFO msg="a run was lost" job=j run=%s attempt=1 message="the process of node \"n1\" ended while`, lost.ID),
				"recovered=true", "recovered=false",
			} {
				if !strings.Contains(log.String(), want) {
					w.Errorf("the log has no %s:\n%s", want, log.String())
				}
			}
			nodes, err := w.eng().Nodes(w.Context())
			is(w, "error", err, nil)
			is(w, "nodes", len(nodes), 1)
			is(w, "node", nodes[0].ID, id)
			for ev, err := range heard {
				is(w, "error", err, nil)
				if ev.Topic == jobhost.TopicRunLost {
					isAt(w, "time of the event", ev.Time, hour)
					break
				}
			}
			w.eng().StopNow()
			stop()
		})
	}

	eachStore(t, "a run of a process that never sent a heartbeat", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		r := jobhost.Run{ID: jobhost.NewRunID(t0, [10]byte{}), Job: "j", Kind: jobhost.KindManual, Attempt: 1, State: jobhost.RunRunning, Node: "gone", StartedAt: t0}
		if err := w.store.Update(w.Context(), func(tx jobhost.Tx) error { return tx.PutRuns(r) }); err != nil {
			w.Fatal(err)
		}
		w.engine = nil
		w.until(hour)
		w.poll()
		got := w.only("j")
		is(w, "message", got.ErrorMessage, `the process of node "gone" ended while the run was in progress; when is not known`)
		isAt(w, "end", got.EndedAt, 0)
	})

	eachStore(t, "a run that was put on record and never began", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		w.until(second)
		r := jobhost.Run{ID: jobhost.NewRunID(t0, [10]byte{}), Job: "j", Kind: jobhost.KindManual, Attempt: 1, State: jobhost.RunRunning, Node: "n1", StartedAt: t0.Add(second)}
		if err := w.store.Update(w.Context(), func(tx jobhost.Tx) error { return tx.PutRuns(r) }); err != nil {
			w.Fatal(err)
		}
		w.until(3 * minute)
		got := w.only("j")
		is(w, "state", got.State, jobhost.RunLost)
		is(w, "message", got.ErrorMessage, `node "n1" has put the run on record and did not learn of it, so it never began`)
		isAt(w, "end", got.EndedAt, second)
		stop()
	})

	onCluster(t, "S-161 a run of a node that was lost", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		a.define(recovered("j", "cron 0 0 1 * * *"))
		a.forever("j")
		a.until(3 * minute)
		a.startManual("j")
		a.until(3*minute + 10*second)
		a.cutOff(true)
		b.until(20 * minute)
		got := b.runs("j")[0]
		is(b, "state", got.State, jobhost.RunLost)
		is(b, "message", got.ErrorMessage, `node "n1" was lost: its last heartbeat was at 2026-01-05T00:03:00Z`)
		isAt(b, "end", got.EndedAt, 3*minute)
		a.cutOff(false)
		stop()
	})
}

func TestFailuresAreLogged(t *testing.T) {
	eachStore(t, "one line for a failed run, and none for a success", func(w *world) {
		var log bytes.Buffer
		w.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.cfg.CancelGrace = 0
		d := jobhost.NewJob("retried", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: 10 * second}
		limited := jobhost.NewJob("limited", "p")
		limited.Timeout = second
		w.define(d, limited, jobhost.NewJob("fine", "p"), jobhost.NewJob("stopped", "p"))
		w.does("retried", func(context.Context, jobhost.Call) jobhost.Outcome {
			return jobhost.Outcome{Code: "E_BROKEN", Message: "it broke" + strings.Repeat("!", 1000)}
		})
		w.takes("limited", hour)
		w.takes("stopped", hour)
		stop := w.serve()
		log.Reset()
		w.startManual("fine")
		w.startManual("stopped")
		w.eng().CancelRuns(w.Context(), []jobhost.RunID{w.only("stopped").ID})
		w.until(second)
		if log.Len() > 0 {
			w.Errorf("a success and a cancelled run are logged:\n%s", log.String())
		}
		w.startManual("retried")
		w.startManual("limited")
		w.until(minute)
		stop()
		rs := w.runs("retried")
		message := "it broke" + strings.Repeat("!", 504)
		want := []string{
			fmt.Sprintf(`level=WARN msg="a run failed" job=retried run=%s attempt=1 code=E_BROKEN message=%q retried=true retryAt=2026-01-05T00:00:11.000Z`, rs[0].ID, message),
			fmt.Sprintf(`level=WARN msg="a run failed" job=limited run=%s attempt=1 code=%s message="the run exceeded its time limit" retried=false`, w.only("limited").ID, jobhost.TimedOut),
			fmt.Sprintf(`level=WARN msg="a run failed" job=retried run=%s attempt=2 code=E_BROKEN message=%q retried=false`, rs[1].ID, message),
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			got = append(got, rest)
		}
		is(w, "the log", strings.Join(got, "\n"), strings.Join(want, "\n"))
	})
}
