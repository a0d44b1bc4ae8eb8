package boltstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// wasted makes a file out of which most runs were deleted, and returns what is left in it.
func wasted(t *testing.T, path string, runs, keep int) (want string) {
	t.Helper()
	s := open(t, path, Config{})
	s.full = 16 // runs in a segment, so that there are several
	if err := grow(t.Context(), s, 0, runs); err != nil {
		t.Fatal(err)
	}
	update(t, s, everything)
	update(t, s, func(tx jobhost.Tx) error {
		_, err := tx.PruneJobRuns("a", keep, runs)
		return err
	})
	want = exported(t, s)
	shut(t, s)
	return want
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// alone wants nothing in a folder but the store.
func alone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("there are %v, %v; want %s alone", files, err, filepath.Base(path))
	}
}

func TestCompactKeepsEveryRecordAndGivesBackTheRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	want := wasted(t, path, 200, 20)
	before := sizeOf(t, path)
	var last, total int64
	got, err := Compact(t.Context(), path, func(done, of int64) {
		if done <= last || done > of {
			t.Errorf("progress: %d of %d after %d", done, of, last)
		}
		last, total = done, of
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := sizeOf(t, path); got != (Compaction{before, after}) || after > before/4 {
		t.Errorf("got %+v; the file had %d bytes and has %d", got, before, after)
	}
	if last > total || total > got.After {
		t.Errorf("progress: %d of %d", last, total)
	}
	alone(t, path)
	s := open(t, path, Config{})
	s.full = 16
	if d := cmp.Diff(exported(t, s), want); d != "" {
		t.Errorf("-got +want:\n%.2000s", d)
	}
	// The places in the index by job go on where they were.
	if err := grow(t.Context(), s, 1000, 40); err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx jobhost.Tx) error {
		rs, err := tx.QueryRuns(jobhost.RunQuery{Job: "a", Limit: 99})
		if len(rs) != 60 || rs[0].ID != testID(1039, t0.Add(1039*time.Second)) || rs[59].ID != testID(180, t0.Add(180*time.Second)) {
			t.Errorf("%d runs of the job, want 60 in order", len(rs))
		}
		return err
	})
	if st, err := s.Stats(t.Context()); err != nil || st.EndedRuns != 62 {
		t.Errorf("Stats: %+v, %v", st, err)
	}
}

func TestCompactionOfWhatIsCompactChangesLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	wasted(t, path, 50, 5)
	var sizes []int64
	for range 3 {
		c, err := Compact(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, c.After)
	}
	if sizes[1] != sizes[0] || sizes[2] != sizes[0] {
		t.Errorf("sizes %v", sizes)
	}
}

func TestCompactRefusesWhatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobhost.db")
	if _, err := Compact(t.Context(), path, nil); !errors.Is(err, os.ErrNotExist) || jobhost.CodeOf(err) != jobhost.StoreUnreachable {
		t.Errorf("without a file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has made a file: %v", err)
	}
	s := open(t, path, Config{})
	update(t, s, everything)
	if _, err := Compact(t.Context(), path, nil); !InUse(err) || jobhost.CodeOf(err) != jobhost.StoreUnreachable {
		t.Errorf("of a file that is in use: %v", err)
	}
	shut(t, s)
	reader := open(t, path, Config{ReadOnly: true})
	if _, err := Compact(t.Context(), path, nil); !InUse(err) {
		t.Errorf("of a file that somebody looks at: %v", err)
	}
	shut(t, reader)
	other := filepath.Join(dir, "other.db")
	if err := os.WriteFile(other, bytes.Repeat([]byte("text"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), other, nil); err == nil {
		t.Error("of text: no error")
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), empty, nil); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("of an empty file: %v", err)
	}
}

func TestCompactionThatIsCancelledLeavesTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	wasted(t, path, 100, 90)
	before := read(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	told := false
	_, err := Compact(ctx, path, func(int64, int64) { told = true; cancel() })
	if !errors.Is(err, context.Canceled) || !told {
		t.Errorf("Compact: %v, progress %v; want %v in the middle", err, told, context.Canceled)
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
	alone(t, path)
}

// Who has opened the file and waits for its lock while it is replaced must not go on with the old one, which nobody
// will open again.
func TestOpenDuringACompactionOpensTheNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	want := wasted(t, path, 20, 2)
	opened := 0
	db, _, err := openFile(path, bolt.Options{OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		if opened++; opened == 1 {
			if _, err := Compact(t.Context(), path, nil); err != nil {
				t.Error(err)
			}
		}
		return f, err
	}})
	if err != nil || opened != 2 {
		t.Fatalf("opened %d times, %v; want 2", opened, err)
	}
	if err := errors.Join(db.Update(func(b *bolt.Tx) error {
		return b.Bucket([]byte("values")).Put([]byte("report\x00zzz"), []byte("\x01after"))
	}), db.Close()); err != nil {
		t.Fatal(err)
	}
	want += `{"kind":"value","record":{"job":"report","key":"zzz","text":"after"}}` + "\n"
	s := open(t, path, Config{})
	if got := exported(t, s); got != want {
		t.Errorf("what was written after the compaction is not in the file (-got +want):\n%s", cmp.Diff(got, want))
	}
	shut(t, s)
	if _, _, err := openFile(path, bolt.Options{Timeout: time.Second, OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		return f, errors.Join(err, os.Remove(path))
	}}); err == nil {
		t.Error("a file that goes each time is taken")
	}
}

