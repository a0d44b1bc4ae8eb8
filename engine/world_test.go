package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// t0 is the Monday that SPEC's cases start from.
var t0 = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// A world is an engine over a store in a bubble, whose clock starts at t0, and a runner whose jobs are functions.
type world struct {
	*testing.T

	cfg    Config
	store  jobhost.Store
	reopen func() jobhost.Store // nil: the store does not outlive its process
	engine *Engine
	began  time.Time
	made   []*Engine
	aside  sync.WaitGroup // polls that nobody waits for
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // of the story; it ends before what the story has left behind

	mu    sync.Mutex
	jobs  map[jobhost.Name]jobhost.RunFunc
	calls []jobhost.Call
	not   map[jobhost.Name]string // further plugins: readyPlugin, or why they are not ready
}

const readyPlugin = "ready"

// stores are the embedded stores that every rule is shown on.
var stores = []struct {
	name string
	open func(t *testing.T) (jobhost.Store, func() jobhost.Store)
}{
	{"memory", func(*testing.T) (jobhost.Store, func() jobhost.Store) { return memstore.New(memstore.Config{}), nil }},
	{"bolt", func(t *testing.T) (jobhost.Store, func() jobhost.Store) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "jobhost.db")
		open := func() jobhost.Store {
			s, err := boltstore.Open(file, boltstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		return open(), open
	}},
}

// eachStore runs a story on every store, each Update closure twice, in a bubble of its own.
func eachStore(t *testing.T, name string, story func(w *world)) {
	t.Helper()
	for _, s := range stores {
		if only := os.Getenv("JOBHOST_STORES"); only != "" && only != s.name {
			continue // the mutants are quick this way
		}
		t.Run(s.name+"/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, reopen := s.open(t)
				w := newWorld(t, jobtest.Twice(store))
				if reopen != nil {
					w.reopen = func() jobhost.Store {
						if err := store.Close(); err != nil {
							t.Fatal(err)
						}
						store = reopen()
						return jobtest.Twice(store)
					}
				}
				t.Cleanup(func() { _ = store.Close() })
				story(w)
				w.end()
			})
		})
	}
}

func newWorld(t *testing.T, s jobhost.Store) *world {
	t.Helper()
	w := &world{T: t, cfg: Defaults(), store: s, began: time.Now(), jobs: map[jobhost.Name]jobhost.RunFunc{}, not: map[jobhost.Name]string{}}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	w.cfg.NodeID = "n1"
	w.cfg.Now = func() time.Time { return t0.Add(time.Since(w.began)) }
	w.cfg.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return w
}

// eng is the engine, made at its first use so that a story can change the configuration before.
func (w *world) eng() *Engine {
	w.Helper()
	if w.engine == nil {
		e, err := New(w.store, w, w.cfg)
		if err != nil {
			w.Fatal(err)
		}
		w.engine = e
		w.made = append(w.made, e)
	}
	return w.engine
}

// Context ends when the story does.
func (w *world) Context() context.Context { return w.ctx }

// end ends what the story has left running.
func (w *world) end() {
	w.cancel()
	for _, e := range w.made {
		e.mu.Lock()
		for _, a := range e.active {
			a.end(errCanceled)
		}
		e.mu.Unlock()
		e.runs.Wait()
	}
	w.aside.Wait()
}

// restart is what a process does that starts on the store of one that is gone.
func (w *world) restart() {
	w.Helper()
	if w.reopen != nil {
		w.store = w.reopen()
	}
	w.engine = nil
}

// Run is the runner.
func (w *world) Run(ctx context.Context, call jobhost.Call) jobhost.Outcome {
	w.mu.Lock()
	w.calls = append(w.calls, call)
	f := w.jobs[call.Run.Job]
	w.mu.Unlock()
	if f == nil {
		return jobhost.Outcome{}
	}
	return f(ctx, call)
}

// Plugins lists one plugin, "p", and those that are not ready.
func (w *world) Plugins(context.Context) ([]jobhost.Plugin, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ps := []jobhost.Plugin{{Key: "p", Ready: true}}
	for k, why := range w.not {
		if why == readyPlugin {
			ps = append(ps, jobhost.Plugin{Key: k, Ready: true})
		} else {
			ps = append(ps, jobhost.Plugin{Key: k, Problem: why})
		}
	}
	return ps, nil
}

// takes makes a job's runs last d, or until they are ended.
func (w *world) takes(job jobhost.Name, d time.Duration) {
	w.does(job, func(ctx context.Context, _ jobhost.Call) jobhost.Outcome {
		select {
		case <-time.After(d):
			return jobhost.Outcome{}
		case <-ctx.Done():
			return jobhost.Outcome{Code: jobhost.CodeOf(context.Cause(ctx))}
		}
	})
}

func (w *world) does(job jobhost.Name, f jobhost.RunFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[job] = f
}

// fails makes a job's runs fail.
func (w *world) fails(job jobhost.Name) {
	w.does(job, func(context.Context, jobhost.Call) jobhost.Outcome {
		return jobhost.Outcome{Code: "E_BROKEN", Message: "it broke"}
	})
}

