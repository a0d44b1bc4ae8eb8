package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/memstore"
)

// slack is how long after its limit a run may end (SPEC W1).
const slack = 250 * time.Millisecond

// world is a real host and a real engine in this process, with the guests of the tests loaded.
type world struct {
	*testing.T

	engine *engine.Engine
}

func newWorld(t *testing.T, change func(*engine.Config)) *world {
	t.Helper()
	s := sharedFiles(t)
	dir := t.TempDir()
	if err := s.plugins(filepath.Join(dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	if err := s.warm(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	hc := host.Defaults()
	hc.Dir, hc.Cache, hc.MaxMemory = filepath.Join(dir, "plugins"), filepath.Join(dir, "cache"), 16<<20
	h, err := host.New(t.Context(), hc)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := engine.Defaults()
	cfg.CancelGrace = 300 * time.Millisecond
	if change != nil {
		change(&cfg)
	}
	e, err := engine.New(memstore.New(memstore.Config{}), h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for e.State() == engine.Created { // Serve is about to begin
		time.Sleep(time.Millisecond)
	}
	return &world{t, e}
}

// define makes a job of the guest that does things in order.
func (w *world) define(name, plugin string, change func(*jobhost.JobDef), do ...string) {
	w.Helper()
	def := jobhost.NewJob(name, plugin)
	def.Data = w.orders(do, nil)
	if change != nil {
		change(&def)
	}
	if _, err := jobhost.One(w.engine.Schedule(w.Context(), []jobhost.JobDef{def})); err != nil {
		w.Fatal(err)
	}
}

func (w *world) orders(do, retry []string) json.RawMessage {
	w.Helper()
	if do == nil {
		do = []string{}
	}
	b, err := json.Marshal(map[string]any{"do": do, "retry": retry})
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *world) trigger(name string) jobhost.Run {
	w.Helper()
	r, err := jobhost.One(w.engine.Trigger(w.Context(), []jobhost.TriggerRequest{{Job: name}}))
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) output(id jobhost.RunID) string {
	w.Helper()
	out, err := w.engine.Output(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}

func limited(d time.Duration) func(*jobhost.JobDef) {
	return func(def *jobhost.JobDef) { def.Timeout = d }
}

// timesOut runs a job that has to end with its limit, up to three times: a machine that is busy with something else
// says nothing about the host.
func (w *world) timesOut(name string, limit time.Duration) {
	w.Helper()
	var took time.Duration
	for range 3 {
		r := w.trigger(name)
		if r.State != jobhost.RunFailed || r.ErrorCode != jobhost.TimedOut {
			w.Fatalf("%s: %s %s %q; want Failed, %s", name, r.State, r.ErrorCode, r.ErrorMessage, jobhost.TimedOut)
		}
		if n := w.engine.RunningCount(); n != 0 {
			w.Errorf("%s: %d slots are held after the end", name, n)
		}
		if took = r.EndedAt.Sub(r.StartedAt); took >= limit && took <= limit+slack {
			return
		}
	}
	w.Errorf("%s: ended after %v; want %v to %v", name, took, limit, limit+slack)
}

func TestTimeLimits(t *testing.T) {
	const limit = 300 * time.Millisecond
	w := newWorld(t, nil)
	for name, do := range map[string][]string{
		"S-150 a guest that loops":                           {"spin"},
		"S-151 a guest in a WASI sleep":                      {"sleep 3s"},
		"S-151 a guest in a sleep of the host":               {"host-sleep 3s"},
		"S-152 a guest that returns success after its limit": {"host-sleep 3s", "print done"},
		"S-152 a guest that goes on working after its limit": {"host-sleep 3s", "spin"},
		"FR-34 a guest that sleeps again and again":          {"host-sleep 3s", "host-sleep 3s", "sleep 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t, w.engine}
			w.define("limited", "guest", limited(limit), do...)
			w.timesOut("limited", limit)
		})
	}
	t.Run("S-150 a tiny guest that loops", func(t *testing.T) {
		w := &world{t, w.engine}
		w.define("limited", "spin", limited(limit))
		w.timesOut("limited", limit)
	})
}

func TestS153TheLimitIsPerAttempt(t *testing.T) {
	t.Run("S-153 the first attempt uses it up, the retry succeeds", func(t *testing.T) {
		w := newWorld(t, nil)
		w.define("again", "guest", func(def *jobhost.JobDef) {
			def.Timeout = 300 * time.Millisecond
			def.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: 10 * time.Millisecond}
			def.Data = w.orders([]string{"spin"}, []string{"sleep 200ms", "print twice"})
		})
		first := w.trigger("again")
		if first.ErrorCode != jobhost.TimedOut {
			t.Fatalf("first: %s %q", first.ErrorCode, first.ErrorMessage)
		}
		retry := w.await(jobhost.RunQuery{RetryOf: first.ID}, jobhost.RunState.Ended)
		if retry.State != jobhost.RunSucceeded || retry.Kind != jobhost.KindRetry || retry.Attempt != 2 || w.output(retry.ID) != "twice" {
			t.Errorf("retry: %s, %s, attempt %d, %q", retry.State, retry.Kind, retry.Attempt, retry.ErrorMessage)
		}
	})
}

// await looks until the newest run that q selects passes.
func (w *world) await(q jobhost.RunQuery, pass func(jobhost.RunState) bool) jobhost.Run {
	w.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		runs, err := w.engine.Runs(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		if len(runs) > 0 && pass(runs[0].State) {
			return runs[0]
		}
	}
	w.Fatalf("no run of %+v came so far", q)
	return jobhost.Run{}
}

func TestS154Cancelling(t *testing.T) {
	w := newWorld(t, nil)
	for name, c := range map[string]struct {
		do         []string
		state      jobhost.RunState
		code       jobhost.Code
		least, max time.Duration // from the request to the end
	}{
		"S-154 a guest that ignores it is closed after the grace time": {
			[]string{"say going", "spin"}, jobhost.RunCanceled, jobhost.Canceled, 300 * time.Millisecond, 300*time.Millisecond + slack,
		},
		"S-154 a guest that obeys and returns success has succeeded": {
			[]string{"say going", "until-cancelled", "print bye"}, jobhost.RunSucceeded, "", 0, slack,
		},
		"S-154 a guest that obeys and fails is cancelled, not failed": {
			[]string{"say going", "until-cancelled", "exit 1"}, jobhost.RunCanceled, jobhost.Canceled, 0, slack,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t, w.engine}
			var took time.Duration
			for range 3 { // see timesOut
				w.define("long", "guest", nil, c.do...)
				answer := make(chan jobhost.Result[jobhost.Run], 1)
				go func() { answer <- w.engine.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "long"}})[0] }()
				r := w.await(jobhost.RunQuery{Job: "long"}, func(s jobhost.RunState) bool { return s == jobhost.RunRunning })
				for e, err := range w.engine.Log(t.Context(), r.ID, jobhost.LogQuery{Follow: true}) {
					if err != nil || e.Msg != "going" {
						t.Fatalf("log: %v, %v", e, err)
					}
					break // the guest is at work
				}
				asked := time.Now()
				if _, err := jobhost.One(w.engine.CancelRuns(t.Context(), []jobhost.RunID{r.ID})); err != nil {
					t.Fatal(err)
				}
				got := <-answer
				if got.Err != nil || got.Value.State != c.state || got.Value.ErrorCode != c.code {
					t.Fatalf("the caller got %s %s %q, %v; want %s %s", got.Value.State, got.Value.ErrorCode, got.Value.ErrorMessage, got.Err, c.state, c.code)
				}
				if took = got.Value.EndedAt.Sub(asked); took >= c.least && took <= c.max {
					return
				}
			}
			t.Errorf("ended %v after the request; want %v to %v", took, c.least, c.max)
		})
	}
}

