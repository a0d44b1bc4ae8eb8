package instrument_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// isLate reports whether a table of an instrumented module is filled as its functions are called.
func isLate(r instrument.Result) bool { return bytes.Contains(r.Module, []byte("jobhost.stub")) }

// through adds an export that calls what is at a place of the table, and one that does so by a tail call.
func through(m *w.Module) {
	call := func(op byte) uint32 {
		return m.Func("i32 -> i32", "", w.I32Const(7), w.Op(w.LocalGet, 0), w.Op(op, m.Type("i32 -> i32"), 0))
	}
	m.Export("run", w.KindFunc, call(w.CallIndirect))
	m.Export("tail", w.KindFunc, call(w.ReturnCallIndirect))
}

// adding adds n functions that add their number to their parameter.
func adding(m *w.Module, n int) (functions []uint32) {
	for i := range n {
		functions = append(functions, m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.I32Const(int32(i)), w.Op(w.I32Add)))
	}
	return functions
}

// scattered is a module with a table of 300 places: 150 functions that add their number from place 60 on, over some of
// which lie others: an imported one, one that traps, and two of other types.
func scattered() []byte {
	m := w.New()
	imported := m.ImportFunc("env", "id", "i32 -> i32")
	m.Table(w.FuncRef, 300, 300)
	functions := adding(m, 150)
	trap := m.Func("i32 -> i32", "", w.Op(w.Unreachable))
	other := m.Func("->", "")
	another := m.Func("i32 i32 -> i32", "", w.I32Const(1))
	m.Elements(60, functions...)
	m.Elements(70, imported, other, other, trap, another)
	m.Elements(299, functions[1])
	m.Elements(71, functions[5])
	m.Elements(300)
	through(m)
	return m.Bytes()
}

// TestALateTableHoldsWhatItWould calls through each place of a table, and beyond it, twice, as it is and late.
func TestALateTableHoldsWhatItWould(t *testing.T) {
	bin := scattered()
	r, err := instrument.Instrument(bin, instrument.Config{Late: 100})
	if err != nil || !isLate(r) {
		t.Fatalf("late: %t, %v", isLate(r), err)
	}
	for engine, cfg := range engines {
		was, late := startPlain(t, bin, cfg()), startPlain(t, r.Module, cfg())
		atOnce := start(t, bin, instrument.Config{})
		kinds := map[string]int{}
		for _, export := range []string{"run", "tail", "run"} {
			for place := range uint64(303) {
				if place == 302 {
					place = 1<<32 - 1
				}
				call := func(g *guest) string {
					result, err := g.call(export, place)
					resetStack(g, instrument.DefaultStack)
					return fmt.Sprintf("%v %s", result, outcomeOf(err))
				}
				want := call(was)
				if got := call(late); got != want {
					t.Errorf("%s: %s of place %d ends with %s, want %s", engine, export, place, got, want)
				}
				call(atOnce)
				kinds[want]++
			}
		}
		if len(kinds) < 140 || kinds["[] trap: invalid table access"] < 100 || kinds["[] trap: indirect call type mismatch"] != 6 {
			t.Errorf("the calls end in %v", kinds)
		}
		if got, want := usedBy(late), usedBy(atOnce); got != want {
			t.Errorf("%s: %d used, want the %d of a table that is filled at once", engine, got, want)
		}
	}
}

func TestNoTraceShowsThatATableIsLate(t *testing.T) {
	bin := scattered()
	const trapping = 73 // the place of the function that traps
	var traces []string
	for _, cfg := range []instrument.Config{{}, {Late: 1}} {
		g := start(t, bin, cfg)
		_, err := g.call("run", trapping)
		if err == nil {
			t.Fatal("it did not trap")
		}
		traces = append(traces, err.Error())
	}
	if diff := cmp.Diff(traces[0], traces[1]); diff != "" {
		t.Errorf("the trace differs (-at once +late):\n%s", diff)
	}
}

