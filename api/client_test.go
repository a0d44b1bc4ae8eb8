package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

var (
	t0  = time.Date(2026, 1, 5, 0, 0, 0, 123456000, time.UTC)
	id1 = jobhost.NewRunID(t0, [10]byte{1})
	id2 = jobhost.NewRunID(t0, [10]byte{2})
)

var aRun = jobhost.Run{
	ID: id1, Job: "a", Trigger: "t", Kind: jobhost.KindRetry, Attempt: 2, RetryOf: id2, RecoveryOf: id2, ScheduledAt: t0, Priority: -3,
	Data: json.RawMessage(`{"a":1}`), State: jobhost.RunFailed, Node: "n", StartedAt: t0, EndedAt: t0.Add(time.Second),
	ErrorCode: "MINE", ErrorMessage: "no <luck> & more", Digest: "d", Fuel: 1 << 60, PeakMemory: 1 << 40,
}

func ok[T any](vs ...T) []jobhost.Result[T] {
	rs := make([]jobhost.Result[T], len(vs))
	for i, v := range vs {
		rs[i].Value = v
	}
	return rs
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEveryListMethodRoundTrips(t *testing.T) {
	ctx := t.Context()
	bad := &jobhost.Error{
		Code: jobhost.JobRunning, Op: "engine.trigger", Msg: `job "b" is running`, Hint: "wait for it", Params: map[string]any{"run": string(id2)},
	}
	mixed := []jobhost.Result[struct{}]{{}, {Err: bad}, {}}

	t.Run("Schedule", func(t *testing.T) {
		def := jobhost.NewJob("a", "p", jobhost.NewTrigger("t", "every 00:01:00"))
		def.Timeout = time.Minute
		want := []jobhost.Result[jobhost.JobInfo]{{Value: jobhost.JobInfo{Name: "a", Source: jobhost.SourceOverridden, Warnings: []string{"w"}}}, {Err: bad}}
		got := dial(t, fake{schedule: func(defs []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
			same(t, "definitions", defs, []jobhost.JobDef{def, def})
			return want
		}}).Schedule(ctx, []jobhost.JobDef{def, def})
		same(t, "answers", got, want)
	})
	t.Run("Restore", func(t *testing.T) {
		names := []jobhost.Name{"a", "/"}
		want := []jobhost.Result[jobhost.JobInfo]{{Value: jobhost.JobInfo{Name: "a", Source: jobhost.SourceFile}}, {Err: bad}}
		got := dial(t, fake{restore: func(in []jobhost.Name) []jobhost.Result[jobhost.JobInfo] { same(t, "names", in, names); return want }}).Restore(ctx, names)
		same(t, "answers", got, want)
	})
	t.Run("Delete", func(t *testing.T) {
		names := []jobhost.Name{"a", "b", "../c"}
		got := dial(t, fake{delete: func(in []jobhost.Name) []jobhost.Result[struct{}] { same(t, "names", in, names); return mixed }}).Delete(ctx, names)
		same(t, "answers", got, mixed)
	})
	t.Run("Pause and Resume", func(t *testing.T) {
		targets := []jobhost.Target{{Job: "a"}, {Job: "b", Trigger: "t", Reason: "it hurts"}, {Job: "c", SkipMissed: true}}
		answer := func(in []jobhost.Target) []jobhost.Result[struct{}] { same(t, "targets", in, targets); return mixed }
		same(t, "pause", dial(t, fake{pause: answer}).Pause(ctx, targets), mixed)
		same(t, "resume", dial(t, fake{resume: answer}).Resume(ctx, targets), mixed)
	})
	t.Run("Trigger", func(t *testing.T) {
		reqs := []jobhost.TriggerRequest{{Job: "a", Data: json.RawMessage(`{"x":[1,null]}`)}, {Job: "b"}}
		want := []jobhost.Result[jobhost.Run]{{Value: aRun}, {Err: bad}}
		got := dial(t, fake{trigger: func(_ context.Context, in []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			same(t, "requests", in, reqs)
			return want
		}}).Trigger(ctx, reqs)
		same(t, "answers", got, want)
	})
	t.Run("Enqueue", func(t *testing.T) {
		low := int32(-9)
		reqs := []jobhost.EnqueueRequest{{Job: "a", Data: json.RawMessage(`{}`), At: t0, Priority: &low, IdempotencyKey: "k"}, {Job: "b"}}
		want := []jobhost.Result[jobhost.RunID]{{Value: id1}, {Err: bad}}
		got := dial(t, fake{enqueue: func(in []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
			same(t, "requests", in, reqs)
			return want
		}}).Enqueue(ctx, reqs)
		same(t, "answers", got, want)
	})
	t.Run("CancelRuns", func(t *testing.T) {
		ids := []jobhost.RunID{id1, id2, "nonsense"}
		got := dial(t, fake{cancel: func(in []jobhost.RunID) []jobhost.Result[struct{}] { same(t, "ids", in, ids); return mixed }}).CancelRuns(ctx, ids)
		same(t, "answers", got, mixed)
	})
	t.Run("Status of some", func(t *testing.T) {
		want := []jobhost.Result[jobhost.JobStatus]{{Value: aStatus("a")}, {Err: bad}}
		got := dial(t, fake{status: func(in []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
			same(t, "names", in, []jobhost.Name{"a", "/"})
			return want
		}}).Status(ctx, []jobhost.Name{"a", "/"})
		same(t, "answers", got, want)
	})
}

func aStatus(name jobhost.Name) jobhost.JobStatus {
	return jobhost.JobStatus{
		Name: name, Plugin: "p", Source: jobhost.SourceFile, Description: "d", Paused: true, PauseReason: "r", IsRunning: true, NextRun: t0, Last: &aRun,
		Triggers: []jobhost.TriggerStatus{{
			Name: "t", Schedule: "every 00:01:00", State: "Paused", NextFireAt: t0, LastFiredAt: t0, FiredCount: 3, Priority: 5,
			Misfire: jobhost.MisfireRunAll, Refused: &jobhost.Refusals{Skipped: 1, Blocked: 2, Deadline: 3, Last: "l", At: t0}, Why: "w",
		}},
	}
}

func TestEveryReadRoundTrips(t *testing.T) {
	ctx := t.Context()
	full := jobhost.RunQuery{
		IDs: []jobhost.RunID{id1, id2}, Prefix: "019b8b74", Job: "a", Trigger: "t", States: []jobhost.RunState{jobhost.RunFailed, jobhost.RunLost},
		Kinds: []jobhost.RunKind{jobhost.KindManual, jobhost.KindRetry}, Node: "n:1:x y&z", From: t0, To: t0.Add(time.Hour), RetryOf: id1, Skip: 7, Limit: 9,
	}
	for name, q := range map[string]jobhost.RunQuery{"full": full, "empty": {}, "out of range": {Skip: -1, Limit: -1}} {
		t.Run("Runs and CountRuns with a query that is "+name, func(t *testing.T) {
			c := dial(t, fake{
				runs: func(in jobhost.RunQuery) ([]jobhost.Run, error) {
					same(t, "query", in, q)
					return []jobhost.Run{aRun}, nil
				},
				count: func(in jobhost.RunQuery) (int, error) {
					in.Skip, in.Limit = q.Skip, q.Limit // a count has no page
					same(t, "query", in, q)
					return 42, nil
				},
			})
			runs, err := c.Runs(ctx, q)
			same(t, "error", err, nil)
			same(t, "runs", runs, []jobhost.Run{aRun})
			n, err := c.CountRuns(ctx, q)
			same(t, "error", err, nil)
			same(t, "count", n, 42)
		})
	}
	t.Run("Run", func(t *testing.T) {
		c := dial(t, fake{run: func(id jobhost.RunID) (jobhost.Run, error) {
			same(t, "id", id, id1)
			return aRun, nil
		}})
		run, err := c.Run(ctx, id1)
		same(t, "error", err, nil)
		same(t, "run", run, aRun)
		_, err = c.Run(ctx, id1[:12])
		same(t, "code of a part of an id", jobhost.CodeOf(err), jobhost.NotFoundRun)
	})
	t.Run("Plugins", func(t *testing.T) {
		want := []jobhost.Plugin{{Key: "p", File: "p.wasm", Digest: "d", Kind: "command", Ready: true}, {Key: "q", Problem: "broken"}}
		got, err := dial(t, fake{plugins: func() ([]jobhost.Plugin, error) { return want, nil }}).Plugins(ctx)
		same(t, "error", err, nil)
		same(t, "plugins", got, want)
	})
	t.Run("Next", func(t *testing.T) {
		want := []jobhost.Slot{{Trigger: "t", At: t0}, {At: t0, Skipped: "weekend"}}
		for _, q := range []jobhost.NextQuery{
			{Job: "a"},
			{Job: "a", Trigger: "t", From: t0, Count: 3},
			{Schedule: `cron 0 0 9 * * MON-FRI tz="China Standard Time"`, From: t0, Count: -1},
		} {
			got, err := dial(t, fake{next: func(in jobhost.NextQuery) ([]jobhost.Slot, error) { same(t, "query", in, q); return want, nil }}).Next(ctx, q)
			same(t, "error", err, nil)
			same(t, "slots", got, want)
		}
	})
	t.Run("Output", func(t *testing.T) {
		for _, want := range []string{"", `{"a": 1}`, "text\n", "\xff\x00"} {
			got, err := dial(t, fake{output: func(id jobhost.RunID) ([]byte, error) { same(t, "id", id, id1); return []byte(want), nil }}).Output(ctx, id1)
			same(t, "error", err, nil)
			same(t, "output", string(got), want)
		}
	})
	t.Run("Explain", func(t *testing.T) {
		want := jobhost.Explanation{Job: "a", Answer: "in one sentence", Triggers: []jobhost.TriggerExplanation{
			{Trigger: "t", State: "Blocked", Due: t0, Answer: "a run is in progress", Refused: &jobhost.Refusals{Blocked: 2, Last: "l", At: t0}},
			{Trigger: "u", State: "Complete", Answer: "it has no next due"},
		}}
		got, err := dial(t, fake{explain: func(n jobhost.Name) (jobhost.Explanation, error) { same(t, "name", n, "a"); return want, nil }}).Explain(ctx, "a")
		same(t, "error", err, nil)
		same(t, "explanation", got, want)
	})
	t.Run("Nodes and Drain", func(t *testing.T) {
		want := []jobhost.Node{{ID: "n:1:x", Host: "n", Version: "dev", Started: t0, Beat: t0, FileJobs: []jobhost.Name{"a", "b"}}, {ID: "m"}}
		c := dial(t, fake{
			nodes: func() ([]jobhost.Node, error) { return want, nil },
			drain: func(id string) error { same(t, "node", id, "n:1:x y/z%2F?#"); return nil },
		})
		got, err := c.Nodes(ctx)
		same(t, "error", err, nil)
		same(t, "nodes", got, want)
		same(t, "drain", c.Drain(ctx, "n:1:x y/z%2F?#"), nil)
	})
	t.Run("a malformed id is a run that is not there", func(t *testing.T) {
		c := dial(t, fake{})
		_, err := c.Output(ctx, "../jobs")
		same(t, "code", jobhost.CodeOf(err), jobhost.NotFoundRun)
		for _, err := range c.Log(ctx, "", jobhost.LogQuery{}) {
			same(t, "code", jobhost.CodeOf(err), jobhost.NotFoundRun)
		}
		_, err = c.Next(ctx, jobhost.NextQuery{Job: ".."})
		same(t, "code", jobhost.CodeOf(err), jobhost.NotFoundJob)
		_, err = c.Explain(ctx, "a/b")
		same(t, "code", jobhost.CodeOf(err), jobhost.NotFoundJob)
		for _, id := range []string{"", ".", ".."} {
			same(t, "code", jobhost.CodeOf(c.Drain(ctx, id)), jobhost.NotFoundNode)
		}
	})
}

func TestAllJobsAreReadInPages(t *testing.T) {
	var all []jobhost.Result[jobhost.JobStatus]
	for i := range 2*api.MaxPage + 5 {
		all = append(all, jobhost.Result[jobhost.JobStatus]{Value: jobhost.JobStatus{Name: fmt.Sprintf("job%05d", i), Source: jobhost.SourceFile, Triggers: []jobhost.TriggerStatus{}}})
	}
	calls := 0
	c := dial(t, fake{status: func(names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
		calls++
		same(t, "names", len(names), 0)
		return all
	}})
	same(t, "jobs", c.Status(t.Context(), nil), all)
	same(t, "calls", calls, 3)
	all = all[:api.MaxPage]
	same(t, "a page that is just full", c.Status(t.Context(), nil), all)
}

// namer is a scheduler that can name its jobs.
type namer struct {
	fake

	names []jobhost.Name
}

func (n namer) JobNames(_ context.Context, after jobhost.Name, limit int) (names []jobhost.Name, err error) {
	for _, name := range n.names {
		if name > after && len(names) < limit {
			names = append(names, name)
		}
	}
	return names, nil
}

func TestAPageDescribesItsJobsOnly(t *testing.T) {
	var asked []jobhost.Name
	n := namer{names: []jobhost.Name{"a", "b", "c", "d"}, fake: fake{status: func(names []jobhost.Name) (rs []jobhost.Result[jobhost.JobStatus]) {
		asked = append(asked, names...)
		for _, name := range names {
			r := jobhost.Result[jobhost.JobStatus]{Value: jobhost.JobStatus{Name: name}}
			if name == "c" {
				r.Err = &jobhost.Error{Code: jobhost.NotFoundJob, Msg: "it was deleted just now"}
			}
			rs = append(rs, r)
		}
		return rs
	}}}
	_, body := call(t, handler(n), "GET", "/v1/jobs?after=a&limit=2", "")
	same(t, "jobs that were described", asked, []jobhost.Name{"b", "c", "d"})
	if !strings.HasPrefix(body, `[{"name":"b"`) || !strings.Contains(body, `{"name":"d"`) || strings.Count(body, `"name"`) != 2 {
		t.Errorf("got %s", body)
	}
	if _, body := call(t, handler(n), "GET", "/v1/jobs?after=d", ""); body != "[]\n" {
		t.Errorf("after the last: %s", body)
	}
}

func TestErrorsOfEveryCodeComeBackAsTheyWere(t *testing.T) {
	for _, code := range []jobhost.Code{
		jobhost.NotFoundJob, jobhost.NotFoundPlugin, jobhost.NotFoundTrigger, jobhost.NotFoundRun, jobhost.NotFoundDefinition, jobhost.NotFoundNode, jobhost.InvalidDefinition, jobhost.InvalidPage,
		jobhost.JobRunning, jobhost.LeaseHeld, jobhost.Canceled, jobhost.NotServing, jobhost.LeaseUnreachable, jobhost.StoreUnreachable,
		jobhost.StoreFull, jobhost.TimedOut, jobhost.Unexpected,
	} {
		t.Run(string(code), func(t *testing.T) {
			want := &jobhost.Error{Code: code, Op: "engine.op", Msg: `thing "x" is <bad>`, Hint: "mend it", Params: map[string]any{"job": "x"}}
			wrapped := fmt.Errorf("somewhere: %w", want)
			c := dial(t, fake{
				delete: func([]jobhost.Name) []jobhost.Result[struct{}] { return []jobhost.Result[struct{}]{{Err: wrapped}} },
				runs:   func(jobhost.RunQuery) ([]jobhost.Run, error) { return nil, want },
				run:    func(jobhost.RunID) (jobhost.Run, error) { return jobhost.Run{}, wrapped },
				status: func([]jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
					return []jobhost.Result[jobhost.JobStatus]{{Err: want}}
				},
				log: func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
					return func(yield func(jobhost.LogEntry, error) bool) { yield(jobhost.LogEntry{}, want) }
				},
				events: func(context.Context) iter.Seq2[jobhost.Event, error] {
					return func(yield func(jobhost.Event, error) bool) { yield(jobhost.Event{}, want) }
				},
				explain: func(jobhost.Name) (jobhost.Explanation, error) { return jobhost.Explanation{}, wrapped },
				drain:   func(string) error { return wrapped },
			})
			_, err := jobhost.One(c.Delete(t.Context(), []jobhost.Name{"x"}))
			sameError(t, err, want)
			_, err = c.Runs(t.Context(), jobhost.RunQuery{})
			sameError(t, err, want)
			_, err = c.Run(t.Context(), id1)
			sameError(t, err, want)
			sameError(t, c.Status(t.Context(), nil)[0].Err, want)
			_, err = c.Explain(t.Context(), "x")
			sameError(t, err, want)
			sameError(t, c.Drain(t.Context(), "n"), want)
			for _, err := range c.Events(t.Context()) {
				sameError(t, err, want)
			}
			for _, follow := range []bool{false, true} {
				n := 0
				for _, err := range c.Log(t.Context(), id1, jobhost.LogQuery{Follow: follow}) {
					sameError(t, err, want)
					n++
				}
				same(t, "errors of a log", n, 1)
			}
		})
	}
}

