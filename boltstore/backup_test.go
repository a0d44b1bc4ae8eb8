package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// slow is a writer that is stuck in its first write until it is told to go on.
type slow struct {
	bytes.Buffer

	stuck, on chan struct{}
	once      sync.Once
}

func (s *slow) release() { s.once.Do(func() { close(s.on) }) }

func newSlow() *slow { return &slow{stuck: make(chan struct{}), on: make(chan struct{})} }

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-s.on:
	default:
		close(s.stuck)
		<-s.on
	}
	return s.Buffer.Write(p)
}

// grow puts n runs with outputs of 64 KiB, each in an Update of its own.
func grow(ctx context.Context, s *Store, from, n int) error {
	for i := from; i < from+n; i++ {
		if err := s.Update(ctx, func(tx jobhost.Tx) error {
			r := testRun(i, "a", t0.Add(time.Duration(i)*time.Second))
			return errors.Join(tx.PutRuns(succeeded(r, r.StartedAt)), tx.PutOutput(r.ID, bytes.Repeat([]byte{byte(i)}, 64<<10)))
		}); err != nil {
			return err
		}
	}
	return nil
}

// within fails when f is not done in time.
func within(t *testing.T, what string, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s waits for the backup", what)
	}
}

func saved(t *testing.T, b []byte) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path, Config{})
}

func TestBackupIsOfOneMomentAndKeepsNobodyWaiting(t *testing.T) {
	for _, most := range []int64{0, 64 << 20} {
		t.Run(fmt.Sprintf("max size %d MiB", most>>20), func(t *testing.T) {
			s := fresh(t, Config{MaxSize: most})
			update(t, s, everything)
			if err := grow(t.Context(), s, 100, 20); err != nil {
				t.Fatal(err)
			}
			want := exported(t, s)
			out := newSlow()
			over := make(chan error, 1)
			go func() { over <- s.Backup(t.Context(), out) }()
			defer out.release()
			<-out.stuck
			// The file grows to many times its size, and readers come and go.
			within(t, "a writer", func() error { return grow(t.Context(), s, 1000, 400) })
			within(t, "a reader", func() error {
				return s.View(t.Context(), func(tx jobhost.Tx) error {
					n, err := tx.CountRuns(jobhost.RunQuery{Job: "a"})
					if n != 420 {
						t.Errorf("%d runs, want 420", n)
					}
					return err
				})
			})
			out.release()
			if err := <-over; err != nil {
				t.Fatalf("Backup: %v", err)
			}
			if d := cmp.Diff(exported(t, saved(t, out.Bytes())), want); d != "" {
				t.Errorf("the backup is not of the moment when it began (-got +want):\n%.2000s", d)
			}
		})
	}
}

// Though much is mapped, the file takes no more room than its records need.
func TestFileGrowsWithItsRecords(t *testing.T) {
	s := fresh(t, Config{})
	if size := sizeOf(t, s.path); size > 256<<10 {
		t.Errorf("a new file has %d bytes", size)
	}
	if err := grow(t.Context(), s, 0, 200); err != nil {
		t.Fatal(err)
	}
	if size := sizeOf(t, s.path); size < 200*64<<10 || size > 200*84<<10 {
		t.Errorf("with 12.5 MiB of outputs it has %d bytes", size)
	}
}

func TestBackupThatFillsTheStoreGivesUp(t *testing.T) {
	s := fresh(t, Config{MaxSize: 8 << 20})
	if err := grow(t.Context(), s, 0, 20); err != nil {
		t.Fatal(err)
	}
	out := newSlow()
	over := make(chan error, 1)
	go func() { over <- s.Backup(t.Context(), out) }()
	defer out.release()
	<-out.stuck
	replace := func() error { // the same record again and again: what it was waits for the backup
		return s.Update(t.Context(), func(tx jobhost.Tx) error { return tx.PutOutput(testID(1, t0), make([]byte, 256<<10)) })
	}
	n := 0
	for ; s.db.Stats().PendingPageN < 800; n++ {
		if err := replace(); err != nil {
			t.Fatalf("after %d times: %v", n, err)
		}
	}
	out.release()
	err := <-over
	if jobhost.CodeOf(err) != jobhost.StoreFull || !strings.Contains(err.Error(), "taken too slowly") {
		t.Errorf("Backup: %v; want %s", err, jobhost.StoreFull)
	}
	for range 3 * n {
		if err := replace(); err != nil {
			t.Fatalf("afterwards: %v; want the room to be free again", err)
		}
	}
}

// broken is a writer that fails.
type broken struct{ after int }

var errBroken = errors.New("the pipe is broken")

