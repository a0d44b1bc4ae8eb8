package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// compiling is a runner whose plugin is not ready at first.
type compiling struct{ ready atomic.Bool }

func (*compiling) Run(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{} }

func (c *compiling) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "p", Ready: c.ready.Load()}}, nil
}

// While the host starts, nobody is told that there are no jobs.
func TestUntilTheJobsAreThereTheHostSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plugins compiling
		store := jobtest.Slow(memstore.New(memstore.Config{}), 50*time.Millisecond)
		e, err := engine.New(store, &plugins, engine.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		n := &node{engine: e}
		g := gate{e, n.starting}
		ctx, stop := context.WithCancel(t.Context())
		calls := map[string]func() error{
			"Schedule": func() error { return first(g.Schedule(ctx, []jobhost.JobDef{jobhost.NewJob("mine", "p")})) },
			"Restore":  func() error { return first(g.Restore(ctx, []jobhost.Name{"j"})) },
			"Pause":    func() error { return first(g.Pause(ctx, []jobhost.Target{{Job: "j"}})) },
			"Resume":   func() error { return first(g.Resume(ctx, []jobhost.Target{{Job: "j"}})) },
			"Trigger":  func() error { return first(g.Trigger(ctx, []jobhost.TriggerRequest{{Job: "j"}})) },
			"Enqueue":  func() error { return first(g.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "j"}})) },
			"Status":   func() error { return first(g.Status(ctx, []jobhost.Name{"j"})) },
			"all":      func() error { return first(g.Status(ctx, nil)) },
			"names": func() error {
				names, err := g.JobNames(ctx, "", 10)
				if err == nil && len(names) == 0 {
					t.Error("there are no jobs")
				}
				return err
			},
			"Definitions": func() error { return first(g.Definitions(ctx, []jobhost.Name{"j"})) },
			"Explain":     func() error { _, err := g.Explain(ctx, "j"); return err },
			"Next":        func() error { _, err := g.Next(ctx, jobhost.NextQuery{Job: "j"}); return err },
			"Delete":      func() error { return first(g.Delete(ctx, []jobhost.Name{"other"})) },
		}
		refused := func(when string) {
			t.Helper()
			for what, call := range calls {
				if err := call(); jobhost.CodeOf(err) != jobhost.NotServing {
					t.Errorf("%s %s answers %v, want %s", when, what, err, jobhost.NotServing)
				}
			}
			if jobhost.CodeOf(n.notReady()) != jobhost.NotServing {
				t.Errorf("%s it is ready", when)
			}
			if _, err := g.Next(ctx, jobhost.NextQuery{Schedule: "cron * * * * *"}); err != nil {
				t.Errorf("%s the preview of a text answers %v", when, err)
			}
			if _, err := g.Runs(ctx, jobhost.RunQuery{}); err != nil {
				t.Errorf("%s the history answers %v", when, err)
			}
		}
		refused("before the plugins are looked at,")
		defs := []jobhost.JobDef{jobhost.NewJob("j", "p", jobhost.NewTrigger("t", "cron 0 0 1 1 *")), jobhost.NewJob("other", "p")}
		defs[0].AllowConcurrent = true
		if err := e.Apply(ctx, defs); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- e.Serve(ctx) }()
		time.Sleep(time.Second)
		refused("while the plugin is compiled,")
		plugins.ready.Store(true)
		for e.State() != engine.Serving {
			time.Sleep(time.Millisecond)
		}
		refused("while the jobs are stored,")
		time.Sleep(time.Second)
		for what, call := range calls {
			if what == "Delete" { // the last one, since it is asked for
				continue
			}
			if err := call(); err != nil {
				t.Errorf("once they are there, %s answers %v", what, err)
			}
		}
		if err := calls["Delete"](); err != nil {
			t.Errorf("once they are there, Delete answers %v", err)
		}
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := first(g.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "j"}})); jobhost.CodeOf(err) != jobhost.NotServing {
			t.Errorf("after the stop Trigger answers %v", err)
		}
	})
}

func first[T any](rs []jobhost.Result[T]) error {
	_, err := jobhost.One(rs)
	return err
}
