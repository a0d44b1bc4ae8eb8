package boltstore

import (
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
	bolt "go.etcd.io/bbolt"
)

// opener opens stores that report no damage and are consistent when they are closed.
func opener() jobtest.Opener {
	open := func(t testing.TB, path string, cfg Config) *Store {
		t.Helper()
		cfg.Report = func(d Damage) { t.Errorf("damaged record: %+v", d) }
		s, err := Open(path, cfg)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		t.Cleanup(func() {
			check(t, s.db)
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	}
	fresh := func(t testing.TB, cfg Config) jobhost.Store {
		t.Helper()
		return open(t, filepath.Join(t.TempDir(), "jobhost.db"), cfg)
	}
	return jobtest.Opener{
		Open:  func(t testing.TB) jobhost.Store { t.Helper(); return fresh(t, Config{}) },
		Small: func(t testing.TB) jobhost.Store { t.Helper(); return fresh(t, Config{MaxSize: 4 << 20}) },
		Reopen: func(t testing.TB, s jobhost.Store) jobhost.Store {
			t.Helper()
			old := s.(*Store)
			check(t, old.db)
			if err := old.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			return open(t, old.path, Config{})
		},
	}
}

// check runs bbolt's own consistency check on a database that is open.
func check(t testing.TB, db *bolt.DB) {
	t.Helper()
	if db.Path() == "" {
		return
	}
	if err := db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("inconsistent: %v", err)
		}
		return nil
	}); err != nil {
		t.Errorf("View: %v", err)
	}
}

func TestStorePasses(t *testing.T) { jobtest.Store(t, opener()) }

func TestStoreAnswersAsMemoryDoes(t *testing.T) {
	jobtest.Differential(t, jobtest.Opener{Open: func(testing.TB) jobhost.Store {
		return memstore.New(memstore.Config{})
	}}, opener())
}
