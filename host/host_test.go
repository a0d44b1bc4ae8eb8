package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// TestMain sets what the command sets: a processor more than there are compute slots.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	dir, err := os.MkdirTemp("", "guests-")
	if err != nil {
		log.Fatal(err)
	}
	goGuests.dir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

// sink keeps the lines of a run's log.
type sink struct {
	mu     sync.Mutex
	levels []int
	lines  []string

	progress []string // as "done/total text"
}

func (s *sink) Log(level int, msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.levels, s.lines = append(s.levels, level), append(s.lines, msg)
}

func (s *sink) Progress(done, total int64, msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, fmt.Sprintf("%d/%d %s", done, total, msg))
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// newHost returns a host with plugins by key, all of them ready or known to be broken.
func newHost(tb testing.TB, cfg host.Config, plugins map[string][]byte) *host.Host {
	tb.Helper()
	cfg.Dir = tb.TempDir()
	for key, bin := range plugins {
		write(tb, filepath.Join(cfg.Dir, key+".wasm"), bin)
	}
	return openHost(tb, cfg)
}

func openHost(tb testing.TB, cfg host.Config) *host.Host {
	tb.Helper()
	h, err := host.New(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if err := h.Ready(tb.Context()); err != nil && jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		tb.Fatal(err)
	}
	return h
}

