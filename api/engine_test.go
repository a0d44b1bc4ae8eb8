package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// plugin is a runner with one plugin, p, whose runs do what their data says: log, sleep, fail, answer.
type plugin struct{}

type orders struct {
	Say, Out, Fail string
	Sleep          int // seconds
}

func (plugin) Run(ctx context.Context, call jobhost.Call) jobhost.Outcome {
	var do orders
	if err := json.Unmarshal(call.Run.Data, &do); err != nil && len(call.Run.Data) > 0 {
		return jobhost.Outcome{Code: jobhost.Unexpected, Message: err.Error()}
	}
	if do.Say != "" {
		call.Sink.Log(0, do.Say)
	}
	select {
	case <-time.After(time.Duration(do.Sleep) * time.Second):
	case <-call.Stop:
		return jobhost.Outcome{Code: jobhost.Canceled, Message: "asked to stop"}
	case <-ctx.Done():
		return jobhost.Outcome{Code: jobhost.CodeOf(context.Cause(ctx)), Message: "ended"}
	}
	if do.Fail != "" {
		return jobhost.Outcome{Code: jobhost.Code(do.Fail), Message: "as told"}
	}
	return jobhost.Outcome{Output: []byte(do.Out)}
}

func (plugin) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "p", Kind: "command", Ready: true}}, nil
}

// through tells a story to a client, a handler, an engine and a store, without a socket, in a bubble.
func through(t *testing.T, name string, story func(t *testing.T, c *api.Client, e *engine.Engine)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { tell(t, story) }) })
}

func tell(t *testing.T, story func(t *testing.T, c *api.Client, e *engine.Engine)) {
	t.Helper()
	store := memstore.New(memstore.Config{})
	defer store.Close()
	e, err := engine.New(store, plugin{}, engine.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	synctest.Wait()
	l := &loop{h: api.NewHandler(e, api.Defaults())}
	story(t, api.NewClient("http://jobhost", l), e)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	l.busy.Wait()
}

func data(t *testing.T, do orders) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func define(t *testing.T, c *api.Client, defs ...jobhost.JobDef) {
	t.Helper()
	for _, r := range c.Schedule(t.Context(), defs) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func TestTheClientIsAsGoodAsTheEngine(t *testing.T) {
	through(t, "every read", func(t *testing.T, c *api.Client, e *engine.Engine) {
		t.Helper()
		a := jobhost.NewJob("a", "p", jobhost.NewTrigger("minutely", "cron 0 * * * * *"), jobhost.NewTrigger("hourly", "every 01:00:00"))
		a.Data = data(t, orders{Say: "hello", Out: `{"n":1}`})
		b := jobhost.NewJob("b", "p")
		b.Data = data(t, orders{Fail: "MINE"})
		define(t, c, a, b)
		time.Sleep(3*time.Minute + time.Second)

		ctx := t.Context()
		for name, both := range map[string][2]any{
			"Status":          {c.Status(ctx, nil), e.Status(ctx, nil)},
			"Status of two":   {c.Status(ctx, []jobhost.Name{"b", "a"}), e.Status(ctx, []jobhost.Name{"b", "a"})},
			"Runs":            both(c.Runs(ctx, jobhost.RunQuery{}))(e.Runs(ctx, jobhost.RunQuery{})),
			"Runs of a state": both(c.Runs(ctx, jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunFailed}}))(e.Runs(ctx, jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunFailed}})),
			"CountRuns":       both(c.CountRuns(ctx, jobhost.RunQuery{Job: "a"}))(e.CountRuns(ctx, jobhost.RunQuery{Job: "a"})),
			"Plugins":         both(c.Plugins(ctx))(e.Plugins(ctx)),
			"Nodes":           both(c.Nodes(ctx))(e.Nodes(ctx)),
			"Explain":         both(c.Explain(ctx, "a"))(e.Explain(ctx, "a")),
			"Next":            both(c.Next(ctx, jobhost.NextQuery{Job: "a", Count: 3}))(e.Next(ctx, jobhost.NextQuery{Job: "a", Count: 3})),
			"Next of a text":  both(c.Next(ctx, jobhost.NextQuery{Schedule: "cron 0 0 9 * * MON"}))(e.Next(ctx, jobhost.NextQuery{Schedule: "cron 0 0 9 * * MON"})),
		} {
			if diff := cmp.Diff(both[1], both[0], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s through the client (-engine +client):\n%s", name, diff)
			}
		}
		runs, err := c.Runs(ctx, jobhost.RunQuery{Job: "a"})
		if err != nil || len(runs) != 3 {
			t.Fatalf("%d runs, %v; want 3", len(runs), err)
		}
		out, err := c.Output(ctx, runs[0].ID)
		if err != nil || string(out) != `{"n":1}` {
			t.Errorf("output %q, %v", out, err)
		}
		for entry, err := range c.Log(ctx, runs[0].ID, jobhost.LogQuery{}) {
			if err != nil || entry.Msg != "hello" {
				t.Errorf("log entry %v, %v", entry, err)
			}
		}
	})
}

