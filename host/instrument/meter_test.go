package instrument_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// TestNothingRunsOn starts guests that never end by themselves, or only after very long, and wants each to be ended soon
// after a limit of fuel.
func TestNothingRunsOn(t *testing.T) {
	const limit = 2_000_000
	forever := func(body ...[]byte) []byte {
		return bytes.Join([][]byte{w.Op(w.Loop, w.Void), bytes.Join(body, nil), w.Op(w.Br, 0), w.Op(w.End)}, nil)
	}
	guests := map[string]func(m *w.Module) []byte{
		"endless loop": func(*w.Module) []byte { return forever() },
		"endless loop with a condition": func(*w.Module) []byte {
			return slices.Concat(w.Op(w.Loop, w.Void), w.I32Const(1), w.Op(w.BrIf, 0), w.Op(w.End))
		},
		"endless jump table": func(*w.Module) []byte {
			return slices.Concat(w.Op(w.Loop, w.Void), w.Op(w.Block, w.Void), w.I32Const(7), w.Op(w.BrTable, 1, 0, 1),
				w.Op(w.End), w.Op(w.End))
		},
		"fib of 60": func(m *w.Module) []byte {
			f := m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.I32Const(2), w.Op(w.I32LtS),
				w.Op(w.If, uint32(w.I32)), w.Op(w.LocalGet, 0), w.Op(w.Else),
				w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), w.Op(w.Call, 2),
				w.Op(w.LocalGet, 0), w.I32Const(2), w.Op(w.I32Sub), w.Op(w.Call, 2), w.Op(w.I32Add), w.Op(w.End))
			return slices.Concat(w.I32Const(60), w.Op(w.Call, f), w.Op(w.Drop))
		},
		"indirect calls": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 2, 2)
			nop := m.Func("->", "")
			m.Elements(0, nop, nop)
			return forever(w.I32Const(1), w.Op(w.CallIndirect, m.Type("->"), 0))
		},
		"recursion by indirect calls": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			twice := bytes.Repeat(slices.Concat(w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Sub), w.I32Const(0),
				w.Op(w.CallIndirect, m.Type("i32 ->"), 0)), 2)
			f := m.Func("i32 ->", "", w.Op(w.LocalGet, 0), w.Op(w.If, w.Void), twice, w.Op(w.End))
			m.Elements(0, f)
			return slices.Concat(w.I32Const(60), w.Op(w.Call, f))
		},
		"mutual tail calls": func(m *w.Module) []byte {
			m.Func("->", "", w.Op(w.ReturnCall, 3))
			m.Func("->", "", w.Op(w.ReturnCall, 2))
			return w.Op(w.Call, 2)
		},
		"indirect tail calls": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			f := m.Func("->", "", w.I32Const(0), w.Op(0x13, m.Type("->"), 0))
			m.Elements(0, f)
			return w.Op(w.Call, f)
		},
		"filling 64 MiB again and again": func(m *w.Module) []byte {
			m.Memory(1024, 1024)
			return forever(w.I32Const(0), w.I32Const(1), w.I32Const(64<<20), w.Bulk(w.MemoryFill, 0))
		},
		"copying 32 MiB again and again": func(m *w.Module) []byte {
			m.Memory(1024, 1024)
			return forever(w.I32Const(32<<20), w.I32Const(0), w.I32Const(32<<20), w.Bulk(w.MemoryCopy, 0, 0))
		},
		"copying tables": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 50_000, 50_000)
			return forever(w.I32Const(0), w.I32Const(1), w.I32Const(49_999), w.Bulk(w.TableCopy, 0, 0))
		},
		"growing memory in vain": func(m *w.Module) []byte {
			m.Memory(1, 2)
			return forever(w.I32Const(-1), w.Op(w.MemoryGrow, 0), w.Op(w.Drop))
		},
		"two million instructions in a line": func(*w.Module) []byte {
			return bytes.Repeat(slices.Concat(w.I32Const(1), w.Op(w.Drop)), 1_200_000)
		},
		"calls of a long function": func(m *w.Module) []byte {
			f := m.Func("->", "", bytes.Repeat(slices.Concat(w.I32Const(1), w.Op(w.Drop)), 100_000))
			return bytes.Repeat(w.Op(w.Call, f), 100)
		},
		"host calls": func(*w.Module) []byte { return forever(w.I32Const(1), w.Op(w.Call, 0), w.Op(w.Drop)) },
		"host calls through a table": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			m.Elements(0, 0)
			return forever(w.I32Const(1), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0), w.Op(w.Drop))
		},
	}
	for name, code := range guests {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.ImportFunc("env", "id", "i32 -> i32")
			m.ImportFunc("env", "ids", "i32 i32 i32 -> i32 i32 i32")
			m.Export("run", w.KindFunc, m.Func("->", "", code(m)))
			g := start(t, m.Bytes(), instrument.Config{})
			g.limit = limit
			_, err := g.call("run")
			if !errors.Is(err, errEnd) {
				t.Fatalf("the guest ended with %v, want %v", err, errEnd)
			}
			const most = limit + instrument.DefaultPeriod + 9_000_000 // memory.grow is one piece
			if u := usedBy(g); u > most {
				t.Errorf("%d used, want at most %d", u, most)
			}
		})
	}
}

