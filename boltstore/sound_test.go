package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

// stocked is a file with records of each kind on more than a hundred pages.
func stocked(t *testing.T) []byte {
	t.Helper()
	s := fresh(t, Config{})
	update(t, s, everything)
	for n := range 10 {
		update(t, s, func(tx jobhost.Tx) error {
			for i := range 20 {
				r := succeeded(testRun(100+20*n+i, fmt.Sprintf("job-%d", i%7), t0.Add(time.Duration(n)*time.Hour)), t0.Add(48*time.Hour))
				r.Data = bytes.Repeat([]byte(`{"a":1} `), 40)
				if err := errors.Join(tx.PutRuns(r), tx.AppendLog(r.ID, bytes.Repeat([]byte("line\n"), i)), tx.PutOutput(r.ID, bytes.Repeat([]byte("o"), 100*i))); err != nil {
					return err
				}
			}
			return tx.PutTriggers(testTrigger("report", fmt.Sprintf("t-%d", n), t0))
		})
	}
	update(t, s, func(tx jobhost.Tx) error { // free pages in the middle
		_, err := tx.PruneJobRuns("job-3", 5, 1000)
		return err
	})
	shut(t, s)
	b, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spoiled is a damaged copy of a file.
func spoiled(t *rapid.T, file []byte) []byte {
	b := bytes.Clone(file)
	at := func() int { return rapid.IntRange(0, len(b)-1).Draw(t, "at") }
	page := func() []byte { i := at() / 4096 * 4096; return b[i:min(i+4096, len(b))] }
	for range rapid.IntRange(1, 3).Draw(t, "damages") {
		switch rapid.SampledFrom([]string{"bit", "head", "byte", "zeros", "noise", "page", "cut", "swap"}).Draw(t, "damage") {
		case "bit":
			b[at()] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "head": // where flips hurt most
			p := page()
			p[rapid.IntRange(0, min(200, len(p)-1)).Draw(t, "in")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "byte":
			b[at()] = rapid.Byte().Draw(t, "byte")
		case "zeros":
			i := at()
			clear(b[i:min(len(b), i+512)])
		case "noise":
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			p := page()
			for i := range p {
				p[i] = byte(r.Uint32())
			}
		case "page":
			clear(page())
		case "cut":
			b = b[:max(1, at())]
		case "swap":
			copy(page(), bytes.Clone(page()))
		}
	}
	return b
}

// useAll reads every record and changes some. Whatever the file holds, errors have their code.
func useAll(t *rapid.T, s *Store, now func()) {
	coded := func(what string, err error) {
		if err != nil && jobhost.CodeOf(err) == "" {
			t.Errorf("%s: %v has no code", what, err)
		}
	}
	ctx := t.Context()
	read := func() {
		coded("Export", s.Export(ctx, io.Discard))
		coded("Backup", s.Backup(ctx, io.Discard))
		_, err := s.Stats(ctx)
		coded("Stats", err)
		coded("View", s.View(ctx, func(tx jobhost.Tx) error {
			due, _ := tx.Due(jobhost.DueQuery{Now: t0.Add(time.Hour), Limit: 100})
			_, _ = tx.QueryRuns(jobhost.RunQuery{Job: "job-1", Limit: 100})
			_, _ = tx.CountRuns(jobhost.RunQuery{})
			for _, d := range due {
				_, _ = tx.Jobs(d.Key.Job)
			}
			return nil
		}))
	}
	read()
	now()
	read()
	for range 3 {
		coded("Update", s.Update(ctx, func(tx jobhost.Tx) error {
			_ = everything(tx) // whatever becomes of it is committed
			_, _ = tx.PruneRuns(t0.Add(72*time.Hour), 50)
			return tx.DeleteJobs("job-2")
		}))
	}
	read()
}

func TestDamagedFileIsRefusedOrUsedAndNeverEndsTheProcess(t *testing.T) {
	file, dir := stocked(t), t.TempDir()
	refusals, n := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		bad := spoiled(t, file)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Config{Report: func(Damage) {}})
		if err == nil {
			s.db.NoSync = true
			useAll(t, s, func() {})
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			return
		}
		refusals++
		if jobhost.CodeOf(err) != jobhost.StoreUnreachable || !strings.Contains(err.Error(), path) {
			t.Errorf("Open: %v; want %s with the path", err, jobhost.StoreUnreachable)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
			t.Errorf("a file that was refused was written to, or is gone: %v", err)
		}
	})
	if refusals == 0 {
		t.Error("no damage was found at all")
	}
}