func TestS158GuestsThatBreak(t *testing.T) {
	w := newWorld(t, nil)
	w.define("good", "guest", func(def *jobhost.JobDef) { def.AllowConcurrent = true }, "sleep 300ms", "print good")
	for name, c := range map[string]struct {
		plugin string
		do     []string
		says   string
	}{
		"S-158 traps":              {"trap", nil, "unreachable"},
		"S-158 panics":             {"guest", []string{"panic at the disco"}, "at the disco"},
		"S-158 exits 3":            {"guest", []string{"exit 3"}, "exiting with 3"},
		"S-158 returns rubbish":    {"rubbish", nil, "memory"},
		"S-158 returns 7":          {"seven", nil, "7"},
		"S-158 exceeds its memory": {"hog", nil, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t, w.engine}
			w.define("bad", c.plugin, nil, c.do...)
			beside := make(chan jobhost.Result[jobhost.Run], 1)
			go func() { beside <- w.engine.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "good"}})[0] }()
			r := w.trigger("bad")
			if r.State != jobhost.RunFailed || r.ErrorCode != jobhost.Unexpected || !strings.Contains(r.ErrorMessage, c.says) {
				t.Errorf("got %s %s %q; want Failed, %s, …%s…", r.State, r.ErrorCode, r.ErrorMessage, jobhost.Unexpected, c.says)
			}
			for what, other := range map[string]jobhost.Result[jobhost.Run]{"beside it": <-beside, "after it": {Value: w.trigger("good")}} {
				if other.Err != nil || other.Value.State != jobhost.RunSucceeded || w.output(other.Value.ID) != "good" {
					t.Errorf("the run %s: %s %q, %v", what, other.Value.State, other.Value.ErrorMessage, other.Err)
				}
			}
		})
	}
}

func TestS159NothingStaysBetweenRuns(t *testing.T) {
	t.Run("S-159 a global has its initial value in each run", func(t *testing.T) {
		w := newWorld(t, nil)
		w.define("count", "guest", nil, "count")
		for range 3 {
			if got := w.output(w.trigger("count").ID); got != "1" {
				t.Errorf("got %s; want 1", got)
			}
		}
	})
}
