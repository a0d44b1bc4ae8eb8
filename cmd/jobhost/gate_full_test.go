package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// brimful is a store that takes no new job while it is full.
type brimful struct {
	jobhost.Store

	full atomic.Bool
}

type brimfulTx struct {
	jobhost.Tx

	put *bool
}

func (t brimfulTx) PutJobs(jobs ...jobhost.Job) error {
	*t.put = true
	return t.Tx.PutJobs(jobs...)
}

func (s *brimful) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	return s.Store.Update(ctx, func(tx jobhost.Tx) error {
		put := false
		if err := f(brimfulTx{tx, &put}); err != nil {
			return err
		}
		if put && s.full.Load() {
			return &jobhost.Error{Code: jobhost.StoreFull, Op: "test", Msg: "no room is left"}
		}
		return nil
	})
}

func TestAStartOnAFullStoreSaysSoAndLetsRoomBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brimful{Store: memstore.New(memstore.Config{})}
		var plugins compiling
		plugins.ready.Store(true)
		e, err := engine.New(store, &plugins, engine.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if err := first(e.Schedule(t.Context(), []jobhost.JobDef{jobhost.NewJob("old", "p")})); err != nil {
			t.Fatal(err)
		}
		store.full.Store(true)
		n := &node{engine: e}
		g := gate{e, n.starting}
		if err := e.Apply(t.Context(), []jobhost.JobDef{jobhost.NewJob("new", "p")}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- e.Serve(ctx) }()
		synctest.Wait()

		err = first(g.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "old"}}))
		if jobhost.CodeOf(err) != jobhost.NotServing || !strings.Contains(err.Error(), "do not fit into the store") || !strings.Contains(err.Error(), "history_limit") {
			t.Errorf("Enqueue: %v", err)
		}
		if names, err := g.JobNames(ctx, "", 10); err != nil || len(names) != 1 {
			t.Errorf("JobNames: %v, %v; want one", names, err)
		}
		if err := first(g.Status(ctx, []jobhost.Name{"old"})); err != nil {
			t.Errorf("Status: %v", err)
		}
		if err := first(g.Delete(ctx, []jobhost.Name{"old"})); err != nil {
			t.Errorf("Delete: %v", err)
		}
		stop()
		if err := <-over; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}
