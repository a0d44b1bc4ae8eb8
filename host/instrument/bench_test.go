package instrument_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// BenchmarkGuest shows what instrumentation costs: each workload as it is and instrumented, on the compiler.
func BenchmarkGuest(b *testing.B) {
	for _, load := range []struct {
		name   string
		module func(testing.TB) []byte
	}{
		{"empty loop", func(testing.TB) []byte { return emptyLoop() }},
		{"sum memory", func(testing.TB) []byte { return sumMemory() }},
		{"bubble sort", func(testing.TB) []byte { return bubbleSort() }},
		{"fib", func(testing.TB) []byte { return fib() }},
		{"small calls", func(testing.TB) []byte { return smallCalls() }},
		{"small copies", func(testing.TB) []byte { return smallCopies() }},
		{"go", goWork},
	} {
		module := load.module(b)
		for _, v := range []struct {
			name string
			cfg  instrument.Config
			off  bool
		}{
			{name: "plain", off: true},
			{name: "meter", cfg: instrument.Config{Skip: instrument.Stack}},
			{name: "all"},
			{name: "late", cfg: instrument.Config{Late: 1}},
		} {
			b.Run(load.name+"/"+v.name, func(b *testing.B) {
				bin := module
				if !v.off {
					r, err := instrument.Instrument(module, v.cfg)
					if err != nil {
						b.Fatal(err)
					}
					bin = r.Module
				}
				benchmarkModule(b, bin)
			})
		}
	}
}

// benchmarkModule calls the export run of one instance, or _start of an instance for each turn.
func benchmarkModule(b *testing.B, bin []byte) {
	b.Helper()
	ctx := b.Context()
	r, release := newRuntime(b, wazero.NewRuntimeConfigCompiler())
	defer release()
	ticks := 0
	err := provideTick(ctx, r, func(m api.Module) { ticks++ })
	if err != nil {
		b.Fatal(err)
	}
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, bin)
	if err != nil {
		b.Fatal(err)
	}
	_, command := compiled.ExportedFunctions()["_start"]
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	m, err := r.InstantiateModule(ctx, compiled, cfg)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		ticks = 0
		if command {
			cfg := cfg.WithStdin(bytes.NewReader([]byte(`{"a":1}`))).WithSysNanotime().WithSysWalltime().WithStartFunctions("_start")
			if _, err := r.InstantiateModule(ctx, compiled, cfg); err != nil && err.Error() != "module closed with exit_code(0)" {
				b.Fatal(err)
			}
			continue
		}
		if _, err := m.ExportedFunction("run").Call(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ticks), "ticks/op")
}

// BenchmarkInstrument is the rewriting itself, of a Go command of some 4 MB.
func BenchmarkInstrument(b *testing.B) {
	bin := goWork(b)
	b.SetBytes(int64(len(bin)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := instrument.Instrument(bin, instrument.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

// goWork builds testdata/gowork as a command.
func goWork(tb testing.TB) []byte {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "gowork.wasm")
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-ldflags=-s -w", "-o", out, "./testdata/gowork")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, msg)
	}
	bin, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// loop is the instructions of a loop that runs for local from n down to 1.
func loop(local uint32, n int32, body ...[]byte) []byte {
	return bytes.Join([][]byte{
		w.I32Const(n), w.Op(w.LocalSet, local), w.Op(w.Loop, w.Void), bytes.Join(body, nil),
		w.Op(w.LocalGet, local), w.I32Const(1), w.Op(w.I32Sub), w.Op(w.LocalTee, local), w.Op(w.BrIf, 0), w.Op(w.End),
	}, nil)
}

func emptyLoop() []byte {
	m := w.New()
	m.Export("run", w.KindFunc, m.Func("->", "i32", loop(0, 1_000_000)))
	return m.Bytes()
}

func sumMemory() []byte {
	m := w.New()
	m.Memory(17, 17)
	m.Export("run", w.KindFunc, m.Func("-> i32", "i32 i32", loop(0, 1_000_000,
		w.Op(w.LocalGet, 1), w.Op(w.LocalGet, 0), w.Op(w.I32Load8U, 0, 0), w.Op(w.I32Add), w.Op(w.LocalSet, 1)),
		w.Op(w.LocalGet, 1)))
	return m.Bytes()
}

// bubbleSort sorts 1,000 numbers that are in the wrong order, without any call.
func bubbleSort() []byte {
	m := w.New()
	m.Memory(1, 1)
	const n = 1000
	at := bytes.Join([][]byte{w.Op(w.LocalGet, 1), w.I32Const(4), w.Op(w.I32Mul)}, nil)
	m.Export("run", w.KindFunc, m.Func("->", "i32 i32 i32",
		loop(1, n, at, w.Op(w.LocalGet, 1), w.Op(w.I32Store, 2, 0)),
		loop(0, n-1,
			loop(1, n-1,
				at, w.Op(w.I32Load, 2, 0), at, w.Op(w.I32Load, 2, 4), w.Op(w.I32LtS),
				w.Op(w.If, w.Void),
				at, w.Op(w.I32Load, 2, 0), w.Op(w.LocalSet, 2),
				at, at, w.Op(w.I32Load, 2, 4), w.Op(w.I32Store, 2, 0),
				at, w.Op(w.LocalGet, 2), w.Op(w.I32Store, 2, 4),
				w.Op(w.End))),
	))
	return m.Bytes()
}

func fib() []byte {
	m := w.New()
	f := m.Func("i32 -> i32", "",
		w.Op(w.LocalGet, 0), w.I32Const(2), w.Op(w.I32LtS), w.Op(w.If, w.Void),
		w.Op(w.LocalGet, 0), w.Op(w.Return), w.Op(w.End),
		w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), w.Op(w.Call, 0),
		w.Op(w.LocalGet, 0), w.I32Const(2), w.Op(w.I32Sub), w.Op(w.Call, 0), w.Op(w.I32Add))
	m.Export("run", w.KindFunc, m.Func("-> i32", "", w.I32Const(25), w.Op(w.Call, f)))
	return m.Bytes()
}

func smallCalls() []byte {
	m := w.New()
	f := m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.I32Const(7), w.Op(w.I32Add))
	m.Export("run", w.KindFunc, m.Func("-> i32", "i32 i32",
		loop(0, 300_000, w.Op(w.LocalGet, 1), w.Op(w.Call, f), w.Op(w.LocalSet, 1)), w.Op(w.LocalGet, 1)))
	return m.Bytes()
}

func smallCopies() []byte {
	m := w.New()
	m.Memory(1, 1)
	m.Export("run", w.KindFunc, m.Func("->", "i32",
		loop(0, 50_000, w.I32Const(0), w.I32Const(100), w.I32Const(32), w.Bulk(w.MemoryCopy, 0, 0))))
	return m.Bytes()
}
