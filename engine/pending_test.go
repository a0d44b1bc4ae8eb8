package engine

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestPendingRuns(t *testing.T) {
	eachStore(t, "S-191 enqueued runs that have not started are listed like those that have", func(w *world) {
		local := jobhost.NewJob("local", "p")
		local.RunOnEveryInstance = true
		busy := jobhost.NewJob("busy", "p")
		retried := jobhost.NewJob("retried", "p")
		retried.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: hour}
		w.define(jobhost.NewJob("a", "p"), busy, local, retried, jobhost.NewJob("paused", "p"))
		w.forever("busy")
		w.fails("retried")
		stop := w.serve()
		w.startManual("busy")
		w.startManual("retried")
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "paused"}})
		priority := int32(8)
		answers := w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{
			{Job: "a", At: t0.Add(3 * hour), Data: json.RawMessage(`{"n":1}`), Priority: &priority},
			{Job: "local", At: t0.Add(2 * hour)},
			{Job: "busy"},
			{Job: "paused", At: t0.Add(hour)},
		})
		ids := make([]jobhost.RunID, len(answers))
		for i, r := range answers {
			is(w, "error", r.Err, nil)
			ids[i] = r.Value
		}
		w.until(minute)

		list := func(q jobhost.RunQuery) []jobhost.Run {
			w.Helper()
			runs, err := w.eng().Runs(w.Context(), q)
			is(w, "error", err, nil)
			q.Skip, q.Limit = 0, 0
			n, err := w.eng().CountRuns(w.Context(), q)
			is(w, "error of the count", err, nil)
			all, err := w.eng().Runs(w.Context(), q)
			is(w, "error", err, nil)
			is(w, "count", n, len(all))
			return runs
		}
		pending := []jobhost.RunState{jobhost.RunPending}
		want := []jobhost.Run{
			{ID: ids[0], Job: "a", ScheduledAt: t0.Add(3 * hour), Priority: 8},
			{ID: ids[1], Job: "local", ScheduledAt: t0.Add(2 * hour), Priority: 5},
			{ID: ids[3], Job: "paused", ScheduledAt: t0.Add(hour), Priority: 5},
			{ID: ids[2], Job: "busy", ScheduledAt: t0, Priority: 5},
		}
		for i := range want {
			want[i].State, want[i].Kind, want[i].Attempt = jobhost.RunPending, jobhost.KindManual, 1
		}
		same := func(what string, got, want []jobhost.Run) {
			w.Helper()
			if d := cmp.Diff(got, want); d != "" {
				w.Errorf("%s (-got +want):\n%s", what, d)
			}
		}
		same("all", list(jobhost.RunQuery{States: pending}), want)
		same("of a job", list(jobhost.RunQuery{States: pending, Job: "busy"}), want[3:])
		same("of a local job", list(jobhost.RunQuery{States: pending, Job: "local"}), want[1:2])
		same("a page", list(jobhost.RunQuery{States: pending, Skip: 1, Limit: 2}), want[1:3])
		same("by id", list(jobhost.RunQuery{IDs: []jobhost.RunID{ids[1], ids[2]}}), []jobhost.Run{want[1], want[3]})
		for what, q := range map[string]jobhost.RunQuery{
			"behind the last":      {States: pending, Skip: math.MaxInt},
			"of a node":            {States: pending, Node: "n1"},
			"of a start":           {States: pending, From: t0},
			"before a start":       {States: pending, To: t0.Add(hour)},
			"of another kind":      {States: pending, Kinds: []jobhost.RunKind{jobhost.KindRetry}},
			"in another state":     {IDs: ids, States: []jobhost.RunState{jobhost.RunRunning}},
			"of an id that is not": {IDs: []jobhost.RunID{"0123"}},
		} {
			if got := list(q); len(got) > 0 {
				w.Errorf("%s: %v, want none", what, got)
			}
		}
		if got := list(jobhost.RunQuery{}); slices.ContainsFunc(got, func(r jobhost.Run) bool { return r.State == jobhost.RunPending }) {
			w.Errorf("the history has runs that have not started: %v", got)
		}

		both := jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunRunning, jobhost.RunPending}}
		got := list(both)
		same("with those in progress: pending", got[:4], want)
		is(w, "with those in progress: last", got[4].State, jobhost.RunRunning)
		for skip := range 6 {
			page := both
			page.Skip, page.Limit = skip, 2
			same("two of both", list(page), got[min(skip, 5):min(skip+2, 5)])
		}

		for _, r := range want {
			text, err := json.Marshal(r)
			if err != nil || strings.Contains(string(text), "startedAt") || strings.Contains(string(text), "0001-01-01") {
				w.Errorf("in JSON it is %s, %v", text, err)
			}
			for _, err := range w.eng().Log(w.Context(), r.ID, jobhost.LogQuery{}) {
				w.Errorf("the log of a run that has not started: %v", err)
			}
		}
		w.until(4 * hour)
		for _, id := range ids[:2] {
			runs := list(jobhost.RunQuery{IDs: []jobhost.RunID{id}})
			is(w, "answers", len(runs), 1)
			is(w, "state", runs[0].State, jobhost.RunSucceeded)
		}
		same("what is left", list(jobhost.RunQuery{States: pending}), want[2:])
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "more jobs than fit on a page", func(w *world) {
		var defs []jobhost.JobDef
		var reqs []jobhost.EnqueueRequest
		for i := range 1001 {
			name := "j-" + strings.Repeat("x", i/100) + "-" + string(rune('a'+i%100/10)) + string(rune('a'+i%10))
			defs = append(defs, jobhost.NewJob(name, "p"))
			if i%100 == 0 {
				reqs = append(reqs, jobhost.EnqueueRequest{Job: name})
			}
		}
		w.define(defs...)
		w.eng().Enqueue(w.Context(), reqs)
		n, err := w.eng().CountRuns(w.Context(), jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunPending}})
		is(w, "error", err, nil)
		is(w, "pending", n, len(reqs))
	})
}
