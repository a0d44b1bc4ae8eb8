package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// proof says that the long versions of tests are asked for, with JOBHOST_PROOF=1.
func proof() bool { return os.Getenv("JOBHOST_PROOF") != "" }

func TestManyRunsAndReloadsLeaveNothingBehind(t *testing.T) {
	t.Run("FR-37 heap, mapped memory, goroutines and files stay flat", func(t *testing.T) {
		const plugins, atOnce = 10, 20
		batch, reloads, rounds := 200, 4, 4 // the first round is not counted
		if proof() {
			batch, reloads, rounds = 1000, 10, 11
		}
		cfg := host.Defaults()
		cfg.Dir, cfg.Modules, cfg.Cache = t.TempDir(), filepath.Join(t.TempDir(), "modules"), filepath.Join(t.TempDir(), "cache")
		version := func(plugin, n int) {
			replace(t, filepath.Join(cfg.Dir, fmt.Sprintf("p%d.wasm", plugin)), says(fmt.Sprintf("plugin %d, version %d", plugin, n)))
		}
		for p := range plugins {
			version(p, 0)
		}
		h := openHost(t, cfg)
		round := func(n int) map[string]int {
			var runs sync.WaitGroup
			for i := range atOnce {
				runs.Go(func() {
					for k := i; k < batch; k += atOnce {
						out := h.Run(context.Background(), jobhost.Call{Plugin: fmt.Sprintf("p%d", k%plugins), Run: sample(""), Deadline: time.Now().Add(time.Minute)})
						if out.Code != "" || !strings.HasPrefix(string(out.Output), fmt.Sprintf("plugin %d, version ", k%plugins)) {
							t.Errorf("run %d: %+v", k, out)
						}
					}
				})
			}
			for i := range reloads { // meanwhile
				version(i%plugins, n*reloads+i+1)
				rescan(t, h)
			}
			runs.Wait()
			return footprint(t)
		}
		before := round(0)
		var after map[string]int
		for n := 1; n < rounds; n++ {
			after = round(n)
		}
		t.Logf("after the first round %v, at the end %v", before, after)
		allowed := map[string]int{"goroutines": 5, "files": 5, "mappings": 30, "heap": 2 << 20, "mapped": 512 << 20} // a run reserves 64 MiB of addresses
		for what, n := range after {
			if n > before[what]+allowed[what] {
				t.Errorf("%s grew from %d to %d", what, before[what], n)
			}
		}
	})
}

// footprint is usage with the bytes of the heap that are reachable, and of the address space.
func footprint(t *testing.T) map[string]int {
	t.Helper()
	for range 3 { // what has a finalizer is freed by the next collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage(t)
	u["heap"] = int(m.HeapAlloc)
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(status), "VmSize:")
		kib, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		u["mapped"] = kib << 10
	}
	return u
}

func TestAFileThatGoesAwayEndsNoRunOfItsTwin(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("both"))
	bin := g.reactor(g.call("log", 0, 16, 4), g.dump(16, 4))
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	for _, key := range []string{"a", "b"} {
		write(t, filepath.Join(cfg.Dir, key+".wasm"), bin)
	}
	h := openHost(t, cfg)
	b := &blocker{make(chan struct{}), make(chan struct{})}
	done := make(chan jobhost.Outcome)
	go func() { done <- h.Run(context.Background(), jobhost.Call{Plugin: "a", Run: sample(""), Sink: b}) }()
	<-b.reached
	if err := os.Remove(filepath.Join(cfg.Dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	rescan(t, h)
	if out, _ := run(t, h, "a", ""); out.Code != jobhost.NotFoundPlugin {
		t.Errorf("the plugin whose file is gone: %+v", out)
	}
	wantOutput(t, h, "b", "both")
	close(b.leave)
	out := <-done
	wantSuccess(t, out)
	if string(out.Output) != "both" {
		t.Errorf("the run that was going on says %q", out.Output)
	}
	wantOutput(t, h, "b", "both")
}
