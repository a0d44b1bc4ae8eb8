//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/memstore"

	"github.com/jobhost/jobhost/bench/guests"
)

// build builds the guests that are needed: in Go always, in C if its compiler is there.
func (o *options) build(ctx context.Context) (err error) {
	if o.GoFile, err = guests.Go.Build(ctx); err != nil {
		return err
	}
	if o.CFile, err = guests.C.Build(ctx); err != nil {
		o.CFile = "" // the cases that want it say so
	}
	return nil
}

// node is a host and an engine, put together as the command does it.
type node struct {
	host   *host.Host
	engine *engine.Engine
	dir    string

	stop    context.CancelFunc
	serving sync.WaitGroup
	failed  error // of Serve, once serving is over
}

// newNode serves with the guest as plugin "guest". Runs go through the middleware.
func newNode(ctx context.Context, o order, guest string, runs int, middleware ...jobhost.Middleware) (*node, error) {
	if guest == "" {
		return nil, errors.New("left out: there is no compiler for this guest")
	}
	n := &node{}
	var err error
	if n.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(guest)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(n.dir, "guest.wasm"), module, 0o600); err != nil { //nolint:gosec // a folder of our own
		return nil, err
	}
	cfg := host.Defaults()
	cfg.Dir, cfg.Cache = n.dir, o.Cache
	cfg.MaxTotalMemory = 8 << 30
	if n.host, err = host.New(ctx, cfg); err != nil {
		return nil, err
	}
	if err := n.host.Ready(ctx, "guest"); err != nil {
		return nil, err
	}
	settings := engine.Defaults()
	settings.MaxConcurrentRuns, settings.Middleware = runs, middleware
	settings.ShutdownTimeout, settings.CancelGrace = 0, 0
	if n.engine, err = engine.New(memstore.New(memstore.Config{}), n.host, settings); err != nil {
		return nil, err
	}
	return n, n.serve(ctx)
}

func (n *node) serve(ctx context.Context) error {
	ctx, n.stop = context.WithCancel(ctx)
	n.serving.Go(func() { n.failed = n.engine.Serve(ctx) })
	for began := time.Now(); n.engine.State() != engine.Serving; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			return errors.New("the engine does not serve")
		}
	}
	return nil
}

// define registers jobs of the guest.
func (n *node) define(ctx context.Context, defs ...jobhost.JobDef) error {
	for _, r := range n.engine.Schedule(ctx, defs) {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// job is a job of the guest.
func job(name jobhost.Name, do string, n int, triggers ...jobhost.TriggerDef) (jobhost.JobDef, error) {
	d := jobhost.NewJob(name, "guest", triggers...)
	var err error
	d.Data, err = json.Marshal(map[string]any{"do": do, "n": n})
	return d, err
}

// compute starts guests that compute until the node is closed, and waits until all of them do.
func (n *node) compute(ctx context.Context, guests int) error {
	for i := range guests {
		d, err := job(fmt.Sprintf("spin-%d", i), "spin", 0)
		if err != nil {
			return err
		}
		if err := n.define(ctx, d); err != nil {
			return err
		}
		if _, err := jobhost.One(n.engine.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: d.Name}})); err != nil {
			return err
		}
	}
	for began := time.Now(); n.engine.RunningCount() < guests; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			return errors.New("the computing guests do not start")
		}
	}
	return nil
}

func (n *node) close(ctx context.Context) error {
	n.stop()
	n.engine.StopNow()
	n.serving.Wait()
	return errors.Join(n.failed, n.host.Close(ctx), os.RemoveAll(n.dir))
}
