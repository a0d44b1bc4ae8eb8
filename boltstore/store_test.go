package boltstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

func TestStorePasses(t *testing.T) { jobtest.Store(t, opener(segmentRuns)) }

func TestStorePassesWithSmallSegments(t *testing.T) { jobtest.Store(t, opener(3)) }

func TestStorePassesWhenClosuresAreCalledTwice(t *testing.T) {
	once := opener(3)
	jobtest.Store(t, jobtest.Opener{
		Open:  func(t testing.TB) jobhost.Store { t.Helper(); return jobtest.Twice(once.Open(t)) },
		Small: func(t testing.TB) jobhost.Store { t.Helper(); return jobtest.Twice(once.Small(t)) },
	})
}

func TestStoreAnswersAsMemoryDoes(t *testing.T) {
	jobtest.Differential(t, jobtest.Opener{Open: func(testing.TB) jobhost.Store {
		return memstore.New(memstore.Config{})
	}}, opener(2))
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	s := fresh(t, Config{})
	info, err := os.Stat(s.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v; want 0600", info.Mode(), err)
	}
}

func TestOnlyOneHasTheFile(t *testing.T) {
	t.Run("S-101 a second process fails with an error that names the file, and the first is unaffected", func(t *testing.T) {
		s := fresh(t, Config{})
		_, err := Open(s.path, Config{LockTimeout: time.Millisecond})
		if jobhost.CodeOf(err) != jobhost.StoreUnreachable {
			t.Fatalf("Open: %v, want %s", err, jobhost.StoreUnreachable)
		}
		for _, want := range []string{s.path, "another jobhost uses it", "store.path"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q; want %q in it", err, want)
			}
		}
		update(t, s, func(tx jobhost.Tx) error { return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob("a", "p")}) })
	})
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bolted := func(name string, f func(b *bolt.Tx) error) string {
		path := filepath.Join(dir, name)
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(f); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, want string }{
		{"no folder", filepath.Join(dir, "none", "jobhost.db"), "no such file"},
		{"a folder", dir, "is a directory"},
		{"text", file("text", strings.Repeat("hello ", 4000)), "no store of jobhost, or its beginning is overwritten"},
		{"another program's", bolted("other", func(b *bolt.Tx) error {
			_, err := b.CreateBucket([]byte("users"))
			return err
		}), "no store of jobhost"},
		{"a newer format", bolted("newer", func(b *bolt.Tx) error {
			m, err := b.CreateBucket([]byte("meta"))
			if err != nil {
				return err
			}
			return m.Put(formatKey, []byte{byte(today().format) + 1})
		}), "format 2, and this program knows 1; use a newer jobhost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(c.path, Config{})
			if err == nil {
				shut(t, s)
				t.Fatal("Open did not fail")
			}
			if jobhost.CodeOf(err) != jobhost.StoreUnreachable || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("Open: %v; want %s, %q and the path", err, jobhost.StoreUnreachable, c.want)
			}
		})
	}
	t.Run("a file that was refused is as it was, and free", func(t *testing.T) {
		db, err := bolt.Open(filepath.Join(dir, "newer"), 0o600, &bolt.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
				if string(name) != "meta" {
					t.Errorf("bucket %q was added", name)
				}
				return nil
			})
		}); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMaxSizeIsNotTooSmall(t *testing.T) {
	for _, size := range []int64{-1, 1, minSize - 1} {
		if _, err := Open(filepath.Join(t.TempDir(), "jobhost.db"), Config{MaxSize: size}); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
			t.Errorf("Open with %d: %v, want %s", size, err, jobhost.StoreUnreachable)
		}
	}
	fresh(t, Config{MaxSize: minSize})
}

// The file system may fail in the middle of a commit, so the page that makes a commit count is written last, and its
// predecessor stays.
func TestDamagedMetaPageFallsBackToTheCommitBefore(t *testing.T) {
	s := fresh(t, Config{})
	for _, name := range []jobhost.Name{"a", "b"} {
		update(t, s, func(tx jobhost.Tx) error { return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob(name, "p")}) })
	}
	var newest int64
	raw(t, s, func(b *bolt.Tx) error { // rolled back in effect: it changes nothing, but commits
		newest = int64(b.ID())
		return nil
	})
	shut(t, s)
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	if _, err := f.WriteAt(make([]byte, 128), newest%2*page); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.path, Config{})
	view(t, s, func(tx jobhost.Tx) error {
		names, err := tx.JobNames("", 9)
		if len(names) != 2 {
			t.Errorf("JobNames: got %v, want a and b, which were committed before", names)
		}
		return err
	})
	update(t, s, func(tx jobhost.Tx) error { return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob("c", "p")}) })
}