// TestATableIsLateOnlyIfNobodyCanTell has what could tell, beside what cannot.
func TestATableIsLateOnlyIfNobodyCanTell(t *testing.T) {
	const n = 10
	wide := "i32 i32 i32 i32 i32 i32 i32 i32 i32 ->"
	for name, c := range map[string]struct {
		more func(m *w.Module, functions []uint32)
		late bool
	}{
		"nothing but calls": {func(*w.Module, []uint32) {}, true},
		"a reference":       {func(m *w.Module, f []uint32) { m.Func("->", "", w.Op(w.RefFunc, f[0]), w.Op(w.Drop)) }, true},
		"exported":          {func(m *w.Module, _ []uint32) { m.Export("table", w.KindTable, 0) }, false},
		"a start function":  {func(m *w.Module, _ []uint32) { m.Start(m.Func("->", "")) }, false},
		"another table":     {func(m *w.Module, _ []uint32) { m.Table(w.FuncRef, 1, 1) }, false},
		"out of bounds":     {func(m *w.Module, f []uint32) { m.Elements(20, f[0]) }, false},
		"passive":           {func(m *w.Module, _ []uint32) { m.RawElements([]byte{1, 0, 0}) }, false},
		"expressions": {func(m *w.Module, _ []uint32) {
			m.RawElements([]byte{4, 0x41, 0, w.End, 1, w.RefNull, w.FuncRef, w.End})
		}, false},
		"an unknown place": {func(m *w.Module, _ []uint32) {
			m.RawElements(slices.Concat([]byte{0}, w.I32Const(1), w.I32Const(1), []byte{w.I32Add, w.End, 0}))
		}, false},
		"too few of a type": {func(m *w.Module, _ []uint32) { m.Elements(0, m.Func("->", "")) }, false},
		"too many parameters": {func(m *w.Module, _ []uint32) {
			f := m.Func(wide, "")
			m.Elements(0, f, f, f, f, f, f, f, f, f, f)
		}, false},
		"table.get":  {use(w.I32Const(0), w.Op(w.TableGet, 0), w.Op(w.Drop)), false},
		"table.set":  {use(w.I32Const(0), w.Op(w.RefNull, uint32(w.FuncRef)), w.Op(w.TableSet, 0)), false},
		"table.grow": {use(w.Op(w.RefNull, uint32(w.FuncRef)), w.I32Const(0), w.Bulk(w.TableGrow, 0), w.Op(w.Drop)), false},
		"table.fill": {use(w.I32Const(0), w.Op(w.RefNull, uint32(w.FuncRef)), w.I32Const(0), w.Bulk(w.TableFill, 0)), false},
		"table.copy": {use(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Bulk(w.TableCopy, 0, 0)), false},
		"table.init": {use(w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Bulk(w.TableInit, 0, 0)), false},
		"elem.drop":  {use(w.Bulk(w.ElemDrop, 0)), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := w.New()
			m.Table(w.FuncRef, 20, 20)
			functions := adding(m, n)
			m.Elements(0, functions...)
			through(m)
			c.more(m, functions)
			bin := m.Bytes()
			r, err := instrument.Instrument(bin, instrument.Config{Late: n})
			if err != nil || isLate(r) != c.late {
				t.Fatalf("late: %t, %v; want %t", isLate(r), err, c.late)
			}
			was, is := startPlain(t, bin, engines["compiler"]()), startPlain(t, r.Module, engines["compiler"]())
			for place := range uint64(20) {
				want, wantErr := was.call("run", place)
				got, err := is.call("run", place)
				if !slices.Equal(got, want) || outcomeOf(err) != outcomeOf(wantErr) {
					t.Errorf("place %d: %v, %v; want %v, %v", place, got, err, want, wantErr)
				}
			}
		})
	}
	t.Run("imported", func(t *testing.T) {
		m := w.New()
		m.Import("env", "table", w.KindTable, append([]byte{w.FuncRef}, w.Limits(20, 20)...))
		m.Elements(0, adding(m, n)...)
		if r, err := instrument.Instrument(m.Bytes(), instrument.Config{Late: n}); err != nil || isLate(r) {
			t.Errorf("late: %t, %v; want an imported table filled at once", isLate(r), err)
		}
	})
	t.Run("without a meter and a stack", func(t *testing.T) {
		r, err := instrument.Instrument(scattered(), instrument.Config{Late: 1, Skip: instrument.Meter | instrument.Stack})
		if err != nil || isLate(r) {
			t.Errorf("late: %t, %v; want a table filled at once", isLate(r), err)
		}
	})
}

// use adds a function of such instructions.
func use(code ...[]byte) func(m *w.Module, _ []uint32) {
	return func(m *w.Module, _ []uint32) { m.Func("->", "", code...) }
}

// TestGeneratedTablesAreLate makes sure that the modules of FuzzGeneratedModulesDoTheSame say something about late tables.
func TestGeneratedTablesAreLate(t *testing.T) {
	late := 0
	for seed := range uint64(150) {
		bin, _ := generate(seed)
		r, err := instrument.Instrument(bin, instrument.Config{Late: 1})
		if err != nil {
			t.Fatal(err)
		}
		if isLate(r) {
			late++
		}
	}
	if late < 50 || late > 120 {
		t.Errorf("%d of 150 modules have a late table, want some of both", late)
	}
}

// TestTheTableOfGoIsLate is what all this is for: Go's compiler puts every function into the table.
func TestTheTableOfGoIsLate(t *testing.T) {
	r, err := instrument.Instrument(goWork(t), instrument.Config{Late: 512})
	if err != nil || !isLate(r) {
		t.Errorf("late: %t, %v; want a late table", isLate(r), err)
	}
}
