//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// jobhostPeer is jobhost as a library: an engine, a store, and a Runner that calls Go functions.
type jobhostPeer struct {
	engine *engine.Engine
	store  jobhost.Store
	dir    string // of the store; empty: none
	start  func(i int)

	stop    context.CancelFunc // nil until it serves
	serving sync.WaitGroup
	failed  error // of Serve, once serving is over
}

// openStore opens a store; the folder is its own and may stay empty.
type openStore func(dir string) (jobhost.Store, error)

func inMemory(string) (jobhost.Store, error) { return memstore.New(memstore.Config{}), nil }

func inBolt(dir string) (jobhost.Store, error) {
	return boltstore.Open(filepath.Join(dir, "jobhost.db"), boltstore.Config{})
}

// openJobhost opens an engine with default settings or, when wide, with 1,000 runs at a time and in a batch.
func openJobhost(open openStore, wide bool) func(order) (scheduler, error) {
	return func(order) (scheduler, error) {
		p := &jobhostPeer{start: func(int) {}}
		var err error
		if p.dir, err = os.MkdirTemp("", "bench-"); err != nil {
			return nil, err
		}
		if p.store, err = open(p.dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(p.dir))
		}
		cfg := engine.Defaults()
		if wide {
			cfg.MaxConcurrentRuns, cfg.AcquireBatchSize = 1000, 1000
		}
		p.engine, err = engine.New(p.store, p, cfg)
		return p, err
	}
}

// Run implements jobhost.Runner. The number of a job is what follows the dash in its name, or else in its trigger's.
func (p *jobhostPeer) Run(_ context.Context, call jobhost.Call) jobhost.Outcome {
	i, err := numberOf(call.Run.Job)
	if err != nil {
		i, err = numberOf(call.Run.Trigger)
	}
	if err != nil {
		return jobhost.Outcome{Code: "BENCH", Message: err.Error()}
	}
	p.start(i)
	return jobhost.Outcome{}
}

func numberOf(name jobhost.Name) (int, error) {
	if len(name) < 7 || name[len(name)-7] != '-' {
		return 0, fmt.Errorf("%q has no number", name)
	}
	return strconv.Atoi(name[len(name)-6:])
}

// Plugins implements jobhost.Runner.
func (p *jobhostPeer) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "native", Ready: true}}, nil
}

func (p *jobhostPeer) begin() error {
	if p.stop != nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.serving.Go(func() { p.failed = p.engine.Serve(ctx) })
	for began := time.Now(); p.engine.State() != engine.Serving; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > patience {
			return errors.New("the engine does not serve")
		}
	}
	return nil
}

// schedule registers jobs a thousand at a time.
func (p *jobhostPeer) schedule(defs []jobhost.JobDef) error {
	for part := range slices.Chunk(defs, 1000) {
		for _, r := range p.engine.Schedule(context.Background(), part) {
			if r.Err != nil {
				return r.Err
			}
		}
	}
	return nil
}

func once(name jobhost.Name, at time.Time) jobhost.TriggerDef {
	return jobhost.NewTrigger(name, "once "+at.UTC().Format(time.RFC3339Nano))
}

func onceEach(instants []time.Time) []jobhost.JobDef {
	defs := make([]jobhost.JobDef, len(instants))
	for i, at := range instants {
		defs[i] = jobhost.NewJob(fmt.Sprintf("once-%06d", i), "native", once("t", at))
	}
	return defs
}

func (p *jobhostPeer) at(instants []time.Time, start func(int)) error {
	p.start = start
	return p.schedule(onceEach(instants))
}

func (p *jobhostPeer) backlog(n int, start func(int)) error {
	p.start = start
	return p.schedule(onceEach(slices.Repeat([]time.Time{time.Now()}, n)))
}

func (p *jobhostPeer) exclusive(n int, start func(int)) (time.Time, error) {
	p.start = start
	now := time.Now()
	d := jobhost.NewJob("exclusive", "native")
	for i := range n {
		d.Triggers = append(d.Triggers, once(fmt.Sprintf("once-%06d", i), now))
	}
	if err := p.schedule([]jobhost.JobDef{d}); err != nil {
		return now, err
	}
	now = time.Now()
	return now, p.begin()
}

func (p *jobhostPeer) recurring(n int) error {
	defs := make([]jobhost.JobDef, n)
	for i := range defs {
		defs[i] = jobhost.NewJob(fmt.Sprintf("cron-%06d", i), "native", jobhost.NewTrigger("t", "cron "+recurringSpec(i, time.Now())))
	}
	return p.schedule(defs)
}

func (p *jobhostPeer) recorded(n int) (bool, error) {
	done, err := p.engine.CountRuns(context.Background(), jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunSucceeded}})
	return done == n, err
}

func (p *jobhostPeer) close() error {
	if p.stop != nil {
		p.stop()
		p.serving.Wait()
	}
	return errors.Join(p.failed, p.store.Close(), os.RemoveAll(p.dir))
}
