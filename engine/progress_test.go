package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestProgress(t *testing.T) {
	eachStore(t, "the last that a run tells is part of its answer while it is in progress", func(w *world) {
		w.define(jobhost.NewJob("j", "p"), jobhost.NewJob("silent", "p"))
		w.takes("silent", minute)
		w.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			time.Sleep(10 * second)
			c.Sink.Progress(1, 0, "")
			c.Sink.Progress(2, 7, "two of seven")
			time.Sleep(10 * second)
			c.Sink.Progress(3, 7, strings.Repeat("€", 4000))
			time.Sleep(10 * second)
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.startManual("silent")
		w.startManual("j")
		told := func() *jobhost.Progress {
			w.Helper()
			one, err := w.eng().Runs(w.Context(), jobhost.RunQuery{IDs: []jobhost.RunID{w.only("j").ID}})
			is(w, "error", err, nil)
			all, err := w.eng().Runs(w.Context(), jobhost.RunQuery{})
			is(w, "error", err, nil)
			for _, r := range all {
				want := one[0].Progress
				if r.Job == "silent" {
					want = nil
				}
				if d := cmp.Diff(r.Progress, want); d != "" {
					w.Errorf("the list says of %q something else (-got +want):\n%s", r.Job, d)
				}
			}
			return one[0].Progress
		}
		if p := told(); p != nil {
			w.Errorf("before it tells anything: %v", p)
		}
		w.until(15 * second)
		want := &jobhost.Progress{Done: 2, Total: 7, Msg: "two of seven", At: t0.Add(10 * second)}
		if d := cmp.Diff(told(), want); d != "" {
			w.Errorf("after ten seconds (-got +want):\n%s", d)
		}
		told().Msg = "changed by the caller"
		if d := cmp.Diff(told(), want); d != "" {
			w.Errorf("after the caller has changed its copy (-got +want):\n%s", d)
		}
		w.until(25 * second)
		is(w, "bytes of a long message", len(told().Msg), logLine/3*3)
		if w.only("j").Progress != nil {
			w.Error("progress is stored")
		}
		w.until(minute)
		if p := told(); p != nil {
			w.Errorf("after its end: %v", p)
		}
		stop()
	})
}
