package api_test

import (
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// TestScheduler is the suite of the management contract through client, handler and engine, without a socket.
func TestScheduler(t *testing.T) {
	jobtest.Scheduler(t, jobtest.SchedulerOpener{
		Store: func(t testing.TB) jobhost.Store {
			t.Helper()
			s := memstore.New(memstore.Config{})
			t.Cleanup(func() { _ = s.Close() }) // a memory store's close does not fail
			return s
		},
		New: func(t testing.TB, s jobhost.Store, r jobhost.Runner) jobtest.Service {
			t.Helper()
			e, err := engine.New(s, r, engine.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			l := serve(t, api.NewHandler(e, api.Defaults()))
			return jobtest.Service{Scheduler: api.NewClient("http://jobhost", l), Serve: e.Serve, Apply: e.Apply}
		},
	})
}
