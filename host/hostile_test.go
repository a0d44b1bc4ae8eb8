package host_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestWhatAModuleSaysIsBoundedWhereItIsRepeated(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%d%s", i, strings.Repeat("ü", 25_000)) }
	unknown := func(m *wasmtest.Module) {
		for i := range 200 {
			m.ImportFunc("env", long(i), "->")
		}
	}
	types := func(m *wasmtest.Module) {
		for range 200 {
			m.ImportFunc("jobhost_v1", "log", strings.Repeat("i64 ", 1_000)+"->")
		}
	}
	entry := func(m *wasmtest.Module) {
		m.Export("_initialize", wasmtest.KindFunc, m.Func(strings.Repeat("i64 ", 1_000)+"->", ""))
	}
	for name, test := range map[string]struct {
		module func(*wasmtest.Module)
		want   string
	}{
		"unknown imports":             {unknown, " and 180 more"},
		"imports of another type":     {types, "180 more imports have another type than the host's"},
		"an entry of another type":    {entry, " and 984 more; want () -> ()"},
		"controls of terminals":       {func(m *wasmtest.Module) { m.ImportFunc("env", "a\x1b[2J\u202eb\xff\n", "->") }, "env.a\uFFFD[2J\uFFFDb\uFFFD\uFFFD"},
		"names of what is not a func": {func(m *wasmtest.Module) { m.Import("env", long(1), wasmtest.KindGlobal, []byte{wasmtest.I32, 0}) }, "… (a global)"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			cfg := host.Defaults()
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			bin := with(test.module)
			h := newHost(t, cfg, map[string][]byte{"big": bin})
			list, err := h.Plugins(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("plugins: %d, %v", len(list), err)
			}
			if p := list[0].Problem; len(p) > 5<<10 || !utf8.ValidString(p) {
				t.Errorf("the problem has %d bytes: %.200q", len(p), p)
			}
			if log.Len() > 16<<10 {
				t.Errorf("the log has %d bytes", log.Len())
			}
			file := filepath.Join(t.TempDir(), "big.wasm")
			write(t, file, bin)
			in, err := h.Inspect(file)
			if err != nil {
				t.Fatal(err)
			}
			if problems := strings.Join(in.Problems, "; "); !strings.Contains(problems, test.want) {
				t.Errorf("problems are %q; want %q in it", problems, test.want)
			}
			for _, s := range slices.Concat(in.Imports, in.Exports) {
				if utf8.RuneCountInString(s.Name) > 81 || len(s.Type) > 200 {
					t.Fatalf("a symbol is %.300q", s)
				}
			}
		})
	}
}

func TestAnInspectionListsAThousandSymbols(t *testing.T) {
	file := filepath.Join(t.TempDir(), "many.wasm")
	write(t, file, with(func(m *wasmtest.Module) {
		for i := range 1_200 {
			m.ImportFunc("env", fmt.Sprintf("f%d", i), "->")
		}
		m.Custom(strings.Repeat("s", 1_000), nil)
	}))
	in, err := openHost(t, host.Defaults()).Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(in.Imports); n != 1_001 || in.Imports[n-1].Name != "… and 200 more" {
		t.Errorf("%d imports, the last is %+v", n, in.Imports[n-1])
	}
	if want := []string{strings.Repeat("s", 80) + "…"}; !slices.Equal(in.Sections, want) {
		t.Errorf("sections are %q", in.Sections)
	}
}

func TestTheNumberOfPiecesOfAReadOrWriteIsBounded(t *testing.T) {
	g := newGuest()
	for _, i := range []struct{ module, name, sig string }{
		{"wasi_snapshot_preview1", "fd_read", "i32 i32 i32 i32 -> i32"},
		{"wasi_snapshot_preview1", "fd_pread", "i32 i32 i32 i64 i32 -> i32"},
		{"wasi_snapshot_preview1", "fd_pwrite", "i32 i32 i32 i64 i32 -> i32"},
		{"wasi_snapshot_preview1", "sock_recv", "i32 i32 i32 i32 i32 i32 -> i32"},
		{"wasi_snapshot_preview1", "sock_send", "i32 i32 i32 i32 i32 -> i32"},
	} {
		g.imported[i.name] = g.ImportFunc(i.module, i.name, i.sig)
	}
	at := func(name string) []byte { // fd_pread and fd_pwrite have an offset
		var code []byte
		for _, v := range []int32{1, 4096, 1_025} {
			code = append(code, wasmtest.I32Const(v)...)
		}
		code = append(append(code, wasmtest.I64Const(0)...), wasmtest.I32Const(64)...)
		return append(code, g.call(name)...)
	}
	out, _ := runOnce(t, g.reactor(
		store(0, g.call("fd_write", 1, 4096, 1_024, 64)),
		store(4, g.call("fd_write", 1, 4096, 1_025, 64)),
		store(8, g.call("fd_read", 0, 4096, 1_024, 64)),
		store(12, g.call("fd_read", 0, 4096, 1_025, 64)),
		store(16, at("fd_pread")), store(20, at("fd_pwrite")),
		store(24, g.call("sock_recv", 1, 4096, 1_025, 0, 64, 68)),
		store(28, g.call("sock_send", 1, 4096, 1_025, 0, 64)),
		g.dump(0, 32),
	))
	wantSuccess(t, out)
	if diff := cmp.Diff(words(out.Output), []int32{success, inval, success, inval, inval, inval, inval, inval}); diff != "" {
		t.Error(diff)
	}
}

