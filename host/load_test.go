package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// with returns a module with a memory and a good jobhost_run, after f has changed it.
func with(f func(m *wasmtest.Module)) []byte {
	m := wasmtest.New()
	f(m)
	m.Export("jobhost_run", wasmtest.KindFunc, m.Func("-> i32", "", zero))
	m.Memory(1, 0)
	m.Export("memory", wasmtest.KindMemory, 0)
	return m.Bytes()
}

func TestAWrongModuleIsRefusedWithItsMend(t *testing.T) {
	good := with(func(*wasmtest.Module) {})
	imports := func(names ...string) []byte {
		return with(func(m *wasmtest.Module) {
			for _, n := range names {
				module, name, _ := strings.Cut(n, " ")
				m.ImportFunc(module, name, "->")
			}
		})
	}
	bare := func(f func(m *wasmtest.Module)) []byte {
		m := wasmtest.New()
		f(m)
		return m.Bytes()
	}
	entry := func(m *wasmtest.Module, sig string, code ...[]byte) {
		m.Export("jobhost_run", wasmtest.KindFunc, m.Func(sig, "", code...))
	}
	memory := func(m *wasmtest.Module) {
		m.Memory(1, 0)
		m.Export("memory", wasmtest.KindMemory, 0)
	}
	tests := []struct {
		name string
		bin  []byte
		want []string // parts of the problem, beside the file's name
	}{
		{"not wasm", []byte("#!/bin/sh\necho hello\n"), []string{"not a WebAssembly module", "compiled .wasm file"}},
		{"empty", nil, []string{"not a WebAssembly module"}},
		{"cut off", good[:len(good)-3], []string{"cut off", "copy it again"}},
		{"cut off in the header", good[:6], []string{"cut off"}},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), []string{"a WebAssembly component", "build a core module, for example for wasip1"}},
		{"another version", []byte("\x00asm\x02\x00\x00\x00"), []string{"version 02 00 00 00 of the binary format is unknown"}},
		{"no entry", bare(memory), []string{"exports neither _start nor jobhost_run", "-buildmode=c-shared and //go:wasmexport", "-mexec-model=reactor"}},
		{
			"jobhost_run of another type", bare(func(m *wasmtest.Module) { entry(m, "i32 -> i64", wasmtest.I64Const(0)); memory(m) }),
			[]string{"jobhost_run is (i32) -> (i64); want () -> (i32)"},
		},
		{
			"_initialize of another type", with(func(m *wasmtest.Module) { m.Export("_initialize", wasmtest.KindFunc, m.Func("-> i32", "", zero)) }),
			[]string{"_initialize is () -> (i32); want () -> ()"},
		},
		{
			"jobhost_run is no function", bare(func(m *wasmtest.Module) { memory(m); m.Export("jobhost_run", wasmtest.KindMemory, 0) }),
			[]string{"jobhost_run is a memory; want a function () -> (i32)"},
		},
		{"unknown imports, all of them", imports("b two", "a one", "a one"), []string{"imports what the host does not have: a.one, b.two;", "a guest may import"}},
		{"GOOS=js", imports("gojs runtime.ticks"), []string{"gojs.runtime.ticks", "GOOS=wasip1"}},
		{"older GOOS=js", imports("go runtime.ticks"), []string{"go.runtime.ticks", "GOOS=wasip1"}},
		{"wasm-bindgen", imports("wbg __wbindgen_throw"), []string{"wasm-bindgen"}},
		{"Emscripten", imports("env invoke_vii"), []string{"env.invoke_vii", "Emscripten"}},
		{"old WASI", imports("wasi_unstable fd_write"), []string{"wasi_unstable is an old WASI"}},
		{"WASI preview 2", imports("wasi:cli/stdout@0.2.0 get-stdout"), []string{"preview 2", "wasip1"}},
		{"not in WASI", imports("wasi_snapshot_preview1 thread_spawn"), []string{"not part of WASI preview 1"}},
		{"Extism", imports("extism:host/env alloc"), []string{"Extism"}},
		{"a newer host", imports("jobhost_v9 run"), []string{"jobhost_v9.run", "needs a newer jobhost"}},
		{"a newer function", imports("jobhost_v1 teleport"), []string{"jobhost_v1.teleport", "needs a newer jobhost"}},
		{"the meter's module", imports("jobhost_meter tick"), []string{"jobhost_meter.tick"}},
		{
			"another signature", with(func(m *wasmtest.Module) { m.ImportFunc("jobhost_v1", "log", "i32 i64 -> i32") }),
			[]string{"imports jobhost_v1.log as (i32, i64) -> (i32); it is (i32, i32, i32) -> ()"},
		},
		{
			"an imported global", with(func(m *wasmtest.Module) { m.Import("env", "g", wasmtest.KindGlobal, []byte{wasmtest.I32, 0}) }),
			[]string{"env.g (a global)"},
		},
		{
			"an imported table", with(func(m *wasmtest.Module) { m.Import("env", "t", wasmtest.KindTable, []byte{wasmtest.FuncRef, 0, 1}) }),
			[]string{"env.t (a table)"},
		},
		{"memory minimum above the limit", bare(func(m *wasmtest.Module) {
			entry(m, "-> i32", zero)
			m.Memory(4097, 0)
			m.Export("memory", wasmtest.KindMemory, 0)
		}), []string{"of memory to start", "the limit is 256 MiB", "raise max_memory"}},
		{"no memory", bare(func(m *wasmtest.Module) { entry(m, "-> i32", zero) }), []string{"has no memory"}},
		{"a memory of its own", bare(func(m *wasmtest.Module) { entry(m, "-> i32", zero); m.Memory(1, 0) }), []string{"does not export its memory"}},
		{"imported memory", bare(func(m *wasmtest.Module) {
			m.Import("env", "memory", wasmtest.KindMemory, []byte{0, 1})
			m.Export("memory", wasmtest.KindMemory, 0)
			entry(m, "-> i32", zero)
		}), []string{"imports its memory"}},
		{"shared memory", bare(func(m *wasmtest.Module) {
			entry(m, "-> i32", zero)
			m.Raw(wasmtest.SectionMemory, []byte{1, 3, 1, 2})
			m.Export("memory", wasmtest.KindMemory, 0)
		}), []string{"shared memory", "without threads"}},
		{
			"several problems", bare(func(m *wasmtest.Module) { m.ImportFunc("gojs", "x", "->"); entry(m, "->") }),
			[]string{"jobhost_run is () -> ()", "has no memory", "gojs.x"},
		},
		{"atomic instructions", with(func(m *wasmtest.Module) { m.Func("->", "", []byte{0xfe, 0x03, 0x00}) }), []string{"threads", "build without"}},
		{"exceptions", with(func(m *wasmtest.Module) { m.Func("->", "", []byte{0x06, 0x40, 0x0b}) }), []string{"exception handling", "build without"}},
		{"code that is not valid", with(func(m *wasmtest.Module) { m.Func("-> i32", "", wasmtest.I64Const(0)) }), []string{"the runtime refuses it"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, host.Defaults(), map[string][]byte{"wrong": test.bin})
			err := h.Ready(t.Context(), "wrong")
			if jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
				t.Fatalf("Ready returned %v", err)
			}
			list, err := h.Plugins(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("Plugins returned %v, %v", list, err)
			}
			p := list[0]
			if p.Ready || p.Digest != "" || !strings.HasPrefix(p.Problem, p.File+": ") {
				t.Errorf("got %+v", p)
			}
			for _, part := range test.want {
				if !strings.Contains(p.Problem, part) {
					t.Errorf("problem is\n%s\nand lacks\n%s", p.Problem, part)
				}
			}
			out, _ := run(t, h, "wrong", "")
			if out.Code != jobhost.NotFoundPlugin || !strings.Contains(out.Message, p.Problem) {
				t.Errorf("a run of it gave %+v", out)
			}
		})
	}
}

