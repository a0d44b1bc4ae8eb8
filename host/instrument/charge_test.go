package instrument_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// nops is so many instructions that do nothing.
func nops(n int) []byte { return bytes.Repeat([]byte{w.Nop}, n) }

// TestChargesFollowTheCode says to the unit what functions of several shapes are charged with. Each begins with 50
// instructions, so that it is too large to go without a check.
func TestChargesFollowTheCode(t *testing.T) {
	get := w.Op(w.LocalGet, 0)
	type call struct{ arg, want uint64 }
	for name, c := range map[string]struct {
		code  func(m *w.Module) []byte
		calls []call
	}{
		"both halves of an if cost what the longer one does": {func(*w.Module) []byte {
			return slices.Concat(nops(50), get, w.Op(w.If, w.Void), nops(10), w.Op(w.Else), nops(30), w.Op(w.End))
		}, []call{{0, 50 + 2 + 30 + 1 + 1}, {1, 50 + 2 + 30 + 1 + 1}}},
		"an if without an else": {func(*w.Module) []byte {
			return slices.Concat(nops(50), get, w.Op(w.If, w.Void), nops(10), w.Op(w.End))
		}, []call{{0, 50 + 2 + 10 + 1 + 1}, {1, 50 + 2 + 10 + 1 + 1}}},
		"what follows a branch is not reached": {func(*w.Module) []byte {
			return slices.Concat(nops(50), w.Op(w.Block, w.Void), w.Op(w.Br, 0), nops(100), w.Op(w.End), nops(7))
		}, []call{{0, 50 + 2 + 7 + 1}}},
		"what is behind a loop costs once, though it is reached from within": {func(*w.Module) []byte {
			return slices.Concat(nops(50), w.Op(w.Block, w.Void), loop(1, 10, nops(5), get, w.Op(w.BrIf, 1)),
				w.Op(w.Br, 0), w.Op(w.End), nops(700))
		}, []call{{0, 50 + 4 + 1 + 700 + 1 + 10*13}, {1, 50 + 4 + 1 + 700 + 1 + 13}}},
		"a loop that is left by a branch only": {func(*w.Module) []byte {
			return slices.Concat(nops(50), w.Op(w.Block, w.Void), w.Op(w.Loop, w.Void), nops(5), w.Op(w.Br, 1),
				w.Op(w.End), w.Op(w.End), nops(7))
		}, []call{{0, 50 + 2 + 7 + 1 + 6}}},
		"two loops are left at once": {func(*w.Module) []byte {
			return slices.Concat(nops(50), w.Op(w.Block, w.Void), w.Op(w.Loop, w.Void), nops(4), w.Op(w.Loop, w.Void),
				nops(3), w.Op(w.Br, 2), w.Op(w.End), w.Op(w.End), w.Op(w.End), nops(7))
		}, []call{{0, 50 + 2 + 7 + 1 + (4 + 1) + (3 + 1)}}},
		"a jump table": {func(*w.Module) []byte {
			return slices.Concat(nops(50), w.Op(w.Block, w.Void), w.Op(w.Block, w.Void), get, w.Op(w.BrTable, 1, 0, 1),
				w.Op(w.End), nops(20), w.Op(w.End), nops(7))
		}, []call{{0, 50 + 4 + 20 + 1 + 7 + 1}, {1, 50 + 4 + 20 + 1 + 7 + 1}}},
		"a loop that is followed by much is not one of Go's": {func(*w.Module) []byte {
			return slices.Concat(loop(1, 100), nops(100))
		}, []call{{0, 3 + 100 + 1 + 100*6}}},
		"a loop that may be passed by is not one of Go's": {func(*w.Module) []byte {
			return slices.Concat(w.Op(w.Block, w.Void), get, w.Op(w.BrIf, 0), loop(1, 100), w.Op(w.End))
		}, []call{{0, 3 + 3 + 1 + 1 + 100*6}, {1, 3 + 3 + 1 + 1}}},
		"a call of a small function": {func(m *w.Module) []byte {
			f := m.Func("->", "", nops(9))
			return slices.Concat(nops(50), w.Op(w.Call, f))
		}, []call{{0, 50 + 1 + 10 + 1}}},
		"an indirect call costs what the largest small function in tables does": {func(m *w.Module) []byte {
			m.Func("->", "", nops(35))
			f, g := m.Func("->", "", nops(9)), m.Func("->", "", nops(19))
			m.Table(w.FuncRef, 2, 2)
			m.Elements(0, f, g)
			return slices.Concat(nops(50), get, w.Op(w.CallIndirect, m.Type("->"), 0))
		}, []call{{0, 50 + 2 + 20 + 1}, {1, 50 + 2 + 20 + 1}}},
		"a loop around a copy of unknown length": {func(m *w.Module) []byte {
			m.Memory(1, 1)
			return slices.Concat(nops(50), loop(1, 100, get, get, get, w.Bulk(w.MemoryCopy, 0, 0)))
		}, []call{{80, 50 + 3 + 1 + 100*(4+6+10)}, {8000, 50 + 3 + 1 + 100*(4+6+1000)}}},
		"a loop around a loop": {func(*w.Module) []byte {
			return slices.Concat(nops(50), loop(1, 10, nops(5), loop(0, 20, nops(7)), nops(2)))
		}, []call{{0, 50 + 3 + 1 + 10*(5+3+2+6) + 10*20*(7+6)}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.Export("run", w.KindFunc, m.Func("i32 ->", "i32", c.code(m)))
			for _, period := range []int32{1, instrument.DefaultPeriod} {
				g := start(t, m.Bytes(), instrument.Config{Period: period})
				for _, call := range c.calls {
					before := usedBy(g)
					if _, err := g.call("run", call.arg); err != nil {
						t.Fatal(err)
					}
					if got := usedBy(g) - before; got != call.want {
						t.Errorf("run(%d) with a period of %d is charged %d, want %d", call.arg, period, got, call.want)
					}
				}
			}
		})
	}
}

// TestManyChecksMeet has a place that is reached from the ways of more checks than are followed.
func TestManyChecksMeet(t *testing.T) {
	const arms, straight, tail = 12, 1100, 500
	code := w.Op(w.Block, w.Void)
	for i := range int32(arms) {
		code = slices.Concat(code, nops(straight), w.Op(w.LocalGet, 0), w.I32Const(i), w.Op(w.I32Eq), w.Op(w.BrIf, 0))
	}
	code = slices.Concat(code, w.Op(w.End), nops(tail))
	m := w.New()
	m.Export("run", w.KindFunc, m.Func("i32 ->", "", code))
	g := start(t, m.Bytes(), instrument.Config{})
	for arm := range uint64(arms) {
		before := usedBy(g)
		if _, err := g.call("run", arm); err != nil {
			t.Fatal(err)
		}
		run := 1 + (arm+1)*(straight+4) + tail + 1
		if got := usedBy(g) - before; got < run || got > run+straight {
			t.Errorf("arm %d is charged %d, want %d or a little more", arm, got, run)
		}
	}
}