func sameError(t *testing.T, got error, want *jobhost.Error) {
	t.Helper()
	e, ok := errors.AsType[*jobhost.Error](got)
	if !ok {
		t.Fatalf("got %v; want a *jobhost.Error", got)
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestEachOfSeveralProblemsComesBack(t *testing.T) {
	def := jobhost.NewJob("A", "p", jobhost.NewTrigger("retry-x", "every 00:01:00"))
	want := def.Check()
	c := dial(t, fake{schedule: func([]jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
		return []jobhost.Result[jobhost.JobInfo]{{Err: want}}
	}})
	_, err := jobhost.One(c.Schedule(t.Context(), []jobhost.JobDef{def}))
	if got := err.Error(); got != want.Error() || strings.Count(got, "\n") != 1 {
		t.Errorf("got:\n%v\nwant:\n%v", err, want)
	}
	same(t, "code", jobhost.CodeOf(err), jobhost.InvalidDefinition)
}

func TestDataThatIsNoJSONFailsItsItemAlone(t *testing.T) {
	broken := json.RawMessage(`{"a":`)
	c := dial(t, fake{
		trigger: func(_ context.Context, in []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			same(t, "requests that arrive", len(in), 1)
			return ok(aRun)
		},
		enqueue: func(in []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
			return ok(make([]jobhost.RunID, len(in))...)
		},
		schedule: func(in []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
			return ok(make([]jobhost.JobInfo, len(in))...)
		},
	})
	triggered := c.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "a", Data: broken}, {Job: "b"}})
	same(t, "code", jobhost.CodeOf(triggered[0].Err), jobhost.InvalidDefinition)
	same(t, "the good one", triggered[1], ok(aRun)[0])
	enqueued := c.Enqueue(t.Context(), []jobhost.EnqueueRequest{{Job: "a", Data: broken}})
	same(t, "code", jobhost.CodeOf(enqueued[0].Err), jobhost.InvalidDefinition)
	def := jobhost.NewJob("a", "p", jobhost.TriggerDef{Name: "t", Schedule: "every 00:01:00", Data: broken})
	defined := c.Schedule(t.Context(), []jobhost.JobDef{def})
	same(t, "code", jobhost.CodeOf(defined[0].Err), jobhost.InvalidDefinition)
}