func TestEveryHostCallTicks(t *testing.T) {
	ways := map[string]func(m *w.Module) []byte{
		"call": func(*w.Module) []byte { return slices.Concat(w.I32Const(5), w.Op(w.Call, 0)) },
		"table filled at the start": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			m.Elements(0, 0)
			return slices.Concat(w.I32Const(5), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"table filled from a passive segment": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			s := m.RawElements([]byte{1, 0, 1, 0})
			return slices.Concat(w.I32Const(0), w.I32Const(0), w.I32Const(1), w.Bulk(w.TableInit, s, 0),
				w.I32Const(5), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"table filled by ref.func": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			m.RawElements([]byte{3, 0, 1, 0})
			return slices.Concat(w.I32Const(0), w.Op(w.RefFunc, 0), w.Op(w.TableSet, 0),
				w.I32Const(5), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"table filled from a global": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			g := m.Global(w.FuncRef, w.Op(w.RefFunc, 0))
			return slices.Concat(w.I32Const(0), w.Op(w.GlobalGet, g), w.Op(w.TableSet, 0),
				w.I32Const(5), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"segment of expressions": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			m.RawElements(slices.Concat([]byte{4}, w.I32Const(0), []byte{w.End, 1}, w.Op(w.RefFunc, 0), []byte{w.End}))
			return slices.Concat(w.I32Const(5), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0))
		},
		"tail call": func(m *w.Module) []byte {
			f := m.Func("-> i32", "", w.I32Const(5), w.Op(w.ReturnCall, 0))
			return w.Op(w.Call, f)
		},
		"indirect tail call": func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 1)
			m.Elements(0, 0)
			f := m.Func("-> i32", "", w.I32Const(5), w.I32Const(0), w.Op(0x13, m.Type("i32 -> i32"), 0))
			return w.Op(w.Call, f)
		},
	}
	for name, code := range ways {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.ImportFunc("env", "id", "i32 -> i32")
			m.Export("run", w.KindFunc, m.Func("-> i32", "", code(m)))
			g := start(t, m.Bytes(), instrument.Config{})
			got, err := g.call("run")
			if err != nil || got[0] != 5 || g.called != 1 || g.ticks != 1 {
				t.Errorf("returned %v, %v after %d host calls and %d ticks; want 5 after 1 and 1", got, err, g.called, g.ticks)
			}
		})
	}
	t.Run("export of an import", func(t *testing.T) {
		m := w.New()
		m.Export("run", w.KindFunc, m.ImportFunc("env", "ids", "i32 i32 i32 -> i32 i32 i32"))
		g := start(t, m.Bytes(), instrument.Config{})
		got, err := g.call("run", 1, 2, 3)
		if err != nil || !slices.Equal(got, []uint64{1, 2, 3}) || g.called != 1 || g.ticks != 1 {
			t.Errorf("returned %v, %v after %d host calls and %d ticks; want [1 2 3] after 1 and 1", got, err, g.called, g.ticks)
		}
	})
}