func TestAPluginThatIsNotThere(t *testing.T) {
	h := newHost(t, host.Defaults(), nil)
	if out, _ := run(t, h, "nobody", ""); out.Code != jobhost.NotFoundPlugin || out.Message != `plugin "nobody" is not loaded` {
		t.Errorf("got %+v", out)
	}
	if err := h.Ready(t.Context(), "nobody"); jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		t.Errorf("Ready returned %v", err)
	}
}

func TestFilesOfThePluginFolder(t *testing.T) {
	good := with(func(*wasmtest.Module) {})
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	write(t, filepath.Join(cfg.Dir, "good.wasm"), good)
	write(t, filepath.Join(cfg.Dir, "Bad Name.wasm"), good)
	write(t, filepath.Join(cfg.Dir, ".hidden.wasm"), good)
	write(t, filepath.Join(cfg.Dir, "notes.txt"), good)
	write(t, filepath.Join(cfg.Dir, "open.wasm"), good)
	if err := os.Mkdir(filepath.Join(cfg.Dir, "folder.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(cfg.Dir, "open.wasm"), 0o620); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(cfg.Dir, "big.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(abi.MaxModule + 1); err != nil {
		t.Fatal(err)
	}
	if err := big.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := openHost(t, cfg).Plugins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"good": "", "Bad Name": "capital", "big": "at most 67108864 are allowed", "folder": "not a regular file", "open": "chmod go-w",
	}
	if runtime.GOOS == "windows" {
		want["open"] = ""
	}
	for _, p := range list {
		part, ok := want[p.Key]
		if !ok || p.Ready != (part == "") || !strings.Contains(p.Problem, part) {
			t.Errorf("got %+v", p)
		}
		delete(want, p.Key)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestLoadOfASingleFile(t *testing.T) {
	h := openHost(t, host.Defaults())
	file := filepath.Join(t.TempDir(), "My Job.wasm")
	write(t, file, with(func(*wasmtest.Module) {}))
	p, err := h.Load(t.Context(), "my-job", file)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Ready || p.Kind != "reactor" || p.File != file {
		t.Errorf("got %+v", p)
	}
	if out, _ := run(t, h, "my-job", ""); out.Code != "" || out.Digest != p.Digest {
		t.Errorf("got %+v", out)
	}
	if _, err := h.Load(t.Context(), "my-job", file); err == nil || !strings.Contains(err.Error(), "loaded already") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := h.Load(t.Context(), "other", file+".not"); jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		t.Errorf("an absent file: %v", err)
	}
	if list, err := h.Plugins(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("listed: %v, %v", list, err)
	}
}

func TestInspectSaysWhatAModuleCouldDo(t *testing.T) {
	m := wasmtest.New()
	m.ImportFunc("wasi_snapshot_preview1", "path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32 -> i32")
	m.ImportFunc("jobhost_v1", "sleep_ms", "i64 -> i32")
	m.ImportFunc("gojs", "x", "->")
	m.Export("_start", wasmtest.KindFunc, m.Func("->", ""))
	m.Memory(2, 16)
	m.Export("memory", wasmtest.KindMemory, 0)
	m.Custom("producers", slices.Concat([]byte{1}, wasmtest.Text("language"), []byte{1}, wasmtest.Text("Rust"), wasmtest.Text("1.90")))
	file := filepath.Join(t.TempDir(), "x.wasm")
	write(t, file, m.Bytes())
	got, err := openHost(t, host.Defaults()).Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	want := host.Inspection{
		File: file, Size: int64(len(m.Bytes())), Digest: got.Digest, Kind: "command", Language: "Rust 1.90",
		MinMemory: 2 * page, MaxMemory: 16 * page, Functions: 1,
		Imports: []host.Symbol{
			{"wasi_snapshot_preview1", "path_open", "func", "(i32, i32, i32, i32, i32, i64, i64, i32, i32) -> (i32)"},
			{"jobhost_v1", "sleep_ms", "func", "(i64) -> (i32)"},
			{"gojs", "x", "func", "() -> ()"},
		},
		Exports:  []host.Symbol{{"", "_start", "func", "() -> ()"}, {"", "memory", "memory", ""}},
		Uses:     []string{"files in granted directories", "sleep"},
		Sections: []string{"producers"},
		Problems: []string{"it was built with GOOS=js: build it with GOOS=wasip1 GOARCH=wasm; imports what the host does not have: gojs.x"},
	}
	if diff := cmp.Diff(got, want); diff != "" || len(got.Digest) != 64 {
		t.Error(diff)
	}
	write(t, file, goGuest(t, "command"))
	got, err = openHost(t, host.Defaults()).Inspect(file)
	if err != nil || !strings.HasPrefix(got.Language, "Go") || len(got.Problems) > 0 {
		t.Errorf("a Go guest: %v, language %q, problems %q", err, got.Language, got.Problems)
	}
	write(t, file, []byte("no"))
	if _, err := openHost(t, host.Defaults()).Inspect(file); err == nil || !strings.HasPrefix(err.Error(), file) {
		t.Errorf("rubbish: %v", err)
	}
}

func TestConfigurationNamesEveryProblem(t *testing.T) {
	dir := t.TempDir()
	cfg := host.Defaults()
	cfg.Dir, cfg.MaxOutput, cfg.MaxMemory = dir, 2<<20, 100
	cfg.Grants = []host.Grant{
		{Job: "a", Plugin: "p", Env: map[string]string{"JOBHOST_JOB": "x", "A=B": "", "N": "a\x00"}, Args: []string{"\x00"}},
		{Job: "a", Plugin: "p", MaxMemory: 1, MaxOutput: -1, MaxLog: -1},
		{Job: "UPPER", Plugin: "", Dirs: []host.Dir{{Host: filepath.Join(dir, "in"), Guest: "/x"}, {Guest: "y"}, {Host: "/srv", Guest: "/x", Mode: "rx"}}},
	}
	_, err := host.New(t.Context(), cfg)
	if jobhost.CodeOf(err) != jobhost.InvalidDefinition {
		t.Fatalf("New returned %v", err)
	}
	for _, part := range []string{
		"max_output is 2097152", "max_memory is 100 bytes", "JOBHOST_JOB, which is the host's own", `name "A=B"`, "env N has a NUL",
		"args[0] has a NUL", "have a grant already", "max_memory is 1 bytes", "max_output is -1", "max_log is -1", "capital",
		"name is empty", "overlaps " + dir, "no host path", "the guest path /x is taken",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
}