// both pairs two answers with an error each.
func both[T any](got T, err error) func(T, error) [2]any {
	return func(want T, wantErr error) [2]any {
		return [2]any{[2]any{got, fmt.Sprint(err)}, [2]any{want, fmt.Sprint(wantErr)}}
	}
}

func TestErrorsOfTheEngineComeThrough(t *testing.T) {
	through(t, "each error", func(t *testing.T, c *api.Client, e *engine.Engine) {
		t.Helper()
		define(t, c, jobhost.NewJob("a", "p", jobhost.NewTrigger("t", "every 01:00:00")))
		gone := jobhost.NewRunID(t0, [10]byte{9})
		for name, f := range map[string]func(s jobhost.Scheduler) error{
			"status of a job that is not there": func(s jobhost.Scheduler) error { return s.Status(t.Context(), []jobhost.Name{"x"})[0].Err },
			"delete it":                         func(s jobhost.Scheduler) error { return s.Delete(t.Context(), []jobhost.Name{"x"})[0].Err },
			"restore it":                        func(s jobhost.Scheduler) error { return s.Restore(t.Context(), []jobhost.Name{"x"})[0].Err },
			"restore one that is in no file":    func(s jobhost.Scheduler) error { return s.Restore(t.Context(), []jobhost.Name{"a"})[0].Err },
			"explain it":                        func(s jobhost.Scheduler) error { _, err := s.Explain(t.Context(), "x"); return err },
			"drain a node that is not there":    func(s jobhost.Scheduler) error { return s.Drain(t.Context(), "x") },
			"pause an unknown job":              func(s jobhost.Scheduler) error { return s.Pause(t.Context(), []jobhost.Target{{Job: "x"}})[0].Err },
			"pause an unknown trigger": func(s jobhost.Scheduler) error {
				return s.Pause(t.Context(), []jobhost.Target{{Job: "a", Trigger: "x"}})[0].Err
			},
			"trigger it": func(s jobhost.Scheduler) error {
				return s.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "x"}})[0].Err
			},
			"enqueue it": func(s jobhost.Scheduler) error {
				return s.Enqueue(t.Context(), []jobhost.EnqueueRequest{{Job: "x"}})[0].Err
			},
			"cancel an unknown run": func(s jobhost.Scheduler) error { return s.CancelRuns(t.Context(), []jobhost.RunID{gone})[0].Err },
			"an unknown plugin": func(s jobhost.Scheduler) error {
				return s.Schedule(t.Context(), []jobhost.JobDef{jobhost.NewJob("z", "q")})[0].Err
			},
			"a limit of 1001": func(s jobhost.Scheduler) error {
				_, err := s.Runs(t.Context(), jobhost.RunQuery{Limit: 1001})
				return err
			},
			"a limit of -1": func(s jobhost.Scheduler) error {
				_, err := s.Runs(t.Context(), jobhost.RunQuery{Limit: -1})
				return err
			},
			"a skip of -1": func(s jobhost.Scheduler) error { _, err := s.Runs(t.Context(), jobhost.RunQuery{Skip: -1}); return err },
			"next of an unknown job": func(s jobhost.Scheduler) error {
				_, err := s.Next(t.Context(), jobhost.NextQuery{Job: "x"})
				return err
			},
			"next of an unknown trigger": func(s jobhost.Scheduler) error {
				_, err := s.Next(t.Context(), jobhost.NextQuery{Job: "a", Trigger: "x"})
				return err
			},
			"next of nonsense": func(s jobhost.Scheduler) error {
				_, err := s.Next(t.Context(), jobhost.NextQuery{Schedule: "never"})
				return err
			},
			"output of an unknown run": func(s jobhost.Scheduler) error { _, err := s.Output(t.Context(), gone); return err },
			"log of an unknown run": func(s jobhost.Scheduler) error {
				for _, err := range s.Log(t.Context(), gone, jobhost.LogQuery{Follow: true}) {
					return err
				}
				return nil
			},
		} {
			want, got := f(e), f(c)
			if want == nil || got == nil || want.Error() != got.Error() || jobhost.CodeOf(want) != jobhost.CodeOf(got) {
				t.Errorf("%s: got %v; the engine says %v", name, got, want)
			}
		}
	})
}
