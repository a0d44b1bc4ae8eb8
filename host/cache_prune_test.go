package host

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestTheCacheKeepsWhatIsInUseAndTheYoungestOfTheRest(t *testing.T) {
	c, err := openCache(t.Context(), filepath.Join(t.TempDir(), "cache"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close(context.Background()) })
	c.pruning.idle = 2_500
	digest := func(n int) string { return fmt.Sprintf("%064x", n) }
	file := func(name string, age time.Duration) string {
		name = filepath.Join(c.dir, name)
		at := time.Now().Add(-age)
		must(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, make([]byte, 500), 0o600), seal(name, make([]byte, 500)), os.Chtimes(name, at, at))
		return name
	}
	for n := range 6 { // each with its code, the first one the oldest; together 1,000 bytes
		at := time.Duration(10-n) * time.Hour
		code := file("wazero/"+digest(100+n), at)
		file(digest(n)+".wasm", at)
		must(t, os.WriteFile(filepath.Join(c.dir, digest(n)+codeList), []byte("wazero/"+digest(100+n)+"\n../../x\n"), 0o600))
		if n == 1 {
			must(t, c.used(digest(n), []string{code})) // as young as can be
		}
	}
	file("wazero/"+digest(200), 20*time.Hour) // of no module that is known
	must(t, c.prune(map[string]bool{digest(0): true}))
	var left []string
	for n := range 6 {
		_, a := os.Stat(filepath.Join(c.dir, digest(n)+".wasm"))
		_, b := os.Stat(filepath.Join(c.dir, "wazero", digest(100+n)))
		_, d := os.Stat(filepath.Join(c.dir, digest(n)+codeList))
		if (a == nil) != (b == nil) || (a == nil) != (d == nil) {
			t.Errorf("of module %d there are parts: %v, %v, %v", n, a, b, d)
		}
		if a == nil {
			left = append(left, strconv.Itoa(n))
		}
	}
	if diff := cmp.Diff(left, []string{"0", "1", "5"}); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "wazero", digest(200))); err == nil {
		t.Error("code of no module is still there")
	}
}

func TestCodeOfVersionsThatAreGoneIsNotKeptForEver(t *testing.T) {
	cfg := Defaults()
	cfg.Dir, cfg.Cache, cfg.Modules, cfg.KeepVersions = t.TempDir(), filepath.Join(t.TempDir(), "cache"), filepath.Join(t.TempDir(), "modules"), 2
	h, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	h.cache.pruning.idle = 0
	for version := range 5 {
		m := wasmtest.New()
		m.Export("jobhost_run", wasmtest.KindFunc, m.Func("-> i32", "", wasmtest.I32Const(int32(version))))
		m.Memory(1, 0)
		m.Export("memory", wasmtest.KindMemory, 0)
		next := filepath.Join(cfg.Dir, "p.new")
		must(t, os.WriteFile(next, m.Bytes(), 0o600), os.Rename(next, filepath.Join(cfg.Dir, "p.wasm")), h.Rescan(t.Context()), h.Ready(t.Context()))
	}
	files, err := h.cache.files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2*cfg.KeepVersions {
		t.Errorf("the cache has %s; want a module and its code for each of %d versions", strings.Join(files, ", "), cfg.KeepVersions)
	}
}