func TestTheEndOfTheCallersContextEndsTheWaitingOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		saw := make(chan error, 1)
		c := dial(t, fake{trigger: func(ctx context.Context, _ []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			<-ctx.Done()
			saw <- ctx.Err()
			return []jobhost.Result[jobhost.Run]{{Err: ctx.Err()}}
		}})
		for _, r := range c.Trigger(ctx, []jobhost.TriggerRequest{{Job: "a"}, {Job: "b"}}) {
			if r.Err != context.DeadlineExceeded { //nolint:errorlint // it must pass through as it is
				t.Errorf("got %v; want the context's own error", r.Err)
			}
		}
		if err := <-saw; err == nil {
			t.Error("the scheduler was not told that nobody waits any more")
		}
	})
}

func TestAFollowedLogComesLineByLineAndEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := dial(t, fake{log: func(ctx context.Context, id jobhost.RunID, q jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
			same(t, "id", id, id1)
			same(t, "query", q, jobhost.LogQuery{After: 4, Follow: true})
			return func(yield func(jobhost.LogEntry, error) bool) {
				for i := range 3 {
					time.Sleep(time.Hour)
					if !yield(jobhost.LogEntry{Seq: i + 5, Time: time.Now().UTC(), Level: -4, Msg: "line\n<b>"}, nil) {
						return
					}
				}
			}
		}})
		seq := 5
		for e, err := range c.Log(t.Context(), id1, jobhost.LogQuery{After: 4, Follow: true}) {
			same(t, "error", err, nil)
			same(t, "entry", e, jobhost.LogEntry{Seq: seq, Time: begin.Add(time.Duration(seq-4) * time.Hour).UTC(), Level: -4, Msg: "line\n<b>"})
			if got := time.Since(begin); got != time.Duration(seq-4)*time.Hour {
				t.Errorf("line %d arrived after %v", seq, got)
			}
			seq++
		}
		same(t, "next seq", seq, 8)
	})
}

func TestLeavingAFollowedLogEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		c := dial(t, fake{log: func(ctx context.Context, _ jobhost.RunID, _ jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
			return func(yield func(jobhost.LogEntry, error) bool) {
				defer close(ended)
				yield(jobhost.LogEntry{Seq: 1}, nil)
				<-ctx.Done()
			}
		}})
		for _, err := range c.Log(t.Context(), id1, jobhost.LogQuery{Follow: true}) {
			same(t, "error", err, nil)
			break
		}
		<-ended
	})
}

func TestALogThatBreaksTellsWhy(t *testing.T) {
	full := &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "engine.log", Msg: "store is gone"}
	log := func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			if yield(jobhost.LogEntry{Seq: 1}, nil) {
				yield(jobhost.LogEntry{}, full)
			}
		}
	}
	var got []string
	for e, err := range dial(t, fake{log: log}).Log(t.Context(), id1, jobhost.LogQuery{Follow: true}) {
		got = append(got, fmt.Sprint(e.Seq, " ", err))
	}
	same(t, "what came", got, []string{"1 <nil>", "0 " + full.Error()})
}

func TestALogWithoutFollowIsWhole(t *testing.T) {
	want := []jobhost.LogEntry{{Seq: 1, Time: t0, Level: 8, Msg: "a"}, {Seq: 3, Time: t0, Msg: strings.Repeat("x", 8<<10)}}
	c := dial(t, fake{log: func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			for _, e := range want {
				if !yield(e, nil) {
					return
				}
			}
		}
	}})
	for _, follow := range []bool{false, true} {
		var got []jobhost.LogEntry
		for e, err := range c.Log(t.Context(), id1, jobhost.LogQuery{Follow: follow}) {
			same(t, "error", err, nil)
			got = append(got, e)
		}
		same(t, "entries", got, want)
	}
}

func TestEventsAreFollowedFromTheCallOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		listens := false
		want := jobhost.Event{
			Topic: jobhost.TopicRunRetry, Time: t0, Job: "a", Trigger: "t", Run: id1, Kind: jobhost.KindRetry, Attempt: 2, RetryOf: id2, Node: "n<>", At: t0,
			StartedAt: t0, EndedAt: t0, ErrorCode: "MINE",
		}
		c := dial(t, fake{events: func(context.Context) iter.Seq2[jobhost.Event, error] {
			listens = true
			return func(yield func(jobhost.Event, error) bool) {
				for range 3 {
					time.Sleep(time.Hour)
					if !yield(want, nil) {
						return
					}
				}
			}
		}})
		events := c.Events(t.Context())
		same(t, "listens with the call", listens, true)
		n := 0
		for e, err := range events {
			n++
			same(t, "error", err, nil)
			same(t, "event", e, want)
			same(t, "arrived", time.Since(begin), time.Duration(n)*time.Hour)
		}
		same(t, "events", n, 3)
	})
}

func TestLeavingEventsEndsTheRequest(t *testing.T) {
	for name, leave := range map[string]func(iter.Seq2[jobhost.Event, error], context.CancelFunc){
		"by leaving the loop": func(events iter.Seq2[jobhost.Event, error], _ context.CancelFunc) {
			for range events { //nolint:errcheck // it is left at once
				break
			}
		},
		"by the context, without a loop": func(_ iter.Seq2[jobhost.Event, error], cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				c := dial(t, fake{events: func(ctx context.Context) iter.Seq2[jobhost.Event, error] {
					return func(yield func(jobhost.Event, error) bool) {
						defer close(ended)
						yield(jobhost.Event{Topic: jobhost.TopicJobDeleted}, nil)
						<-ctx.Done()
					}
				}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				leave(c.Events(ctx), cancel)
				<-ended
			})
		})
	}
}

func TestServersAreNamedInSeveralWays(t *testing.T) {
	for _, good := range []string{"/run/jobhost.sock", "jobhost.sock", "./a/b.sock", "unix:///run/jobhost.sock", "http://127.0.0.1:80", "https://h/"} {
		if _, err := api.Dial(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "tcp://x", "ftp://h", "http://", "http://h/path", "http://u:p@h", "http://h?x"} {
		if _, err := api.Dial(bad); jobhost.CodeOf(err) != jobhost.InvalidDefinition {
			t.Errorf("%s: got %v; want %s", bad, err, jobhost.InvalidDefinition)
		}
	}
}
