package instrument_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// down is a function that calls itself so often as its argument says, by call, and returns its argument.
func down(m *w.Module, call ...[]byte) uint32 {
	return m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.Op(w.If, w.Void),
		w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), slices.Concat(call...), w.Op(w.Drop), w.Op(w.End),
		w.Op(w.LocalGet, 0))
}

// noTick is a period that no guest below reaches, so that the host is called because of the stack alone.
const noTick = 1 << 24

func TestRecursionEndsAtTheBudget(t *testing.T) {
	ways := map[string]func(m *w.Module) uint32{
		"direct": func(m *w.Module) uint32 { return down(m, w.Op(w.Call, 0)) },
		"indirect": func(m *w.Module) uint32 {
			m.Table(w.FuncRef, 1, 1)
			m.Elements(0, 0)
			return down(m, w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"in a loop, as Go does": func(m *w.Module) uint32 {
			return m.Func("i32 -> i32", "", w.Op(w.Loop, uint32(w.I32)), w.Op(w.LocalGet, 0), w.Op(w.If, w.Void),
				w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), w.Op(w.Call, 0), w.Op(w.Drop), w.Op(w.End),
				w.Op(w.LocalGet, 0), w.Op(w.End))
		},
		"through another function": func(m *w.Module) uint32 {
			f := down(m, w.Op(w.Call, 1))
			m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.Op(w.Call, f))
			return f
		},
	}
	for name, way := range ways {
		for _, part := range []instrument.Part{0, instrument.Meter} {
			t.Run(name, func(t *testing.T) {
				m := w.New()
				m.Export("run", w.KindFunc, way(m))
				g := start(t, m.Bytes(), instrument.Config{Period: noTick, Skip: part})
				for range 5 { // what one call leaves behind does not harm the next
					if got, err := g.call("run", 30_000); err != nil || got[0] != 30_000 {
						t.Fatalf("a depth of 30,000: %v, %v; want it to fit into the budget", got, err)
					}
				}
				for range 2 {
					if _, err := g.call("run", 300_000); !errors.Is(err, errOverflow) {
						t.Fatalf("a depth of 300,000: %v, want %v", err, errOverflow)
					}
					if level := int32(g.ExportedGlobal(instrument.StackGlobal).Get()); level != -1 {
						t.Fatalf("the stack level is %d after an overflow, want -1", level)
					}
					resetStack(g.Module, instrument.DefaultStack)
				}
			})
		}
	}
}

// TestTheLevelIsBackAfterACall leaves a function in all ways there are but a trap.
func TestTheLevelIsBackAfterACall(t *testing.T) {
	call := w.Op(w.Call, 1)
	get := w.Op(w.LocalGet, 0)
	for name, code := range map[string][]byte{
		"end":              call,
		"return":           slices.Concat(call, w.Op(w.Return)),
		"return in a loop": slices.Concat(w.Op(w.Loop, w.Void), call, get, w.Op(w.BrIf, 0), w.Op(w.Return), w.Op(w.End)),
		"br":               slices.Concat(w.Op(w.Block, w.Void), call, w.Op(w.Br, 1), w.Op(w.End)),
		"br_if":            slices.Concat(call, w.I32Const(1), w.Op(w.BrIf, 0), call),
		"br_if not taken":  slices.Concat(call, get, w.Op(w.BrIf, 0), call),
		"br_table":         slices.Concat(w.Op(w.Block, w.Void), call, get, w.Op(w.BrTable, 1, 1, 0), w.Op(w.End), call),
		"return_call":      slices.Concat(call, w.Op(w.ReturnCall, 1)),
		"by a table":       slices.Concat(call, w.I32Const(0), w.Op(0x13, 0, 0)),
	} {
		m := w.New()
		m.Type("->")
		m.Table(w.FuncRef, 1, 1)
		m.Elements(0, 1)
		m.Export("run", w.KindFunc, m.Func("i32 ->", "", code))
		m.Func("->", "", w.Op(w.Call, 2), w.Op(w.Call, 2))
		m.Func("->", "i32", loop(0, 2, w.Op(w.Call, 3)))
		m.Func("->", "", bytes.Repeat([]byte{w.Nop}, 100))
		g := start(t, m.Bytes(), instrument.Config{})
		if _, err := g.call("run", 0); err != nil {
			t.Fatal(err)
		}
		if level := int32(g.ExportedGlobal(instrument.StackGlobal).Get()); level != instrument.DefaultStack {
			t.Errorf("%s: the stack level is %d, want the whole budget of %d", name, level, instrument.DefaultStack)
		}
	}
}

// TestStackStaysNearTheBudget measures what an endless recursion of a large function takes.
func TestStackStaysNearTheBudget(t *testing.T) {
	m := w.New()
	var code [][]byte
	for i := range uint32(40) { // values that outlive the call
		code = append(code, w.Op(w.LocalGet, 0), w.I32Const(int32(i)), w.Op(w.I32Add), w.Op(w.LocalSet, 1+i))
	}
	code = append(code, w.Op(w.LocalGet, 0), w.Op(w.Call, 0))
	for i := range uint32(40) {
		code = append(code, w.Op(w.LocalGet, 1+i), w.Op(w.I32Add))
	}
	m.Export("run", w.KindFunc, m.Func("i32 -> i32", strings.Repeat("i32 ", 40), code...))
	g := start(t, m.Bytes(), instrument.Config{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := g.call("run", 1); !errors.Is(err, errOverflow) {
		t.Fatalf("ended with %v, want %v", err, errOverflow)
	}
	runtime.ReadMemStats(&after)
	// The runtime doubles its stack as it grows, and copies it: all copies together are twice the last one.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4*instrument.DefaultStack {
		t.Errorf("%d MiB were allocated for a stack of %d MiB", grown>>20, instrument.DefaultStack>>20)
	}
}

func TestTailCallsTakeNoStack(t *testing.T) {
	for name, call := range map[string][]byte{
		"direct":   w.Op(w.ReturnCall, 1),
		"indirect": slices.Concat(w.I32Const(0), w.Op(0x13, 0, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.Type("i32 -> i32")
			m.Table(w.FuncRef, 1, 1)
			code := [][]byte{
				w.Op(w.LocalGet, 0), w.Op(w.If, w.Void), w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), call,
				w.Op(w.End), w.I32Const(7),
			}
			m.Export("run", w.KindFunc, m.Func("i32 -> i32", "", code...))
			m.Func("i32 -> i32", "", slices.Concat(w.Op(w.LocalGet, 0), w.Op(w.ReturnCall, 0)))
			m.Elements(0, 1)
			g := start(t, m.Bytes(), instrument.Config{Stack: 1000})
			if got, err := g.call("run", 1_000_000); err != nil || got[0] != 7 {
				t.Errorf("returned %v, %v; want 7", got, err)
			}
		})
	}
}

// TestTailCallsThatAreCallsTakeStack makes tail calls with more arguments than go into registers, for which wazero falls
// back to a call.
func TestTailCallsThatAreCallsTakeStack(t *testing.T) {
	m := w.New()
	var args [][]byte
	for i := range uint32(12) {
		args = append(args, w.Op(w.LocalGet, i))
	}
	m.Export("run", w.KindFunc, m.Func("i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 ->", "",
		append(args, w.Op(w.ReturnCall, 0))...))
	g := start(t, m.Bytes(), instrument.Config{})
	if _, err := g.call("run", make([]uint64, 12)...); !errors.Is(err, errOverflow) {
		t.Errorf("ended with %v, want %v", err, errOverflow)
	}
}