func (w *world) define(defs ...jobhost.JobDef) {
	w.Helper()
	for _, r := range w.eng().Schedule(w.Context(), defs) {
		if r.Err != nil {
			w.Fatal(r.Err)
		}
	}
}

// job is a definition on plugin "p" with one trigger "t".
func job(name jobhost.Name, schedule string) jobhost.JobDef {
	return jobhost.NewJob(name, "p", jobhost.NewTrigger("t", schedule))
}

func (w *world) poll() {
	w.Helper()
	if err := w.eng().PollOnce(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// pollAside polls without waiting for the runs that start, and returns when nothing moves any more.
func (w *world) pollAside() {
	e := w.eng()
	w.aside.Go(func() { _ = e.PollOnce(w.Context()) })
	synctest.Wait()
}

// serve serves until the returned function is called, which waits for the stop.
func (w *world) serve() (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	e, over := w.eng(), make(chan error, 1)
	go func() { over <- e.Serve(ctx) }()
	synctest.Wait()
	return func() {
		w.Helper()
		cancel()
		if err := <-over; err != nil {
			w.Errorf("serve: %v", err)
		}
	}
}

// until sleeps until an instant after t0.
func (w *world) until(d time.Duration) {
	time.Sleep(t0.Add(d).Sub(w.cfg.Now()))
	synctest.Wait()
}

func (w *world) view(f func(tx jobhost.Tx) error) {
	w.Helper()
	if err := w.store.View(w.Context(), f); err != nil {
		w.Fatal(err)
	}
}

// runs are a job's runs with their data, oldest first.
func (w *world) runs(job jobhost.Name) (rs []jobhost.Run) {
	w.Helper()
	w.view(func(tx jobhost.Tx) error {
		listed, err := tx.QueryRuns(jobhost.RunQuery{Job: job, Limit: 1_000_000})
		if err != nil {
			return err
		}
		ids := make([]jobhost.RunID, len(listed))
		for i, r := range listed {
			ids[len(ids)-1-i] = r.ID
		}
		rs, err = tx.Runs(ids...)
		return err
	})
	return rs
}

// only is a job's only run.
func (w *world) only(job jobhost.Name) jobhost.Run {
	w.Helper()
	rs := w.runs(job)
	if len(rs) != 1 {
		w.Fatalf("job %q has %d runs, want 1: %v", job, len(rs), rs)
	}
	return rs[0]
}

// trigger is the record of a job's trigger "t", or of a named one.
func (w *world) trigger(job jobhost.Name, name ...jobhost.Name) jobhost.Trigger {
	w.Helper()
	key := jobhost.TriggerKey{Job: job, Trigger: "t"}
	if len(name) > 0 {
		key.Trigger = name[0]
	}
	var ts []jobhost.Trigger
	w.view(func(tx jobhost.Tx) (err error) {
		ts, err = tx.Triggers(key)
		return err
	})
	if len(ts) != 1 {
		w.Fatalf("there is no trigger %v", key)
	}
	return ts[0]
}

// oneShots are a job's one-shots.
func (w *world) oneShots(job jobhost.Name) (ts []jobhost.Trigger) {
	w.Helper()
	w.view(func(tx jobhost.Tx) (err error) {
		ts, err = tx.TriggersOf(job)
		return err
	})
	return slices.DeleteFunc(ts, func(t jobhost.Trigger) bool { return t.OneShot == nil })
}

// is fails the story unless got is want.
func is[V comparable](w *world, what string, got, want V) {
	w.Helper()
	if got != want {
		w.Errorf("%s is %v, want %v", what, got, want)
	}
}

// isAt compares an instant with one after t0.
func isAt(w *world, what string, got time.Time, want time.Duration) {
	w.Helper()
	if !got.Equal(t0.Add(want)) {
		w.Errorf("%s is %v, want %v", what, got.Format(time.RFC3339Nano), t0.Add(want).Format(time.RFC3339Nano))
	}
}

// waits checks that a trigger is Waiting with a due.
func (w *world) waits(job jobhost.Name, due time.Duration) {
	w.Helper()
	t := w.trigger(job)
	is(w, fmt.Sprintf("state of %q", job), t.State, jobhost.TriggerWaiting)
	isAt(w, fmt.Sprintf("due of %q", job), t.Due, due)
}

// put changes a trigger's record, as if something had happened before.
func (w *world) put(job jobhost.Name, change func(*jobhost.Trigger)) {
	w.Helper()
	t := w.trigger(job)
	change(&t)
	if err := w.store.Update(w.Context(), func(tx jobhost.Tx) error { return tx.PutTriggers(t) }); err != nil {
		w.Fatal(err)
	}
}

func (w *world) startManual(job jobhost.Name, data ...string) <-chan jobhost.Result[jobhost.Run] {
	out := make(chan jobhost.Result[jobhost.Run], 1)
	req := jobhost.TriggerRequest{Job: job}
	if len(data) > 0 {
		req.Data = json.RawMessage(data[0])
	}
	e := w.eng()
	if e.State() == Created {
		e.set(Serving) // the story polls by itself
	}
	w.aside.Go(func() { out <- e.Trigger(w.Context(), []jobhost.TriggerRequest{req})[0] })
	synctest.Wait()
	return out
}