func TestStartFunctionTicks(t *testing.T) {
	m := w.New()
	m.ImportFunc("env", "id", "i32 -> i32")
	m.Start(m.Func("->", "", w.I32Const(5), w.Op(w.Call, 0), w.Op(w.Drop)))
	if g := start(t, m.Bytes(), instrument.Config{}); g.ticks != 1 {
		t.Errorf("%d ticks, want 1", g.ticks)
	}
}

// TestFuelIsExact says to the unit what some guests use, and that the period has no part in it.
func TestFuelIsExact(t *testing.T) {
	const n = 1000
	guests := map[string]struct {
		code func(m *w.Module) []byte
		want uint64
	}{
		"nothing": {func(*w.Module) []byte { return nil }, 0}, // too small for a check
		"a loop": {
			func(*w.Module) []byte { return loop(0, n) },
			// A function that is one loop pays for what is around it, i32.const, local.set, loop and end, with each turn.
			n * (4 + 6),
		},
		"a fill of 2 MiB and a bit": {func(m *w.Module) []byte {
			m.Memory(64, 64)
			return slices.Concat(w.I32Const(0), w.I32Const(1), w.I32Const(2<<20+800), w.Bulk(w.MemoryFill, 0))
		}, 5 + (2<<20+800)/8},
		"a copy of a known length": {func(m *w.Module) []byte {
			m.Memory(64, 64)
			return slices.Concat(w.I32Const(0), w.I32Const(1), w.I32Const(4096), w.Bulk(w.MemoryCopy, 0, 0),
				loop(0, 1), loop(0, 1))
		}, 4 + 512 + 3 + 6 + 3 + 6 + 1},
		"memory.grow": {func(m *w.Module) []byte {
			m.Memory(1, 1000)
			return slices.Concat(w.I32Const(100), w.Op(w.MemoryGrow, 0), w.Op(w.Drop))
		}, 4 + 6400},
		"table.grow": {func(m *w.Module) []byte {
			m.Table(w.FuncRef, 1, 0)
			return slices.Concat(w.Op(w.RefNull, uint32(w.FuncRef)), w.I32Const(5000), w.Bulk(w.TableGrow, 0), w.Op(w.Drop))
		}, 5 + 5000},
	}
	for name, guest := range guests {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.Export("run", w.KindFunc, m.Func("->", "i32", guest.code(m)))
			for _, period := range []int32{1, 77, instrument.DefaultPeriod, 1 << 24} {
				g := start(t, m.Bytes(), instrument.Config{Period: period})
				if _, err := g.call("run"); err != nil {
					t.Fatal(err)
				}
				if got := usedBy(g); got != guest.want {
					t.Errorf("with a period of %d: %d used, want %d", period, got, guest.want)
				}
			}
		})
	}
}

// TestTicksFollowThePeriod runs a loop of a million turns of ten units.
func TestTicksFollowThePeriod(t *testing.T) {
	for period, want := range map[int32]int{1000: 10_000, 100_000: 100, 3_000_000: 3, 16_000_000: 0} {
		g := start(t, emptyLoop(), instrument.Config{Period: period})
		if _, err := g.call("run"); err != nil {
			t.Fatal(err)
		}
		if u := usedBy(g); g.ticks < want-1 || g.ticks > want {
			t.Errorf("%d ticks in %d units with a period of %d, want %d", g.ticks, u, period, want)
		}
	}
}

// TestFuelIsNotLostByATrap traps in a loop that keeps its fuel in a local.
func TestFuelIsNotLostByATrap(t *testing.T) {
	m := w.New()
	m.Memory(1, 1)
	m.Export("run", w.KindFunc, m.Func("->", "i32",
		w.Op(w.Loop, w.Void),
		w.Op(w.LocalGet, 0), w.Op(w.I32Load, 2, 0), w.Op(w.Drop),
		w.Op(w.LocalGet, 0), w.I32Const(4), w.Op(w.I32Add), w.Op(w.LocalSet, 0), w.Op(w.Br, 0), w.Op(w.End)))
	g := start(t, m.Bytes(), instrument.Config{})
	_, err := g.call("run")
	const turns, each = 1<<16/4 + 1, 9 // the last end is not reached
	if got := usedBy(g); outcomeOf(err) != "trap: out of bounds memory access" || got != turns*each {
		t.Errorf("%v after %d units, want a trap after %d", err, got, turns*each)
	}
}