func (b *broken) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestLongReadsEndWithTheirReader(t *testing.T) {
	s := fresh(t, Config{})
	if err := grow(t.Context(), s, 0, 40); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(context.Context, io.Writer) error{"Backup": s.Backup, "Export": s.Export} {
		for _, after := range []int{0, 5000, 200_000} {
			if err := do(t.Context(), &broken{after}); !errors.Is(err, errBroken) || jobhost.CodeOf(err) != "" {
				t.Errorf("%s into a pipe that breaks after %d bytes: %v, want its error", name, after, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := do(ctx, writerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		})); !errors.Is(err, context.Canceled) {
			t.Errorf("%s that is cancelled: %v, want %v", name, err, context.Canceled)
		}
		if err := do(ctx, writerFunc(func([]byte) (int, error) {
			t.Errorf("%s writes after its context has ended", name)
			return 0, nil
		})); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after its context has ended: %v, want %v", name, err, context.Canceled)
		}
	}
	if n := s.db.Stats().OpenTxN; n != 0 {
		t.Errorf("%d transactions are open", n)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExportShowsDamagedRecordsAndGoesOn(t *testing.T) {
	var reports int
	s := fresh(t, Config{Report: func(Damage) { reports++ }})
	update(t, s, everything)
	before := strings.Split(strings.TrimSpace(exported(t, s)), "\n")
	raw(t, s, func(b *bolt.Tx) error {
		var errs []error
		for _, i := range []bucket{bJobs, bTriggers, bOpen, bRuns, bLogs, bOutputs, bNodes, bKeys, bValues} {
			records := b.Bucket([]byte(buckets[i]))
			k, _ := records.Cursor().First()
			errs = append(errs, records.Put(bytes.Clone(k), nil))
		}
		for _, i := range []bucket{bTriggers, bOpen, bRuns, bLogs, bOutputs, bCancels, bKeys, bValues} {
			errs = append(errs, b.Bucket([]byte(buckets[i])).Put([]byte("key"), []byte{1}))
		}
		return errors.Join(errs...)
	})
	whole, damaged := 0, map[string]int{}
	for line := range strings.Lines(exported(t, s)) {
		var l struct {
			Kind   string
			Record struct{ Bucket, Key, Error string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if l.Kind != "damaged" {
			whole++
			continue
		}
		damaged[l.Record.Bucket]++
		if l.Record.Key == "" || l.Record.Error == "" {
			t.Errorf("it does not say what is damaged: %s", line)
		}
	}
	want := map[string]int{"jobs": 1, "triggers": 2, "open": 2, "runs": 2, "logs": 2, "outputs": 2, "nodes": 1, "cancels": 1, "keys": 2, "values": 2}
	if d := cmp.Diff(damaged, want); d != "" || reports != 17 {
		t.Errorf("%d reports, want 17; damaged records by bucket (-got +want):\n%s", reports, d)
	}
	if want := len(before) - 10; whole != want { // nine records, one of them a chunk of two lines
		t.Errorf("%d lines of whole records, want %d", whole, want)
	}
}

func TestExportKeepsDataThatIsNoJSON(t *testing.T) {
	s := fresh(t, Config{})
	update(t, s, func(tx jobhost.Tx) error {
		j := jobhost.Job{JobDef: jobhost.NewJob("a", "p")}
		j.Data = []byte(`{"a":`)
		return tx.PutJobs(j)
	})
	if got := exported(t, s); !strings.Contains(got, `"data":"{\"a\":"`) {
		t.Errorf("got %s", got)
	}
}

func TestStatsCountEveryKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	s := open(t, path, Config{MaxSize: 32 << 20})
	empty, err := s.Stats(t.Context())
	if err != nil || !empty.OldestRun.IsZero() || !empty.NewestRun.IsZero() || empty.EndedRuns != 0 {
		t.Errorf("of a new store: %+v, %v", empty, err)
	}
	update(t, s, everything)
	if err := grow(t.Context(), s, 100, 20); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx jobhost.Tx) error {
		_, err := tx.PruneJobRuns("a", 1, 99)
		return err
	})
	want := Stats{
		Path: path, Format: 1, MaxSize: 32 << 20, PageSize: os.Getpagesize(),
		Jobs: 2, Triggers: 4, OpenRuns: 1, EndedRuns: 3, LogChunks: 2, Outputs: 4, Nodes: 1, CancelRequests: 1, IdempotencyKeys: 1, Values: 3,
		OldestRun: t0, NewestRun: t0.Add(2 * time.Minute),
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		got, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.FreePages < 100 || got.FreePages >= got.Pages || got.FreeShare != float64(got.FreePages)/float64(got.Pages) || got.Pages != int(info.Size())/got.PageSize {
			t.Errorf("%d of %d pages are free, %.2f of the file; want most of them after 19 outputs were deleted", got.FreePages, got.Pages, got.FreeShare)
		}
		want.Size, want.Pages, want.FreePages, want.FreeShare = info.Size(), got.Pages, got.FreePages, got.FreeShare
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("-got +want:\n%s", d)
		}
	}
	check(s)
	shut(t, s)
	want.MaxSize = 0
	check(open(t, path, Config{ReadOnly: true}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, path, Config{ReadOnly: true}).Stats(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Stats after the end of its context: %v", err)
	}
}

func TestLookingNeedsAFileAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	if _, err := Open(path, Config{ReadOnly: true}); jobhost.CodeOf(err) != jobhost.StoreUnreachable || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking has made a file: %v", err)
	}
	s := open(t, path, Config{})
	update(t, s, everything)
	if _, err := Open(path, Config{ReadOnly: true, LockTimeout: time.Millisecond}); !InUse(err) {
		t.Errorf("while somebody has it: %v", err)
	}
	want := exported(t, s)
	shut(t, s)
	before := read(t, path)
	one, two := open(t, path, Config{ReadOnly: true}), open(t, path, Config{ReadOnly: true})
	if exported(t, one) != want || exported(t, two) != want {
		t.Error("it looks different")
	}
	var b bytes.Buffer
	if err := two.Backup(t.Context(), &b); err != nil || exported(t, saved(t, b.Bytes())) != want {
		t.Errorf("the backup of a file that is looked at: %v", err)
	}
	if err := one.Update(t.Context(), func(tx jobhost.Tx) error { return tx.PutValue("a", "b", nil) }); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
		t.Errorf("Update: %v, want %s", err, jobhost.StoreUnreachable)
	}
	shut(t, one)
	shut(t, two)
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
}
