package jobtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// Trigger and Enqueue.
var requestCases = []schedulerCase{
	{name: "a triggered run is answered as it ended, and a failed one is no error", test: func(s *service) {
		d := jobhost.NewJob("good", "p")
		d.Data = json.RawMessage(`{"a":1,"b":{"x":1,"y":2}}`)
		limited := jobhost.NewJob("slow", "p")
		limited.Timeout = time.Second
		s.define(d, jobhost.NewJob("bad", "p"), jobhost.NewJob("panics", "p"), limited)
		s.does("good", func(context.Context, jobhost.Call) jobhost.Outcome {
			time.Sleep(3 * time.Second)
			return jobhost.Outcome{Digest: "d16e57", Fuel: 1 << 60, PeakMemory: 1 << 40}
		})
		s.fails("bad")
		s.does("panics", func(context.Context, jobhost.Call) jobhost.Outcome { panic("at the disco") })
		s.takes("slow", time.Hour)
		s.until(time.Second)
		got := s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "good", Data: json.RawMessage(`{"b":{"x":9},"c":null}`)}, {Job: "bad"}, {Job: "panics"}, {Job: "slow"}})
		is(s, "codes", codes(got), make([]jobhost.Code, 4))
		node := s.node()
		r := got[0].Value
		is(s, "the run", r, jobhost.Run{
			ID: r.ID, Job: "good", Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: s.at(time.Second), Priority: 5, State: jobhost.RunSucceeded, Node: node,
			Data: json.RawMessage(`{"a":1,"b":{"x":9},"c":null}`), StartedAt: s.at(time.Second), EndedAt: s.at(4 * time.Second),
			Digest: "d16e57", Fuel: 1 << 60, PeakMemory: 1 << 40,
		})
		is(s, "what the history has", s.only("good"), r)
		for i, want := range []jobhost.Code{"", "E_OWN", jobhost.Unexpected, jobhost.TimedOut} {
			is(s, "code of the run of "+got[i].Value.Job, got[i].Value.ErrorCode, want)
			is(s, "state of the run of "+got[i].Value.Job, got[i].Value.State == jobhost.RunFailed, want != "")
		}
		is(s, "message", got[1].Value.ErrorMessage, "as told")
	}},
	{name: "S-136 FR-09 while an exclusive job runs, a further request names the run", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.takes("j", time.Minute)
		first := s.begin("j")
		_, err := jobhost.One(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j"}}))
		running := s.only("j")
		is(s, "state", running.State, jobhost.RunRunning)
		if e, ok := errors.AsType[*jobhost.Error](err); !ok || e.Code != jobhost.JobRunning || e.Params["run"] != string(running.ID) || !strings.Contains(e.Msg, string(running.ID)) {
			s.Errorf("the answer is %v, want %s that names run %s", err, jobhost.JobRunning, running.ID)
		}
		is(s, "the first", (<-first).Value.State, jobhost.RunSucceeded)
		s.only("j")
	}},
	{name: "S-183 the runs of one request go side by side, an exclusive job's only once", test: func(s *service) {
		both := jobhost.NewJob("both", "p")
		both.AllowConcurrent = true
		s.define(jobhost.NewJob("j", "p"), both)
		s.takes("j", 10*time.Second)
		s.takes("both", 20*time.Second)
		got := s.Trigger(s.Context(), []jobhost.TriggerRequest{
			{Job: "both"}, {Job: "j"}, {Job: "none"}, {Job: "j"}, {Job: "both"}, {Job: "j", Data: json.RawMessage(`[1]`)}, {Job: "j", Data: json.RawMessage(`{"open"`)},
		})
		is(s, "codes", codes(got), []jobhost.Code{"", "", jobhost.NotFoundJob, jobhost.JobRunning, "", jobhost.InvalidDefinition, jobhost.InvalidDefinition})
		is(s, "took", time.Since(s.began), 20*time.Second)
		is(s, "runs", len(s.runs(jobhost.RunQuery{})), 3)
	}},
	{name: "data that is nested too deep is refused wherever it comes from", test: func(s *service) {
		nested := func(depth int) json.RawMessage {
			return json.RawMessage(`{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
		}
		deep := nested(jobhost.MaxDataDepth + 1)
		j := jobhost.NewJob("j", "p")
		j.Data = nested(jobhost.MaxDataDepth)
		s.define(j)
		own, layer := jobhost.NewJob("own", "p"), jobhost.NewJob("layer", "p", jobhost.NewTrigger("t", "every 1h"))
		own.Data, layer.Triggers[0].Data = deep, deep
		is(s, "definitions", codes(s.Schedule(s.Context(), []jobhost.JobDef{own, layer})), []jobhost.Code{jobhost.InvalidDefinition, jobhost.InvalidDefinition})
		is(s, "a start", codes(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j", Data: deep}})), []jobhost.Code{jobhost.InvalidDefinition})
		is(s, "a request", codes(s.Enqueue(s.Context(), []jobhost.EnqueueRequest{{Job: "j", Data: deep}})), []jobhost.Code{jobhost.InvalidDefinition})
		is(s, "the deepest", codes(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j", Data: nested(jobhost.MaxDataDepth)}})), []jobhost.Code{""})
		is(s, "its data", string(s.only("j").Data), string(nested(jobhost.MaxDataDepth)))
	}},
	{name: "S-84 of many callers of an exclusive job one is served", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.takes("j", time.Minute)
		const callers = 32
		answers := make(chan jobhost.Code, callers)
		for range callers {
			s.aside.Go(func() { answers <- codes(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j"}}))[0] })
		}
		n := map[jobhost.Code]int{}
		for range callers {
			n[<-answers]++
		}
		is(s, "answers", n, map[jobhost.Code]int{"": 1, jobhost.JobRunning: callers - 1})
		s.only("j")
	}},
	{name: "S-157 a run outlives its caller's wait", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.takes("j", time.Minute)
		ctx, leave := context.WithTimeout(s.Context(), time.Second)
		defer leave()
		if _, err := jobhost.One(s.Trigger(ctx, []jobhost.TriggerRequest{{Job: "j"}})); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("the answer is %v, want the context's error", err)
		}
		is(s, "waited", time.Since(s.began), time.Second)
		s.until(2 * time.Minute)
		is(s, "state", s.only("j").State, jobhost.RunSucceeded)
	}},
	{name: "S-146 the caller gets the first run, and its retries are found by it", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 2, Delay: time.Minute}
		s.define(d)
		s.fails("j")
		first, err := jobhost.One(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j", Data: json.RawMessage(`{"by":"me"}`)}}))
		is(s, "error", err, nil)
		is(s, "attempt", first.Attempt, 1)
		s.until(time.Hour)
		for i, r := range s.runs(jobhost.RunQuery{RetryOf: first.ID}) {
			r = s.record(r.ID)
			is(s, "retry", []any{r.Kind, r.Attempt, r.Trigger, string(r.Data), r.ScheduledAt}, []any{jobhost.KindRetry, 3 - i, "", `{"by":"me"}`, s.at(time.Duration(2-i) * time.Minute)})
		}
		is(s, "runs", len(s.runs(jobhost.RunQuery{})), 3)
	}},
	{name: "S-173 no run is taken before the start, while stopping, or after", early: true, test: func(s *service) {
		ask := func() []jobhost.Code {
			return codes(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: "j"}, {Job: "none"}}))
		}
		refused := []jobhost.Code{jobhost.NotServing, jobhost.NotServing}
		is(s, "before", ask(), refused)
		s.serve()
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("long", "p"))
		s.takes("long", 10*time.Second)
		long := s.begin("long")
		s.aside.Go(s.stop)
		s.until(5 * time.Second)
		is(s, "while stopping", ask(), refused)
		is(s, "S-174 the run in progress", (<-long).Value.State, jobhost.RunSucceeded)
		s.stop()
		is(s, "after", ask(), refused)
	}},
	{name: "S-144 S-174 the stop of the host ends what takes too long, for its caller too", test: func(s *service) {
		d := jobhost.NewJob("endless", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 5, Delay: time.Second}
		s.define(d)
		s.takes("endless", 99*time.Hour)
		end := s.begin("endless")
		s.stop()
		r := (<-end).Value
		is(s, "the answer", []any{r.State, r.ErrorCode}, []any{jobhost.RunCanceled, jobhost.Canceled})
		is(s, "the record", s.only("endless"), r)
	}},
	{name: "S-191 an enqueued run is Pending, and starts under the id that was promised", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Data = json.RawMessage(`{"a":1}`)
		s.define(d)
		id := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour), Data: json.RawMessage(`{"b":2}`)})
		s.until(time.Hour - time.Second)
		p := s.record(id)
		is(s, "before", []any{p.ID, p.Job, p.State, p.Kind, p.Trigger, p.Attempt, p.ScheduledAt}, []any{id, "j", jobhost.RunPending, jobhost.KindManual, "", 1, s.at(time.Hour)})
		s.until(time.Hour)
		r := s.record(id)
		is(s, "after", r, jobhost.Run{
			ID: id, Job: "j", Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: s.at(time.Hour), Priority: 5, State: jobhost.RunSucceeded, Node: s.node(),
			Data: json.RawMessage(`{"a":1,"b":2}`), StartedAt: s.at(time.Hour), EndedAt: s.at(time.Hour),
		})
	}},
	{name: "S-191 enqueued runs are listed by their state until they start", test: func(s *service) {
		local := jobhost.NewJob("local", "p")
		local.RunOnEveryInstance = true
		s.define(jobhost.NewJob("a", "p"), jobhost.NewJob("b", "p"), local)
		for _, name := range []jobhost.Name{"a", "b", "local"} {
			s.enqueue(jobhost.EnqueueRequest{Job: name, At: s.at(time.Hour)})
		}
		s.run("a")
		count := func(q jobhost.RunQuery) int {
			s.Helper()
			n, err := s.CountRuns(s.Context(), q)
			is(s, "error", err, nil)
			is(s, "listed", len(s.runs(q)), n)
			return n
		}
		pending := []jobhost.RunState{jobhost.RunPending}
		is(s, "pending", count(jobhost.RunQuery{States: pending}), 3)
		is(s, "pending of a", count(jobhost.RunQuery{Job: "a", States: pending}), 1)
		is(s, "pending of the local job", count(jobhost.RunQuery{Job: "local", States: pending}), 1)
		is(s, "the history of a", count(jobhost.RunQuery{Job: "a"}), 1)
		is(s, "a page", len(s.runs(jobhost.RunQuery{States: pending, Skip: 1, Limit: 1})), 1)
		for _, r := range s.runs(jobhost.RunQuery{States: pending}) {
			is(s, "start of one that has none", r.StartedAt, time.Time{})
		}
		s.until(2 * time.Hour)
		is(s, "pending after the start", count(jobhost.RunQuery{States: pending}), 0)
		is(s, "the history", count(jobhost.RunQuery{}), 4)
	}},
	{name: "S-183 enqueuing is answered item by item", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		got := s.Enqueue(s.Context(), []jobhost.EnqueueRequest{
			{Job: "j"}, {Job: "none"}, {Job: "j", Data: json.RawMessage(`"text"`)}, {Job: "j", IdempotencyKey: strings.Repeat("k", 256)}, {Job: "j", IdempotencyKey: strings.Repeat("k", 255)},
		})
		is(s, "codes", codes(got), []jobhost.Code{"", jobhost.NotFoundJob, jobhost.InvalidDefinition, jobhost.InvalidDefinition, ""})
		synctest.Wait()
		is(s, "runs", len(s.runs(jobhost.RunQuery{})), 2)
	}},
	{name: "S-191 an idempotency key stands for one run of its job, for 24 hours", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("k", "p"))
		again := jobhost.EnqueueRequest{Job: "j", IdempotencyKey: "order 7"}
		other := jobhost.EnqueueRequest{Job: "k", IdempotencyKey: "order 7"}
		first := s.Enqueue(s.Context(), []jobhost.EnqueueRequest{again, again, other, {Job: "j"}})
		is(s, "codes", codes(first), make([]jobhost.Code, 4))
		ids := map[jobhost.RunID]bool{}
		for _, r := range first {
			ids[r.Value] = true
		}
		is(s, "the second", first[1].Value, first[0].Value)
		is(s, "different runs", len(ids), 3)
		s.until(24*time.Hour - time.Second)
		is(s, "within a day", s.enqueue(again), first[0].Value)
		s.until(24*time.Hour + time.Second)
		if id := s.enqueue(again); id == first[0].Value {
			s.Error("after a day the key still stands for the first run")
		}
		synctest.Wait()
		is(s, "runs", len(s.runs(jobhost.RunQuery{})), 4)
	}},
	{name: "enqueued runs of an exclusive job wait for each other, larger priority first", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.takes("j", time.Minute)
		s.begin("j")
		low, high := int32(-1), int32(9)
		ids := []jobhost.RunID{
			s.enqueue(jobhost.EnqueueRequest{Job: "j", Priority: &low}), s.enqueue(jobhost.EnqueueRequest{Job: "j"}), s.enqueue(jobhost.EnqueueRequest{Job: "j", Priority: &high}),
		}
		s.until(time.Second)
		is(s, "while it runs", s.only("j").State, jobhost.RunRunning)
		s.until(time.Hour)
		var order []string
		for _, r := range slices.Backward(s.runs(jobhost.RunQuery{IDs: ids})) {
			order = append(order, fmt.Sprintf("%d at %v", r.Priority, r.StartedAt.Sub(s.began)))
		}
		is(s, "order", order, []string{"9 at 1m0s", "5 at 2m0s", "-1 at 3m0s"})
	}},
	{name: "a job of every instance runs on the one that is asked", test: func(s *service) {
		d := jobhost.NewJob("j", "p", jobhost.NewTrigger("t", "every 1h"))
		d.RunOnEveryInstance = true
		s.define(d)
		is(s, "local", s.status("j").Local, true)
		id := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Minute)})
		is(s, "triggered", s.run("j").Node, s.node())
		s.until(90 * time.Minute)
		rs := s.runs(jobhost.RunQuery{Job: "j"})
		is(s, "runs", len(rs), 3)
		is(s, "the enqueued one", rs[1].ID, id)
		is(s, "next run", s.status("j").NextRun, s.at(2*time.Hour))
	}},
}
