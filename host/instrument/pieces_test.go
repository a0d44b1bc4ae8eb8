package instrument_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// bulkPages is the memory of the guests below, some pieces of 1 MiB.
const bulkPages = 80

// bulkModule exports the memory instructions as functions of their three operands: of a large segment, init and drop,
// and of a small one, init small.
func bulkModule() []byte {
	m := w.New()
	m.Memory(bulkPages, bulkPages)
	m.Export("memory", w.KindMemory, 0)
	large, small := make([]byte, 3<<20+12345), make([]byte, 5000)
	random := rand.New(rand.NewPCG(1, 2))
	for _, b := range [][]byte{large, small} {
		for i := range b {
			b[i] = byte(random.Uint32())
		}
	}
	first, second := m.PassiveData(large), m.PassiveData(small)
	operands := slices.Concat(w.Op(w.LocalGet, 0), w.Op(w.LocalGet, 1), w.Op(w.LocalGet, 2))
	export := func(name string, code []byte) {
		m.Export(name, w.KindFunc, m.Func("i32 i32 i32 ->", "", operands, code))
	}
	export("fill", w.Bulk(w.MemoryFill, 0))
	export("copy", w.Bulk(w.MemoryCopy, 0, 0))
	export("init", w.Bulk(w.MemoryInit, first, 0))
	export("init small", w.Bulk(w.MemoryInit, second, 0))
	m.Export("drop", w.KindFunc, m.Func("->", "", w.Bulk(w.DataDrop, first)))
	return m.Bytes()
}

// TestMemoryInstructionsInPiecesDoTheSame compares them with the same instructions in one go: what the memory is
// afterwards, and whether they trap.
func TestMemoryInstructionsInPiecesDoTheSame(t *testing.T) {
	bin := bulkModule()
	plain := startPlain(t, bin, wazero.NewRuntimeConfigCompiler())
	pieces := start(t, bin, instrument.Config{Period: 1000})
	pattern := make([]byte, bulkPages<<16)
	rapid.Check(t, func(t *rapid.T) {
		const size = bulkPages << 16
		edge := rapid.SampledFrom([]uint32{
			0, 1, 100, 4096, 4097, 1 << 20, 1<<20 + 1, 2 << 20, 3<<20 + 12345, size - 1, size, size + 1, 1 << 31, 1<<32 - 1,
		})
		operand := rapid.OneOf(edge, rapid.Uint32Range(0, size), rapid.Map(edge, func(e uint32) uint32 { return size - e }))
		name := rapid.SampledFrom([]string{"fill", "copy", "copy", "init", "init small"}).Draw(t, "instruction")
		to, from, n := operand.Draw(t, "to"), operand.Draw(t, "from"), operand.Draw(t, "length")
		random := rand.New(rand.NewPCG(uint64(to), uint64(from)))
		for i := 0; i+8 <= size; i += 8 * (1 + int(random.Uint32()%64)) {
			pattern[i] = byte(random.Uint32())
		}
		var outcomes [2]string
		var memories [2][]byte
		for i, g := range []*guest{plain, pieces} {
			g.Memory().Write(0, pattern)
			_, err := g.call(name, uint64(to), uint64(from), uint64(n))
			outcomes[i] = outcomeOf(err)
			memories[i], _ = g.Memory().Read(0, size)
		}
		if outcomes[0] != outcomes[1] {
			t.Fatalf("%s, in one go %s", outcomes[1], outcomes[0])
		}
		if !bytes.Equal(memories[0], memories[1]) {
			t.Fatal("the memory is not what it is in one go")
		}
		if outcomes[1] != "ok" && !bytes.Equal(memories[1], pattern) {
			t.Fatal("something was written before the trap")
		}
	})
}

func TestDroppedSegmentTrapsBeforeAnythingIsWritten(t *testing.T) {
	g := start(t, bulkModule(), instrument.Config{})
	if _, err := g.call("drop"); err != nil {
		t.Fatal(err)
	}
	_, err := g.call("init", 0, 0, 2<<20)
	memory, _ := g.Memory().Read(0, bulkPages<<16)
	if outcomeOf(err) != "trap: out of bounds memory access" || !bytes.Equal(memory, make([]byte, len(memory))) {
		t.Errorf("%v, want a trap and an empty memory", err)
	}
}

func TestLongFillTicksBetweenItsPieces(t *testing.T) {
	g := start(t, bulkModule(), instrument.Config{Period: 100_000})
	if _, err := g.call("fill", 0, 1, bulkPages<<16); err != nil || g.ticks != 5 {
		t.Errorf("%v and %d ticks for 5 MiB, want a tick for each", err, g.ticks)
	}
}

// TestTheGuestsOwnFunctionTraps looks at the trace: the trap is in the guest's function, not in an added one.
func TestTheGuestsOwnFunctionTraps(t *testing.T) {
	g := start(t, bulkModule(), instrument.Config{})
	for _, name := range []string{"fill", "copy", "init", "init small"} {
		_, err := g.call(name, 0, 1, 1<<31)
		if err == nil || bytes.Contains([]byte(err.Error()), []byte("jobhost")) {
			t.Errorf("%s: %v, want a trace without added functions", name, err)
		}
	}
}
