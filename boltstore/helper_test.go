package boltstore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

var t0 = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// TestMain is also the main function of child processes, which tests start to kill them.
func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv("BOLTSTORE_CHILD")]; ok {
		child(os.Getenv("BOLTSTORE_PATH"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are the programs of child processes by name.
var children = map[string]func(path string){}

// open opens a store that must report no damage and be consistent when it is closed, which it is at the latest when t
// ends.
func open(t testing.TB, path string, cfg Config) *Store {
	t.Helper()
	if cfg.Report == nil {
		cfg.Report = func(d Damage) { t.Errorf("damaged record: %+v", d) }
	}
	s, err := Open(path, cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	s.db.NoSync = true // the power stays on; children sync
	t.Cleanup(func() { shut(t, s) })
	return s
}

func fresh(t testing.TB, cfg Config) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "jobhost.db"), cfg)
}

// shut runs bbolt's own consistency check and closes a store. A second time it does nothing.
func shut(t testing.TB, s *Store) {
	t.Helper()
	if s.db.Path() == "" {
		return
	}
	if err := s.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("inconsistent: %v", err)
		}
		return nil
	}); err != nil {
		t.Errorf("View: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// opener opens stores whose index by job is in segments of some runs.
func opener(segment uint32) jobtest.Opener {
	with := func(s *Store) jobhost.Store {
		s.full = segment
		return s
	}
	return jobtest.Opener{
		Open:  func(t testing.TB) jobhost.Store { t.Helper(); return with(fresh(t, Config{})) },
		Small: func(t testing.TB) jobhost.Store { t.Helper(); return with(fresh(t, Config{MaxSize: 4 << 20})) },
		Reopen: func(t testing.TB, s jobhost.Store) jobhost.Store {
			t.Helper()
			old := s.(*Store)
			shut(t, old)
			return with(open(t, old.path, Config{}))
		},
	}
}

func update(t testing.TB, s *Store, f func(tx jobhost.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), f); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func view(t testing.TB, s *Store, f func(tx jobhost.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), f); err != nil {
		t.Fatalf("View: %v", err)
	}
}

// raw changes the file behind the store's back.
func raw(t testing.TB, s *Store, f func(b *bolt.Tx) error) {
	t.Helper()
	if err := s.db.Update(f); err != nil {
		t.Fatalf("raw: %v", err)
	}
}

func testID(n int, at time.Time) jobhost.RunID {
	return jobhost.NewRunID(at, [10]byte{byte(n >> 16), byte(n >> 8), byte(n), 1, 2, 3, 4, 5, 6, 7})
}

func testRun(n int, job jobhost.Name, started time.Time) jobhost.Run {
	return jobhost.Run{
		ID: testID(n, started), Job: job, Trigger: "t", Kind: jobhost.KindSchedule, Attempt: 1, ScheduledAt: started,
		Priority: 5, State: jobhost.RunRunning, Node: "node-1", StartedAt: started,
	}
}

func testTrigger(job, name jobhost.Name, ready time.Time) jobhost.Trigger {
	return jobhost.Trigger{
		Key: jobhost.TriggerKey{Job: job, Trigger: name}, TriggerDef: jobhost.NewTrigger(name, "every 1h"),
		State: jobhost.TriggerWaiting, Due: ready, Ready: ready,
	}
}

func succeeded(r jobhost.Run, at time.Time) jobhost.Run {
	r.State, r.EndedAt = jobhost.RunSucceeded, at
	return r
}