func TestWhatIsLeftOfAKilledCompactionIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	for name, do := range map[string]func(){
		"Open": func() { shut(t, open(t, path, Config{})) },
		"Compact": func() {
			if _, err := Compact(t.Context(), path, nil); err != nil {
				t.Error(err)
			}
		},
	} {
		shut(t, open(t, path, Config{}))
		if err := os.WriteFile(path+compactSuffix, bytes.Repeat([]byte("half"), 10_000), 0o600); err != nil {
			t.Fatal(err)
		}
		do()
		if alone(t, path); t.Failed() {
			t.Fatalf("after %s", name)
		}
	}
}

func TestOpenCompactsWhatIsMostlyFree(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want bool
	}{
		"by default never":           {Config{}, false},
		"when enough is free":        {Config{CompactAbove: 0.5, CompactMin: 1 << 20}, true},
		"with a limit":               {Config{CompactAbove: 0.5, CompactMin: 1 << 20, MaxSize: 32 << 20}, true},
		"when less is free":          {Config{CompactAbove: 0.99, CompactMin: 1 << 20}, false},
		"a small file is left alone": {Config{CompactAbove: 0.5, CompactMin: 1 << 30}, false},
		"64 MiB are small":           {Config{CompactAbove: 0.5}, false},
		"nor when looking":           {Config{CompactAbove: 0.5, CompactMin: 1, ReadOnly: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobhost.db")
			want := wasted(t, path, 100, 10)
			before := sizeOf(t, path)
			var told []Compaction
			c.cfg.Compacted = func(c Compaction, err error) {
				if err != nil {
					t.Error(err)
				}
				told = append(told, c)
			}
			s := open(t, path, c.cfg)
			after := sizeOf(t, path)
			if got := after < before/2; got != c.want || (len(told) == 1) != c.want || c.want && told[0] != (Compaction{before, after}) {
				t.Errorf("the file had %d bytes and has %d; told %+v; want a compaction: %v", before, after, told, c.want)
			}
			if got := exported(t, s); got != want {
				t.Error("the records are others")
			}
			alone(t, path)
		})
	}
	for _, share := range []float64{-0.1, 1, 1.5} {
		if _, err := Open(filepath.Join(t.TempDir(), "jobhost.db"), Config{CompactAbove: share}); err == nil {
			t.Errorf("a share of %v is taken", share)
		}
	}
}

func TestOpenGoesOnWhenACompactionFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	want := wasted(t, path, 100, 10)
	if err := os.MkdirAll(filepath.Join(path+compactSuffix, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	var told error
	s := open(t, path, Config{CompactAbove: 0.5, CompactMin: 1, Compacted: func(_ Compaction, err error) { told = err }})
	if jobhost.CodeOf(told) != jobhost.StoreUnreachable {
		t.Errorf("told %v; want why it failed", told)
	}
	if exported(t, s) != want {
		t.Error("the records are others")
	}
	update(t, s, func(tx jobhost.Tx) error { return tx.PutValue("a", "b", []byte("c")) })
}

func TestNoFileIsReplacedByOneThatDiffers(t *testing.T) {
	for name, spoil := range map[string]func(b *bolt.Tx) error{
		"nothing": func(*bolt.Tx) error { return nil },
		"a value": func(b *bolt.Tx) error { return b.Bucket([]byte("values")).Put([]byte("report\x00cursor"), []byte("x")) },
		"one key less": func(b *bolt.Tx) error {
			k, _ := b.Bucket([]byte("parts")).Cursor().Last()
			return b.Bucket([]byte("parts")).Delete(bytes.Clone(k))
		},
		"one key more":      func(b *bolt.Tx) error { return b.Bucket([]byte("parts")).Put([]byte("zzz"), nil) },
		"one bucket less":   func(b *bolt.Tx) error { return b.DeleteBucket([]byte("values")) },
		"the first is gone": func(b *bolt.Tx) error { return b.DeleteBucket([]byte("blocked")) },
		"one bucket more": func(b *bolt.Tx) error {
			_, err := b.CreateBucket([]byte("zzz"))
			return err
		},
		"a sequence": func(b *bolt.Tx) error { return b.Bucket([]byte("jobruns")).SetSequence(1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t, Config{})
			update(t, s, everything)
			path := filepath.Join(t.TempDir(), "copy.db")
			var w copier
			if err := s.db.View(func(b *bolt.Tx) error { return w.copy(t.Context(), path, b) }); err != nil {
				t.Fatal(err)
			}
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(spoil), db.Close()); err != nil {
				t.Fatal(err)
			}
			err = s.db.View(func(b *bolt.Tx) error { return compare(t.Context(), path, b) })
			if (err == nil) != (name == "nothing") {
				t.Errorf("compare: %v", err)
			}
		})
	}
}
