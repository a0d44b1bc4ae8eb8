package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost/host"
)

// cached returns the files of the cache that hold code, compiled and instrumented.
func cached(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && regexp.MustCompile(`^[0-9a-f]{64}(\.wasm)?$`).MatchString(d.Name()) {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheCacheKeepsCodeAndSurvivesDamage(t *testing.T) {
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	cfg.Cache = filepath.Join(t.TempDir(), "cache")
	write(t, filepath.Join(cfg.Dir, "p.wasm"), says("cached"))
	once := func(t *testing.T) {
		t.Helper()
		h := openHost(t, cfg)
		wantOutput(t, h, "p", "cached")
		if err := h.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	once(t)
	files := cached(t, cfg.Cache)
	if len(files) != 2 {
		t.Fatalf("the cache holds %v, want an instrumented module and its code", files)
	}
	stamp := func() (out []os.FileInfo) {
		for _, f := range files {
			st, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, st)
		}
		return out
	}
	first := stamp()
	once(t)
	for i, st := range stamp() {
		if !os.SameFile(st, first[i]) {
			t.Errorf("%s was written again", files[i])
		}
	}
	damages := map[string]func(b []byte) []byte{
		"cut off":       func(b []byte) []byte { return b[:len(b)/2] },
		"empty":         func([]byte) []byte { return nil },
		"a flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"a huge count":  func(b []byte) []byte { copy(b[20:], "\xff\xff\xff\x7f"); return b },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			var good [][]byte
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				good = append(good, append([]byte{}, b...))
				if err := os.WriteFile(f, damage(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			once(t)
			for i, f := range files {
				b, err := os.ReadFile(f)
				if err != nil || string(b) != string(good[i]) {
					t.Errorf("%s was not made again (%v)", f, err)
				}
			}
		})
	}
	t.Run("while the host runs", func(t *testing.T) {
		h := openHost(t, cfg)
		for _, f := range cached(t, cfg.Cache) {
			if err := os.WriteFile(f, []byte("WAZEVO"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(cfg.Dir, "p.wasm")); err != nil {
			t.Fatal(err)
		}
		rescan(t, h) // forgets the code in memory
		write(t, filepath.Join(cfg.Dir, "p.wasm"), says("cached"))
		rescan(t, h)
		wantOutput(t, h, "p", "cached")
	})
}

func TestTheCacheIsTidiedUp(t *testing.T) {
	cfg := host.Defaults()
	cfg.Cache = filepath.Join(t.TempDir(), "cache")
	h := openHost(t, cfg)
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	ours, err := filepath.Glob(filepath.Join(cfg.Cache, "plugins-*"))
	if err != nil || len(ours) != 1 {
		t.Fatalf("the cache has %v, %v", ours, err)
	}
	name := strings.Repeat("ab", 32)
	long := time.Now().Add(-100 * 24 * time.Hour)
	gone := map[string]bool{
		filepath.Join(cfg.Cache, "plugins-0-0"): true, // another version, long unused
		filepath.Join(cfg.Cache, "plugins-9-9"): false,
		filepath.Join(ours[0], ".1.tmp"):        true,
		filepath.Join(ours[0], ".2.tmp"):        false, // perhaps still being written
		filepath.Join(ours[0], name):            true,  // without a checksum
		filepath.Join(ours[0], "another file"):  false,
	}
	for file, old := range map[string]bool{"plugins-0-0": true, "plugins-9-9": false} {
		dir := filepath.Join(cfg.Cache, file)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, file := range []string{".1.tmp", ".2.tmp", name, "another file"} {
		write(t, filepath.Join(ours[0], file), []byte("x"))
	}
	if err := os.Chtimes(filepath.Join(ours[0], ".1.tmp"), long, long); err != nil {
		t.Fatal(err)
	}
	openHost(t, cfg)
	for file, want := range gone {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) != want {
			t.Errorf("%s: %v, gone should be %v", file, err, want)
		}
	}
}

// logLines is a log that keeps its lines.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func TestACacheThatCannotBeWrittenIsOnlySlower(t *testing.T) {
	const said = "compiled plugins cannot be kept"
	open := func(t *testing.T, cache string) (*host.Host, host.Config, *logLines) {
		t.Helper()
		log := &logLines{}
		cfg := host.Defaults()
		cfg.Dir, cfg.Cache, cfg.Log = t.TempDir(), cache, slog.New(slog.NewTextHandler(log, nil))
		write(t, filepath.Join(cfg.Dir, "a.wasm"), says("one"))
		write(t, filepath.Join(cfg.Dir, "b.wasm"), says("two"))
		return openHost(t, cfg), cfg, log
	}
	t.Run("from the start", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, nil)
		h, _, log := open(t, filepath.Join(file, "cache"))
		wantOutput(t, h, "a", "one")
		wantOutput(t, h, "b", "two")
		if n := log.count(said); n != 1 {
			t.Errorf("it is said %d times", n)
		}
	})
	t.Run("later", func(t *testing.T) {
		cache := filepath.Join(t.TempDir(), "cache")
		h, cfg, log := open(t, cache)
		ours, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil || len(ours) != 1 {
			t.Fatalf("the cache has %v, %v", ours, err)
		}
		if err := os.RemoveAll(ours[0]); err != nil { // whatever is written now fails, as on a full disk
			t.Fatal(err)
		}
		for i, text := range []string{"three", "four"} {
			write(t, filepath.Join(cfg.Dir, text+".wasm"), says(text))
			rescan(t, h)
			wantOutput(t, h, text, text)
			if n := log.count(said); n != 1 {
				t.Errorf("after %d more plugins it is said %d times", i+1, n)
			}
		}
		wantOutput(t, h, "a", "one")
	})
}
