package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// TestScheduler is the suite of the management contract, on every embedded store.
func TestScheduler(t *testing.T) {
	for name, open := range map[string]func(t testing.TB) jobhost.Store{
		"memory": func(testing.TB) jobhost.Store { return memstore.New(memstore.Config{}) },
		"shared": func(testing.TB) jobhost.Store { return memstore.New(memstore.Config{Shared: true}) },
		"bolt": func(t testing.TB) jobhost.Store {
			t.Helper()
			s, err := boltstore.Open(filepath.Join(t.TempDir(), "jobhost.db"), boltstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		if only := os.Getenv("JOBHOST_STORES"); only != "" && only != name {
			continue // the mutants are quick this way
		}
		t.Run(name, func(t *testing.T) {
			jobtest.Scheduler(t, jobtest.SchedulerOpener{
				Store: func(t testing.TB) jobhost.Store {
					t.Helper()
					s := open(t)
					t.Cleanup(func() { _ = s.Close() })
					return s
				},
				New: func(t testing.TB, s jobhost.Store, r jobhost.Runner) jobtest.Service {
					t.Helper()
					e, err := New(s, r, Defaults())
					if err != nil {
						t.Fatal(err)
					}
					return jobtest.Service{Scheduler: e, Serve: e.Serve, Apply: e.Apply}
				},
			})
		})
	}
}