// lister opens the granted folder and reads its entries into a buffer of size bytes at 65,536, once or more often, after which
// the length is before them.
func lister(size int32, times int) []byte {
	g := newGuest()
	g.imported["fd_readdir"] = g.ImportFunc("wasi_snapshot_preview1", "fd_readdir", "i32 i32 i32 i64 i32 -> i32")
	g.Data(0, []byte("."))
	list := append(append(pathOpen(3, 1), append(wasmtest.I32Const(0), g.call("path_open", 128)...)...), drop...)
	list = append(append(list, wasmtest.I32Const(128)...), wasmtest.Op(wasmtest.I32Load, 2, 0)...)
	list = append(append(list, wasmtest.I32Const(65_536)...), wasmtest.I32Const(size)...)
	list = append(append(append(list, wasmtest.I64Const(0)...), wasmtest.I32Const(65_532)...), g.call("fd_readdir")...)
	list = append(list, drop...)
	code := append(wasmtest.I32Const(400), wasmtest.Op(wasmtest.MemoryGrow, 0)...)
	code = append(append(code, drop...), g.call("log", 0, 0, 1)...)
	code = append(append(code, bytes.Repeat(list, times)...), g.call("log", 0, 0, 1)...)
	return g.reactor(code, g.dump(65_532, 512<<10))
}

func TestAFolderIsListedIntoABufferOfAnySize(t *testing.T) {
	const files = 1_000
	dir := t.TempDir()
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprintf("file-%04d%s", i, strings.Repeat("x", i%100))), nil)
	}
	for _, size := range []int32{512, 4_096, 4_097, 4_100, 8_192, 8_200, 20_000, 500_000} {
		cfg := host.Defaults()
		cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "list", MaxOutput: 1 << 20, Dirs: []host.Dir{{Host: dir, Guest: "/", Mode: host.ReadOnly}}}}
		out, _ := run(t, newHost(t, cfg, map[string][]byte{"list": lister(size, 1)}), "list", "")
		wantSuccess(t, out)
		used := int32(binary.LittleEndian.Uint32(out.Output))
		seen := map[string]bool{}
		for b := out.Output[4:][:used]; len(b) >= 24; {
			end := 24 + int(binary.LittleEndian.Uint32(b[16:]))
			if end > len(b) {
				break
			}
			if next := binary.LittleEndian.Uint64(b); next != uint64(len(seen)+1) {
				t.Fatalf("buffer of %d: entry %d has cookie %d", size, len(seen), next)
			}
			seen[string(b[24:end])] = true
			b = b[end:]
		}
		switch {
		case used == size && len(seen) < files+2 && (len(seen)+1)*(24+110) > int(size): // full, and there are more
		case used < size && len(seen) == files+2:
		default:
			t.Errorf("a buffer of %d bytes has %d bytes with %d entries", size, used, len(seen))
		}
	}
}

// weigher notes what is on the heap when the guest logs.
type weigher struct{ sizes []uint64 }

func (w *weigher) Log(int, string) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	w.sizes = append(w.sizes, m.HeapAlloc)
}

func (*weigher) Progress(int64, int64, string) {}

func TestListingFoldersTakesLittleOfTheHostsMemory(t *testing.T) {
	dir := t.TempDir()
	for i := range 2_000 {
		write(t, filepath.Join(dir, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 240))), nil)
	}
	cfg := host.Defaults()
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "list", Dirs: []host.Dir{{Host: dir, Guest: "/", Mode: host.ReadOnly}}}}
	h := newHost(t, cfg, map[string][]byte{"list": lister(25<<20, 60)})
	w := &weigher{}
	wantSuccess(t, h.Run(t.Context(), jobhost.Call{Plugin: "list", Run: sample(""), Sink: w}))
	if len(w.sizes) < 2 {
		t.Fatalf("the guest logged %d times", len(w.sizes))
	}
	if grown := int64(w.sizes[1]) - int64(w.sizes[0]); grown > 8<<20 {
		t.Errorf("60 folders that were listed take %d bytes", grown)
	}
}

