package host_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// endings are guests and what must come of them, beside digest, fuel and memory.
var endings = map[string]struct {
	bin  func(g *guest) []byte
	want jobhost.Outcome
}{
	"success":              {func(g *guest) []byte { return g.reactor(zero) }, jobhost.Outcome{}},
	"success of a command": {func(g *guest) []byte { return g.command() }, jobhost.Outcome{}},
	"exit with success": {
		func(g *guest) []byte { return g.command(g.call("proc_exit", 0), wasmtest.Op(wasmtest.Unreachable)) }, jobhost.Outcome{},
	},
	"S-158 exits 3": {
		func(g *guest) []byte { return g.command(g.call("proc_exit", 3)) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "exited with code 3"},
	},
	"exits 65": {
		func(g *guest) []byte { return g.command(g.call("proc_exit", 65)) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "exited with code 65", Permanent: true},
	},
	"S-158 returns rubbish": {
		func(g *guest) []byte { return g.reactor(wasmtest.I32Const(-7)) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "jobhost_run returned -7"},
	},
	"exits before it is called": {
		func(g *guest) []byte {
			g.Export("_initialize", wasmtest.KindFunc, g.Func("->", "", g.call("proc_exit", 0)))
			return g.reactor(zero)
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap: exited before jobhost_run was called"},
	},
	"exits in its start function": {
		func(g *guest) []byte {
			g.Start(g.Func("->", "", g.call("proc_exit", 4)))
			return g.reactor(zero)
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "exited with code 4"},
	},
	"S-158 traps": {
		func(g *guest) []byte { return g.reactor(wasmtest.Op(wasmtest.Unreachable)) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap: unreachable"},
	},
	"divides by zero": {
		func(g *guest) []byte { return g.reactor(wasmtest.I32Const(1), zero, wasmtest.Op(0x6d)) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap: integer divide by zero"},
	},
	"reads outside memory": {
		func(g *guest) []byte {
			return g.reactor(wasmtest.I32Const(outside), wasmtest.Op(wasmtest.I32Load, 2, 0))
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap: out of bounds memory access"},
	},
	"traps in its start function": {
		func(g *guest) []byte {
			g.Start(g.Func("->", "", wasmtest.Op(wasmtest.Unreachable)))
			return g.reactor(zero)
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap: unreachable"},
	},
	"has data outside its memory": {
		func(g *guest) []byte { g.Data(3*page, []byte("x")); return g.reactor(zero) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "trap at start: data[0]: out of bounds memory access"},
	},
	"S-158 exceeds its memory": {
		func(g *guest) []byte { // grows by a page until it cannot, then gives up
			return g.reactor(forever(
				wasmtest.I32Const(1), wasmtest.Op(wasmtest.MemoryGrow, 0), wasmtest.I32Const(-1), wasmtest.Op(wasmtest.I32Eq),
				wasmtest.Op(wasmtest.If, wasmtest.Void), wasmtest.Op(wasmtest.Unreachable), wasmtest.Op(wasmtest.End),
			), zero)
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "out of memory: asked for 1088 KiB, the limit is 1 MiB; trap: unreachable"},
	},
	"has too much recursion": {
		func(g *guest) []byte {
			self := g.Func("->", "", wasmtest.Op(wasmtest.Call, uint32(len(imports))))
			return g.reactor(wasmtest.Op(wasmtest.Call, self), zero)
		},
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "stack overflow: the calls are nested too deeply"},
	},
	"uses up its fuel": {
		func(g *guest) []byte { return g.reactor(forever(), zero) },
		jobhost.Outcome{Code: jobhost.Unexpected, Message: "fuel used up: the limit is 5000000 instructions; raise max_fuel"},
	},
	"fails and succeeds": {
		func(g *guest) []byte {
			g.Data(16, []byte("E1"))
			return g.reactor(g.call("fail", 16, 2, 16, 2, 0), zero)
		},
		jobhost.Outcome{Code: "E1", Message: "E1"},
	},
	"fails and exits 65": {
		func(g *guest) []byte {
			g.Data(16, []byte("E1"))
			return g.command(g.call("fail", 16, 2, 16, 2, 0), g.call("proc_exit", 65))
		},
		jobhost.Outcome{Code: "E1", Message: "E1"},
	},
	"fails and traps": {
		func(g *guest) []byte {
			g.Data(16, []byte("E1"))
			return g.reactor(g.call("fail", 16, 2, 16, 2, 1), wasmtest.Op(wasmtest.Unreachable))
		},
		jobhost.Outcome{Code: "E1", Message: "E1", Permanent: true},
	},
}

func TestHowAGuestEndsIsItsOutcome(t *testing.T) {
	cfg := host.Defaults()
	bins, keys := map[string][]byte{}, map[string]string{}
	for name, e := range endings {
		keys[name] = strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		bins[keys[name]] = e.bin(newGuest())
		cfg.Grants = append(cfg.Grants, host.Grant{Job: "reports.nightly", Plugin: keys[name], MaxMemory: 1 << 20, MaxFuel: 5_000_000})
	}
	h := newHost(t, cfg, bins)
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, e := range endings {
		t.Run(name, func(t *testing.T) {
			out, _ := run(t, h, keys[name], "")
			got := jobhost.Outcome{Code: out.Code, Message: out.Message, Permanent: out.Permanent}
			if diff := cmp.Diff(got, e.want); diff != "" {
				t.Error(diff)
			}
			if len(out.Digest) != 64 || out.PeakMemory > 1<<20 {
				t.Errorf("digest %q, peak memory %d", out.Digest, out.PeakMemory)
			}
		})
	}
	t.Run("S-158 the host and other runs are unaffected", func(t *testing.T) {
		var runs sync.WaitGroup
		for range 4 {
			for name, e := range endings {
				runs.Go(func() {
					if out := h.Run(context.Background(), jobhost.Call{Plugin: keys[name], Run: sample("")}); out.Message != e.want.Message {
						t.Errorf("%s: %q, want %q", name, out.Message, e.want.Message)
					}
				})
			}
		}
		runs.Wait()
	})
}

// broken is a sink with a bug.
type broken struct{ lines map[string]int }

func (b broken) Log(_ int, msg string) { b.lines[msg]++ }

func (broken) Progress(int64, int64, string) {}

func TestAPanicOfTheHostIsTheRunsFailureAlone(t *testing.T) {
	g := newGuest()
	h := newHost(t, host.Defaults(), map[string][]byte{"p": g.reactor(g.call("log", 0, 0, 0), zero)})
	out := h.Run(t.Context(), jobhost.Call{Plugin: "p", Run: sample(""), Sink: broken{}})
	if out.Code != jobhost.Unexpected || out.Message != "host panic: assignment to entry in nil map" {
		t.Errorf("got %+v", out)
	}
	out, _ = run(t, h, "p", "")
	wantSuccess(t, out)
}

func TestATrapLeavesItsStackInTheLog(t *testing.T) {
	_, s := runOnce(t, newGuest().reactor(wasmtest.Op(wasmtest.Unreachable)))
	if diff := cmp.Diff(s.levels, []int{8}); diff != "" || !strings.HasPrefix(s.text(), "trap: unreachable\n") {
		t.Errorf("log is %q at %v", s.text(), s.levels)
	}
}

func TestFuelAndPeakMemoryAreMeasured(t *testing.T) {
	g := newGuest()
	out, _ := runOnce(t, g.reactor(wasmtest.I32Const(10), wasmtest.Op(wasmtest.MemoryGrow, 0), drop, zero))
	wantSuccess(t, out)
	if out.PeakMemory != 12*page || out.Fuel == 0 || out.Fuel > 10_000 {
		t.Errorf("peak memory %d, fuel %d", out.PeakMemory, out.Fuel)
	}
	g = newGuest()
	again, _ := runOnce(t, g.reactor(wasmtest.I32Const(10), wasmtest.Op(wasmtest.MemoryGrow, 0), drop, zero))
	if again.Fuel != out.Fuel {
		t.Errorf("the same run used %d, then %d", out.Fuel, again.Fuel)
	}
}

func TestAllRunsTogetherHaveAMemoryLimit(t *testing.T) {
	cfg := host.Defaults()
	cfg.MaxMemory, cfg.MaxTotalMemory = 10<<20, 15<<20
	g := newGuest()
	// Takes 8 MiB, says so, and fails if it got none.
	bin := g.reactor(wasmtest.I32Const(126), wasmtest.Op(wasmtest.MemoryGrow, 0), wasmtest.I32Const(-1), wasmtest.Op(wasmtest.I32Eq),
		wasmtest.Op(wasmtest.LocalSet, 0), g.call("log", 0, 0, 0), wasmtest.Op(wasmtest.LocalGet, 0))
	h := newHost(t, cfg, map[string][]byte{"p": bin})
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := &blocker{make(chan struct{}), make(chan struct{})}
	first := make(chan jobhost.Outcome)
	go func() { first <- h.Run(context.Background(), jobhost.Call{Plugin: "p", Run: sample(""), Sink: b}) }()
	<-b.reached
	out, _ := run(t, h, "p", "")
	if want := "out of memory: the host has no more for plugins (asked for 8 MiB; all runs together may have 15 MiB); jobhost_run returned 1"; out.Message != want {
		t.Errorf("got %+v, want message %q", out, want)
	}
	close(b.leave)
	wantSuccess(t, <-first)
	out, _ = run(t, h, "p", "")
	wantSuccess(t, out)
}

func TestDirectoriesThatAreGranted(t *testing.T) {
	top := t.TempDir()
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range []string{"in", "out"} {
		must(os.Mkdir(filepath.Join(top, d), 0o700))
	}
	must(os.WriteFile(filepath.Join(top, "in", "report"), []byte("numbers"), 0o600), os.WriteFile(filepath.Join(top, "secret"), []byte("no"), 0o600))
	cfg := host.Defaults()
	cfg.Cache = goCache(t)
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "command", Dirs: []host.Dir{
		{Host: filepath.Join(top, "in"), Guest: "/in", Mode: host.ReadOnly}, {Host: filepath.Join(top, "out"), Guest: "/out", Mode: host.ReadWrite},
	}}}
	h := newHost(t, cfg, map[string][]byte{"command": goGuest(t, "command")})
	for data, want := range map[string]string{
		`{"do":"read","path":"/in/report"}`:     "numbers",
		`{"do":"list","path":"/in"}`:            "report",
		`{"do":"write","path":"/out/result"}`:   "written",
		`{"do":"write","path":"/in/result"}`:    "!Read-only file system dirs /in",
		`{"do":"read","path":"/in/../secret"}`:  "!Bad file number",
		`{"do":"read","path":"/out/../secret"}`: "!Bad file number",
		`{"do":"read","path":"/in/none"}`:       "!No such file or directory",
		`{"do":"read","path":"/etc/passwd"}`:    "!Bad file number",
	} {
		out, _ := run(t, h, "command", data)
		got := string(out.Output)
		if out.Code != "" {
			said, denied, _ := strings.Cut(out.Message, "; the host denied: ")
			got = strings.TrimSpace("!" + said[strings.LastIndex(said, ": ")+2:] + " " + denied)
		}
		if got != want {
			t.Errorf("%s gave %q (%s), want %q", data, got, out.Message, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(top, "out", "result")); err != nil || string(b) != "from the guest" {
		t.Errorf("the file has %q, %v", b, err)
	}
	must(os.Remove(filepath.Join(top, "in", "report")), os.Remove(filepath.Join(top, "in")))
	if out, _ := run(t, h, "command", `{"do":"echo"}`); out.Code != jobhost.Unexpected || !strings.Contains(out.Message, filepath.Join(top, "in")) {
		t.Errorf("without its directory: %+v", out)
	}
}

func TestNothingIsLeftOver(t *testing.T) {
	t.Run("FR-37 goroutines, mappings and files stay flat", func(t *testing.T) {
		cfg := host.Defaults()
		cfg.MaxMemory = 1 << 20
		bins, keys := map[string][]byte{}, []string{}
		dir := t.TempDir()
		for name, e := range endings {
			key := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
			bins[key] = e.bin(newGuest())
			keys = append(keys, key)
			cfg.Grants = append(cfg.Grants, host.Grant{Job: "reports.nightly", Plugin: key, MaxFuel: 500_000, Dirs: []host.Dir{{Host: dir, Guest: "/d"}}})
		}
		h := newHost(t, cfg, bins)
		batch := func(n int) {
			var runs sync.WaitGroup
			for i := range 8 {
				runs.Go(func() {
					for k := i; k < n; k += 8 {
						h.Run(context.Background(), jobhost.Call{Plugin: keys[k%len(keys)], Run: sample(""), Deadline: time.Now().Add(time.Minute)})
					}
				})
			}
			runs.Wait()
		}
		defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector would close forgotten files
		batch(200)
		before := usage(t)
		batch(1_000)
		for what, n := range usage(t) {
			if n > before[what]+50 { // a leak would be hundreds; the Go runtime's own mappings vary
				t.Errorf("%s grew from %d to %d", what, before[what], n)
			}
		}
	})
}

// usage counts what a leak would let grow.
func usage(t *testing.T) map[string]int {
	t.Helper()
	u := map[string]int{"goroutines": runtime.NumGoroutine()}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		u["mappings"] = strings.Count(string(maps), "\n")
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		u["files"] = len(fds)
	}
	return u
}
