//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/engine"

	"github.com/jobhost/jobhost/bench/internal/report"
)

// keeping takes how many durable values runs write in a second, on a store in a file. The runs are Go functions.
var keeping = measure{
	name:    "kv",
	title:   func(o options) string { return fmt.Sprintf("%d durable values, each written and waited for", o.Writes) },
	columns: []report.Column{{Key: "rate", Title: "values/s"}, {Key: "p50", Title: "p50 ms"}, {Key: "p99", Title: "p99 ms"}},
	cases:   []string{"1 run", "50 runs"},
	take: func(ctx context.Context, o order) (_ report.Values, err error) {
		runs := map[string]int{"1 run": 1, "50 runs": 50}[o.Case]
		w := &writers{each: max(1, o.Options.Writes/runs), ended: make(chan struct{}, runs)}
		store, err := boltstore.Open(filepath.Join(o.Cache, o.Case+".db"), boltstore.Config{})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, store.Close(), os.RemoveAll(filepath.Join(o.Cache, o.Case+".db"))) }()
		cfg := engine.Defaults()
		cfg.MaxConcurrentRuns, cfg.AcquireBatchSize = runs, runs
		n := &node{}
		if n.engine, err = engine.New(store, w, cfg); err != nil {
			return nil, err
		}
		if err := n.serve(ctx); err != nil {
			return nil, err
		}
		defer func() { n.stop(); n.serving.Wait(); err = errors.Join(err, n.failed) }()
		var requests []jobhost.EnqueueRequest
		for i := range runs {
			d := jobhost.NewJob(fmt.Sprintf("writer-%d", i), "native")
			if err := n.define(ctx, d); err != nil {
				return nil, err
			}
			requests = append(requests, jobhost.EnqueueRequest{Job: d.Name})
		}
		began := time.Now()
		for _, r := range n.engine.Enqueue(ctx, requests) {
			if r.Err != nil {
				return nil, r.Err
			}
		}
		for range runs {
			<-w.ended
		}
		took := time.Since(began)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := errors.Join(w.failed...); err != nil {
			return nil, err
		}
		return report.Values{
			"rate": float64(len(w.took)) / took.Seconds(), "p50": report.Quantile(w.took, 0.5), "p99": report.Quantile(w.took, 0.99),
		}, nil
	},
}

// writers is a Runner whose runs write values.
type writers struct {
	each  int
	ended chan struct{}

	mu     sync.Mutex
	took   []float64 // ms of each write
	failed []error
}

// Plugins implements jobhost.Runner.
func (w *writers) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "native", Ready: true}}, nil
}

// Run implements jobhost.Runner.
func (w *writers) Run(ctx context.Context, call jobhost.Call) jobhost.Outcome {
	took, err := w.write(ctx, call)
	w.mu.Lock()
	w.took = append(w.took, took...)
	if err != nil {
		w.failed = append(w.failed, err)
	}
	w.mu.Unlock()
	w.ended <- struct{}{}
	return jobhost.Outcome{}
}

func (w *writers) write(ctx context.Context, call jobhost.Call) (took []float64, err error) {
	if call.KV == nil {
		return nil, errors.New("left out: runs have no durable values")
	}
	value := make([]byte, 100)
	for i := range w.each {
		began := time.Now()
		if err := call.KV.Set(ctx, strconv.Itoa(i%100), value); err != nil {
			return took, err
		}
		took = append(took, ms(time.Since(began)))
	}
	return took, nil
}