func TestFileCutAnywhereIsRefused(t *testing.T) {
	file := stocked(t)
	h, err := current(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	needed := int(h.pages) * int(h.page)
	path := filepath.Join(t.TempDir(), "jobhost.db")
	for _, n := range []int{0, 1, 15, 16, 17, 79, 80, 81, 4095, 4096, 4097, 8191, 8192, 8193, 16384, needed / 2, needed/2 + 1, needed - 4096, needed - 1} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			if err := os.WriteFile(path, file[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			for _, cfg := range []Config{{}, {ReadOnly: true}} {
				_, err := Open(path, cfg)
				if !Damaged(err) || !strings.Contains(err.Error(), "put a backup in its place") {
					t.Errorf("Open with %d of %d bytes: %v; want that the file is damaged, and what to do", n, needed, err)
				}
			}
			if _, err := Compact(t.Context(), path, nil); !Damaged(err) {
				t.Errorf("Compact: %v; want that the file is damaged", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, file[:n]) {
				t.Errorf("the file was written to: %v", err)
			}
		})
	}
}

// A flipped bit in what holds the pages together is noticed before anything is written.
func TestEveryDamagedPageIsFound(t *testing.T) {
	file := stocked(t)
	if err := inspect(bytes.NewReader(file), int64(len(file))); err != nil {
		t.Fatalf("a sound file: %v", err)
	}
	pages := pagesInUse(t, file)
	if len(pages) < 50 {
		t.Fatalf("pages %v are in use; want more of them", pages)
	}
	for _, page := range pages {
		bad := bytes.Clone(file)
		clear(bad[page*4096 : (page+1)*4096])
		if err := inspect(bytes.NewReader(bad), int64(len(bad))); !errors.Is(err, errDamaged) {
			t.Errorf("page %d without its content: %v", page, err)
		}
	}
}

// pagesInUse asks bbolt which pages of a file begin something that is in use.
func pagesInUse(t *testing.T, file []byte) (pages []int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobhost.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		for id := 2; ; {
			p, err := tx.Page(id)
			if err != nil || p == nil {
				return err
			}
			if p.Type == "free" {
				id++
				continue
			}
			pages = append(pages, id)
			id += 1 + p.OverflowCount
		}
	}); err != nil {
		t.Fatal(err)
	}
	return pages
}

func FuzzInspect(f *testing.F) {
	path := filepath.Join(f.TempDir(), "small.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 1 << 10})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"a", "b"} {
			b, err := tx.CreateBucket([]byte(name))
			for i := range 40 {
				err = errors.Join(err, b.Put(fmt.Append(nil, name, i), bytes.Repeat([]byte("v"), i*7%300)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}), db.Close()); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, in []byte) {
		b := bytes.Clone(in)
		if len(b) >= pageHead+metaLen { // whatever else it says, it says that it is whole
			m := b[pageHead:][:metaLen]
			order.PutUint32(m, magic)
			sum := fnv.New64a()
			_, _ = sum.Write(m[:metaLen-8])
			order.PutUint64(m[metaLen-8:], sum.Sum64())
		}
		if err := inspect(bytes.NewReader(b), int64(len(b))); err != nil && !errors.Is(err, errDamaged) {
			t.Errorf("%v does not say that the file is damaged", err)
		}
	})
}

func TestFileThatIsDamagedWhileItIsOpenIsAnError(t *testing.T) {
	file, dir := stocked(t), t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Config{Report: func(Damage) {}})
		if err != nil {
			t.Fatal(err)
		}
		s.db.NoSync = true
		useAll(t, s, func() {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			pages := len(file) / 4096
			if rapid.Bool().Draw(t, "cut") {
				err = f.Truncate(int64(rapid.IntRange(0, pages-1).Draw(t, "pages")) * 4096)
			} else {
				b := make([]byte, 4096)
				if rapid.Bool().Draw(t, "noise") {
					r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
					for i := range b {
						b[i] = byte(r.Uint32())
					}
				}
				_, err = f.WriteAt(b, int64(rapid.IntRange(0, pages-1).Draw(t, "page"))*4096)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestNothingIsWrittenAfterDamageWasFound(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "jobhost.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, everything)
	if err := os.Truncate(s.path, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Update(t.Context(), everything)
		if !Damaged(err) || jobhost.CodeOf(err) != jobhost.StoreUnreachable || !strings.Contains(err.Error(), s.path) {
			t.Errorf("Update: %v; want that the file is damaged, with its path", err)
		}
	}
	if err := s.View(t.Context(), func(jobhost.Tx) error { return nil }); !Damaged(err) {
		t.Errorf("View: %v; want that the file is damaged", err)
	}
	if info, err := os.Stat(s.path); err != nil || info.Size() != 0 {
		t.Errorf("the file was written to: %v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestPanicOfACallerGoesOn(t *testing.T) {
	s := fresh(t, Config{})
	for name, use := range map[string]func(func(jobhost.Tx) error) error{
		"View":   func(f func(jobhost.Tx) error) error { return s.View(t.Context(), f) },
		"Update": func(f func(jobhost.Tx) error) error { return s.Update(t.Context(), f) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != "mine" {
					t.Errorf("recovered %v; want the panic of the function", got)
				}
				update(t, s, everything) // and the store can be used
			}()
			_ = use(func(jobhost.Tx) error { panic("mine") })
		})
	}
}
