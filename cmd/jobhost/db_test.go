package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
)

// shelf is a store whose backup is what a test makes it.
type shelf struct {
	api.StoreKeeper

	copy func(context.Context, io.Writer) error
}

func (s shelf) BackupStore(ctx context.Context, w io.Writer) error { return s.copy(ctx, w) }

func TestACopyThatFailsLeavesNothingBehind(t *testing.T) {
	for name, c := range map[string]struct {
		copy func(context.Context, io.Writer) error
		code int
		want string
	}{
		"it breaks off": {func(_ context.Context, w io.Writer) error {
			_, err := w.Write(make([]byte, 1<<20))
			return errors.Join(err, errors.New("the server has had enough"))
		}, exitUnreachable, "broke off"},
		"it is refused": {func(context.Context, io.Writer) error {
			return &jobhost.Error{Code: jobhost.StoreFull, Msg: "taken too slowly"}
		}, exitFailed, "taken too slowly"},
		"it is no store": {func(_ context.Context, w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte("no store"), 10_000))
			return err
		}, exitFailed, "is no store of jobhost"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := api.Defaults()
			cfg.Store = shelf{copy: c.copy}
			server := httptest.NewServer(api.NewHandler(api.NewClient("http://nowhere", nil), cfg)) // no scheduler is asked
			defer server.Close()
			dir := t.TempDir()
			old := filepath.Join(dir, "old.db")
			if err := os.WriteFile(old, []byte("what was saved before"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{filepath.Join(dir, "new.db"), old} {
				var said strings.Builder
				code := run([]string{"db", "backup", file, "--force", "--server", server.URL}, nil, io.Discard, &said, nil)
				if code != c.code || !strings.Contains(said.String(), c.want) {
					t.Errorf("exit code %d, %q; want %d and %q", code, said.String(), c.code, c.want)
				}
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 1 || files[0].Name() != "old.db" {
				t.Errorf("there are %v, %v; want the old one alone", files, err)
			}
			if b, err := os.ReadFile(old); err != nil || string(b) != "what was saved before" {
				t.Errorf("the old one is %q, %v", b, err)
			}
		})
	}
}

func TestAnInterruptedBackupLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	cfg := api.Defaults()
	cfg.Store = shelf{copy: func(ctx context.Context, w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}}
	server := httptest.NewServer(api.NewHandler(api.NewClient("http://nowhere", nil), cfg)) // no scheduler is asked
	defer server.Close()
	f := newFolder(t, "")
	p := f.launch("db", "backup", "saved.db", "--server", server.URL)
	<-asked
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != exitInterrupted || !strings.Contains(p.log.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, p.log)
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*saved*"))
	hidden, e2 := filepath.Glob(filepath.Join(f.dir, ".*saved*"))
	if len(files)+len(hidden) != 0 || err != nil || e2 != nil {
		t.Errorf("there are %q and %q", files, hidden)
	}
}

func TestAFileThatComesMeanwhileIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.db")
	out, err := create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer out.discard()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := out.finish(func(string) error { return nil }); exitCode(err) != exitConflict {
		t.Errorf("finish: %v; want it refused", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestLongWorkTellsHowFarItIs(t *testing.T) {
	var said strings.Builder
	m := (&cli{err: &said}).meter("backup")
	w := m.writer(io.Discard)
	write := func() {
		if _, err := w.Write(make([]byte, 3<<20)); err != nil {
			t.Fatal(err)
		}
	}
	write()
	m.said = m.said.Add(-sayEvery)
	write()
	write()
	m.said = m.said.Add(-sayEvery)
	m.at(5<<30, 20<<30)
	if got, want := said.String(), "backup: 6.0 MiB\nbackup: 5.0 GiB of about 20.0 GiB\n"; got != want {
		t.Errorf("said %q; want %q", got, want)
	}
}

func TestSizesAreReadable(t *testing.T) {
	for n, want := range map[int64]string{0: "0.0 KiB", 512: "0.5 KiB", 24 << 10: "24.0 KiB", 3 << 19: "1.5 MiB", 1 << 40: "1.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %q; want %q", n, got, want)
		}
	}
}

// emptied makes a store of some MiB in the folder, most of which is free.
func (f *folder) emptied() (path string, size int64) {
	f.Helper()
	path = filepath.Join(f.dir, ".jobhost", "jobhost.db")
	s, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		f.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			f.Fatal(err)
		}
	}()
	at := time.Now().UTC().Truncate(time.Second)
	for n := range 5 {
		if err := s.Update(f.Context(), func(tx jobhost.Tx) error {
			r := jobhost.Run{
				ID: jobhost.NewRunID(at, [10]byte{byte(n)}), Job: "a", Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: at,
				State: jobhost.RunSucceeded, Node: "n", StartedAt: at, EndedAt: at,
			}
			return errors.Join(tx.PutRuns(r), tx.PutOutput(r.ID, make([]byte, 1<<20)))
		}); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.Update(f.Context(), func(tx jobhost.Tx) error {
		_, err := tx.PruneJobRuns("a", 1, 9)
		return err
	}); err != nil {
		f.Fatal(err)
	}
	return path, f.size(path)
}

func (f *folder) size(path string) int64 {
	f.Helper()
	info, err := os.Stat(path)
	if err != nil {
		f.Fatal(err)
	}
	return info.Size()
}

func TestAStartCompactsAStoreThatIsMostlyFree(t *testing.T) {
	t.Parallel()
	for _, above := range []int{50, 0} {
		f := newFolder(t, fmt.Sprintf("store: {compact_above: %d, compact_min_size: 1MiB}\n", above))
		path, before := f.emptied()
		p := f.serve()
		if after := f.size(path); (after < before/2) != (above > 0) {
			t.Errorf("above %d %%: the file had %d bytes and has %d", above, before, after)
		}
		if said := strings.Contains(p.log.String(), `msg="the store was compacted" before="`); said != (above > 0) {
			t.Errorf("above %d %%: the log says so: %v", above, said)
		}
		st, err := p.api.StoreStats(t.Context())
		if err != nil || st.EndedRuns != 1 || st.Outputs != 1 || st.Size != f.size(path) {
			t.Errorf("stats: %+v, %v", st, err)
		}
		p.stop()
	}
}
