package instrument_test

import (
	"runtime"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// TestReferencesTakeNoMemoryOfTheHost makes the same reference over and over: wazero would keep each of them.
func TestReferencesTakeNoMemoryOfTheHost(t *testing.T) {
	const turns = 100_000
	m := w.New()
	m.Table(w.FuncRef, 2, 2)
	imported := m.ImportFunc("env", "id", "i32 -> i32")
	own := m.Func("i32 -> i32", "", w.Op(w.LocalGet, 0), w.I32Const(1), w.Op(w.I32Add))
	m.Elements(0, imported, own)
	put := func(place int32, function uint32) []byte {
		return append(append(w.I32Const(place), w.Op(w.RefFunc, function)...), w.Op(w.TableSet, 0)...)
	}
	m.Export("run", w.KindFunc, m.Func("i32 -> i32", "i32", loop(1, turns, put(0, own), put(1, imported)),
		w.Op(w.LocalGet, 0), w.I32Const(0), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0),
		w.I32Const(1), w.Op(w.CallIndirect, m.Type("i32 -> i32"), 0)))
	g := start(t, m.Bytes(), instrument.Config{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := g.call("run", 41)
	runtime.ReadMemStats(&after)
	if err != nil || result[0] != 42 || g.called != 1 {
		t.Errorf("it returns %v, %v after %d host calls, want 42 after one", result, err, g.called)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > turns {
		t.Errorf("%d references took %d bytes of the host", 2*turns, took)
	}
}