func TestWhatAGuestMakesHasTheModesOfTheProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it has no such modes
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ours"), nil)
	cfg := host.Defaults()
	cfg.Cache = goCache(t)
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "command", Dirs: []host.Dir{{Host: dir, Guest: "/d", Mode: host.ReadWrite}}}}
	h := newHost(t, cfg, map[string][]byte{"command": goGuest(t, "command")})
	out, _ := run(t, h, "command", `{"do":"write","path":"/d/new"}`)
	wantSuccess(t, out)
	want := filepath.Join(t.TempDir(), "want")
	if err := os.WriteFile(want, nil, 0o666); err != nil { // the umask is that of the process
		t.Fatal(err)
	}
	a, err := os.Stat(filepath.Join(dir, "new"))
	b, err2 := os.Stat(want)
	if err != nil || err2 != nil || a.Mode() != b.Mode() {
		t.Errorf("the file is %v, %v; want %v, %v", a.Mode(), err, b.Mode(), err2)
	}
}

func TestATraceHasNoLongNames(t *testing.T) {
	g := newGuest()
	name := strings.Repeat("n", 3_000)
	names := slices.Concat([]byte{1, byte(len(imports)), 0xb8, 0x17}, []byte(name)) // one, of jobhost_run
	g.Custom("name", slices.Concat([]byte{1, 0xbc, 0x17}, names))
	_, s := runOnce(t, g.reactor(wasmtest.Op(wasmtest.Unreachable)))
	if !strings.Contains(s.text(), "nnnn…") || strings.Contains(s.text(), name[:600]) {
		t.Errorf("the log is %q", s.text())
	}
}

func TestAFailureTellsWhatTheHostRefused(t *testing.T) {
	grow := append(append(wasmtest.I32Const(1_000), wasmtest.Op(wasmtest.MemoryGrow, 0)...), drop...)
	open := func(g *guest) []byte {
		return append(append(pathOpen(3, 1), append(wasmtest.I32Const(0), g.call("path_open", 128)...)...), drop...)
	}
	fail := func(g *guest) []byte { return append(g.call("fail", 0, 0, 16, 6, 0), zero...) }
	for name, test := range map[string]struct {
		code func(g *guest) [][]byte
		want string
	}{
		"directories":              {func(g *guest) [][]byte { return [][]byte{open(g), fail(g)} }, "no luc; the host denied: dirs"},
		"memory":                   {func(g *guest) [][]byte { return [][]byte{grow, fail(g)} }, "no luc; it reached max_memory 1 MiB"},
		"both":                     {func(g *guest) [][]byte { return [][]byte{grow, open(g), fail(g)} }, "no luc; it reached max_memory 1 MiB; the host denied: dirs"},
		"memory, said by the host": {func(*guest) [][]byte { return [][]byte{grow, wasmtest.I32Const(1)} }, "out of memory: asked for 62.6 MiB, the limit is 1 MiB; jobhost_run returned 1"},
		"nothing":                  {func(g *guest) [][]byte { return [][]byte{fail(g)} }, "no luc"},
		"a program's last line": {
			func(g *guest) [][]byte {
				g.Data(64, iovec(16, 6))
				return [][]byte{grow, g.call("fd_write", 2, 64, 1, 96), drop, g.call("proc_exit", 2), zero}
			}, "no luc; it reached max_memory 1 MiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest()
			g.Data(16, []byte("no luck"))
			cfg := host.Defaults()
			cfg.MaxMemory = 1 << 20
			h := newHost(t, cfg, map[string][]byte{"p": g.reactor(test.code(g)...)})
			if out, _ := run(t, h, "p", ""); out.Message != test.want {
				t.Errorf("the message is %q, want %q", out.Message, test.want)
			}
		})
	}
}

func TestARunWithoutMemoryToBeginWithIsAPlainFailure(t *testing.T) {
	var log bytes.Buffer
	cfg := host.Defaults()
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	cfg.MaxMemory, cfg.MaxTotalMemory = 1<<20, 1<<20
	g := newGuest()
	large := newGuest()
	grow := append(append(wasmtest.I32Const(14), wasmtest.Op(wasmtest.MemoryGrow, 0)...), drop...)
	h := newHost(t, cfg, map[string][]byte{"p": g.reactor(zero), "large": large.reactor(grow, large.call("log", 0, 0, 0), zero)})
	b := &blocker{make(chan struct{}), make(chan struct{})}
	first := make(chan jobhost.Outcome)
	go func() { first <- h.Run(t.Context(), jobhost.Call{Plugin: "large", Run: sample(""), Sink: b}) }()
	<-b.reached
	for range 3 {
		out, s := run(t, h, "p", "")
		want := "out of memory: the host has no more for plugins (asked for 128 KiB; all runs together may have 1 MiB); the run could not begin"
		if out.Message != want || len(s.lines) > 0 {
			t.Errorf("got %+v, want message %q; log %q", out, want, s.text())
		}
	}
	close(b.leave)
	wantSuccess(t, <-first)
	if got := log.String(); strings.Contains(got, "panic") || strings.Count(got, "level=WARN") != 1 {
		t.Errorf("the host's log is\n%s", got)
	}
}