func write(tb testing.TB, file string, bin []byte) {
	tb.Helper()
	if err := os.WriteFile(file, bin, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// sample is a run as an engine would hand it over.
func sample(data string) jobhost.Run {
	return jobhost.Run{
		ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "reports.nightly", Trigger: "workdays", Kind: jobhost.KindSchedule,
		Attempt: 1, ScheduledAt: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC), Data: json.RawMessage(data), Node: "n1",
	}
}

// run runs a plugin without a limit.
func run(tb testing.TB, h *host.Host, plugin, data string) (jobhost.Outcome, *sink) {
	tb.Helper()
	s := &sink{}
	return h.Run(tb.Context(), jobhost.Call{Plugin: plugin, Run: sample(data), Sink: s}), s
}

// runOnce loads a module into a host of its own and runs it without a limit.
func runOnce(tb testing.TB, bin []byte) (jobhost.Outcome, *sink) {
	tb.Helper()
	h := newHost(tb, host.Defaults(), map[string][]byte{"guest": bin})
	if err := h.Ready(tb.Context(), "guest"); err != nil {
		tb.Fatal(err)
	}
	return run(tb, h, "guest", `{"name":"world"}`)
}

// wantSuccess fails the test unless the outcome is a success.
func wantSuccess(tb testing.TB, out jobhost.Outcome) {
	tb.Helper()
	if out.Code != "" {
		tb.Fatalf("run failed: %s: %s", out.Code, out.Message)
	}
}

// guest is a module in the making that imports what guests need.
type guest struct {
	*wasmtest.Module
	imported map[string]uint32
}

// imports are those of every guest, as "module.name" with their types.
var imports = []struct{ module, name, sig string }{
	{"jobhost_v1", "run", "i32 i32 -> i32"},
	{"jobhost_v1", "input", "i32 i32 -> i32"},
	{"jobhost_v1", "output", "i32 i32 ->"},
	{"jobhost_v1", "fail", "i32 i32 i32 i32 i32 ->"},
	{"jobhost_v1", "log", "i32 i32 i32 ->"},
	{"jobhost_v1", "cancelled", "-> i32"},
	{"jobhost_v1", "deadline_ms", "-> i64"},
	{"jobhost_v1", "sleep_ms", "i64 -> i32"},
	{"jobhost_v1", "progress", "i64 i64 i32 i32 ->"},
	{"jobhost_v1", "kv_get", "i32 i32 i32 i32 -> i32"},
	{"jobhost_v1", "kv_set", "i32 i32 i32 i32 -> i32"},
	{"jobhost_v1", "kv_delete", "i32 i32 -> i32"},
	{"jobhost_v1", "kv_list", "i32 i32 i32 i32 -> i32"},
	{"jobhost_v1", "http_send", "i32 i32 i32 i32 -> i32"},
	{"jobhost_v1", "http_status", "i32 -> i32"},
	{"jobhost_v1", "http_headers", "i32 i32 i32 -> i32"},
	{"jobhost_v1", "http_read", "i32 i32 i32 -> i32"},
	{"jobhost_v1", "http_close", "i32 ->"},
	{"jobhost_v1", "span_start", "i32 i32 -> i32"},
	{"jobhost_v1", "span_end", "i32 i32 ->"},
	{"jobhost_v1", "span_attr", "i32 i32 i32 i32 i32 ->"},
	{"jobhost_v1", "event", "i32 i32 ->"},
	{"wasi_snapshot_preview1", "environ_get", "i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "environ_sizes_get", "i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "fd_write", "i32 i32 i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "fd_pwrite", "i32 i32 i32 i64 i32 -> i32"},
	{"wasi_snapshot_preview1", "fd_renumber", "i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "poll_oneoff", "i32 i32 i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "random_get", "i32 i32 -> i32"},
	{"wasi_snapshot_preview1", "sched_yield", "-> i32"},
	{"wasi_snapshot_preview1", "proc_exit", "i32 ->"},
	{"env", "abort", "i32 i32 i32 i32 ->"},
}

// newGuest returns a guest with a memory of 2 pages that may grow to 64 MiB.
func newGuest() *guest {
	g := &guest{wasmtest.New(), map[string]uint32{}}
	for _, i := range imports {
		g.imported[i.name] = g.ImportFunc(i.module, i.name, i.sig)
	}
	g.Memory(2, 1024)
	g.Export("memory", wasmtest.KindMemory, 0)
	return g
}

// call calls an imported function with i32 constants.
func (g *guest) call(name string, args ...int32) []byte {
	var code []byte
	for _, a := range args {
		code = append(code, wasmtest.I32Const(a)...)
	}
	index, ok := g.imported[name]
	if !ok {
		panic("no import " + name)
	}
	return append(code, wasmtest.Op(wasmtest.Call, index)...)
}

// reactor adds jobhost_run, which has three i32 and one i64 as locals, and returns the module.
func (g *guest) reactor(code ...[]byte) []byte {
	g.Export("jobhost_run", wasmtest.KindFunc, g.Func("-> i32", "i32 i32 i32 i64", code...))
	return g.Bytes()
}

// command adds _start and returns the module.
func (g *guest) command(code ...[]byte) []byte {
	g.Export("_start", wasmtest.KindFunc, g.Func("->", "i32 i32 i32 i64", code...))
	return g.Bytes()
}

var (
	zero = wasmtest.I32Const(0)
	drop = wasmtest.Op(wasmtest.Drop)
)

// forever is a loop without an end.
func forever(code ...[]byte) []byte {
	out := wasmtest.Op(wasmtest.Loop, wasmtest.Void)
	for _, c := range code {
		out = append(out, c...)
	}
	return append(append(out, wasmtest.Op(wasmtest.Br, 0)...), wasmtest.End)
}

// goGuests are programs in Go, compiled once for all tests.
var goGuests struct {
	sync.Mutex
	dir   string
	built map[string][]byte
}

// goGuest compiles testdata/<name>.go for WASI, with further arguments for go build.
func goGuest(tb testing.TB, name string, args ...string) []byte {
	tb.Helper()
	goGuests.Lock()
	defer goGuests.Unlock()
	if bin, ok := goGuests.built[name]; ok {
		return bin
	}
	file := filepath.Join(goGuests.dir, name+".wasm")
	args = append(append([]string{"build", "-ldflags=-s -w", "-o", file}, args...), filepath.Join("testdata", name+".go"))
	cmd := exec.CommandContext(tb.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build %s: %v\n%s", name, err, out)
	}
	bin, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if goGuests.built == nil {
		goGuests.built = map[string][]byte{}
	}
	goGuests.built[name] = bin
	return bin
}

// goCache is a cache folder that the Go guests of all tests share, since compiling them takes seconds.
func goCache(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(goGuests.dir, "cache")
}
