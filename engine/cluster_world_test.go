package engine

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// onCluster runs a story on n nodes that share a store and an election, in a bubble. The first one leads.
func onCluster(t *testing.T, name string, n int, story func(ws []*world)) {
	t.Helper()
	t.Run("shared/"+name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store, election := memstore.New(memstore.Config{Shared: true}), memstore.NewElection()
			var ws []*world
			for i := range n {
				w := newWorld(t, &faulty{Store: jobtest.Twice(store)})
				w.cfg.NodeID, w.cfg.Leader = fmt.Sprintf("n%d", i+1), election
				ws = append(ws, w)
			}
			story(ws)
			for _, w := range ws {
				w.end()
			}
		})
	})
}

// cutOff makes a node's store unreachable, or reachable again.
func (w *world) cutOff(gone bool) {
	var before func(jobhost.Tx) error
	if gone {
		before = func(jobhost.Tx) error {
			return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "cut off"}
		}
	}
	w.store.(*faulty).set(before, nil)
}

// forever makes a job's runs last until they are ended.
func (w *world) forever(job jobhost.Name) { w.takes(job, 1000*hour) }

func serveAll(ws []*world) (stop func()) {
	var stops []func()
	for _, w := range ws {
		stops = append(stops, w.serve())
	}
	return func() {
		var all sync.WaitGroup
		for _, s := range stops {
			all.Go(s)
		}
		all.Wait()
	}
}

func recovered(name jobhost.Name, schedule string) jobhost.JobDef {
	d := job(name, schedule)
	d.RequestsRecovery = true
	return d
}
