package instrument_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// TestMergedSegmentsWriteTheSame compares the memory after instantiation, and what memory.init and data.drop of every
// segment do afterwards, with the module as it was.
func TestMergedSegmentsWriteTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := w.New()
		m.Memory(1, 2)
		m.Export("memory", w.KindMemory, 0)
		n := rapid.IntRange(0, 12).Draw(rt, "segments")
		offset := rapid.OneOf(rapid.Int32Range(0, 40), rapid.Int32Range(0, 300))
		if rapid.IntRange(0, 3).Draw(rt, "some do not fit") == 0 {
			offset = rapid.OneOf(offset, rapid.SampledFrom([]int32{65530, 65536, 65537, -1}))
		}
		initAll := rapid.IntRange(0, 3).Draw(rt, "memory.init of all") == 0 // else of passive ones only
		passive := make([]bool, n)
		for i := range n {
			data := bytes.Repeat([]byte{byte(i + 1)}, rapid.SampledFrom([]int{0, 1, 2, 7, 70}).Draw(rt, "length"))
			switch rapid.SampledFrom([]string{"active", "active", "active", "index", "computed", "passive"}).Draw(rt, "mode") {
			case "active":
				m.Data(offset.Draw(rt, "offset"), data)
			case "index":
				m.RawData(slices.Concat([]byte{2, 0}, w.I32Const(offset.Draw(rt, "offset")), []byte{w.End},
					w.U32(uint32(len(data))), data))
			case "computed":
				at := rapid.Int32Range(0, 300).Draw(rt, "offset")
				m.RawData(slices.Concat([]byte{0}, w.I32Const(at), w.I32Const(1), w.Op(w.I32Add),
					[]byte{w.End}, w.U32(uint32(len(data))), data))
			case "passive":
				passive[i] = true
				m.PassiveData(data)
			}
		}
		m.DataCount()
		for i := range uint32(n) {
			if passive[i] || initAll {
				m.Export(fmt.Sprint("init", i), w.KindFunc, m.Func("i32 ->", "",
					w.I32Const(1000), w.I32Const(0), w.Op(w.LocalGet, 0), w.Bulk(w.MemoryInit, i, 0)))
			}
			m.Export(fmt.Sprint("drop", i), w.KindFunc, m.Func("->", "", w.Bulk(w.DataDrop, i)))
		}
		bin := m.Bytes()
		want := dataStory(t, instrument.Result{Module: bin}, n)
		for _, cfg := range []instrument.Config{{}, {Image: 1}, {Image: 100}} {
			r, err := instrument.Instrument(bin, cfg)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, dataStory(t, r, n)); diff != "" {
				rt.Fatalf("segments differ with %+v (-before +merged):\n%s", cfg, diff)
			}
		}
	})
}

// dataStory tells all that can be seen of the data segments of a module.
func dataStory(t *testing.T, module instrument.Result, segments int) (story []string) {
	t.Helper()
	ctx := t.Context()
	r, release := newRuntime(t, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer release()
	if err := provideTick(ctx, r, endOnOverflow); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(withImage(ctx, module.Image), module.Module)
	if err != nil {
		return []string{err.Error()}
	}
	memory, _ := m.Memory().Read(0, 1<<16)
	for i, b := range memory {
		if b != 0 {
			story = append(story, fmt.Sprintf("%d: %d", i, b))
		}
	}
	for _, action := range []string{"init", "drop", "init"} {
		for i := range segments {
			var args []uint64
			if action == "init" {
				args = []uint64{uint64(i % 3)}
			}
			f := m.ExportedFunction(fmt.Sprint(action, i))
			if f == nil {
				continue
			}
			_, err := f.Call(ctx, args...)
			story = append(story, fmt.Sprint(action, i, " ", outcomeOf(err), " ", string(memory[1000:1003])))
		}
	}
	return story
}

// TestSegmentsOfAnImportedMemoryStay since what is in it already must stay too.
func TestSegmentsOfAnImportedMemoryStay(t *testing.T) {
	m := w.New()
	m.Import("env", "memory", w.KindMemory, w.Limits(1, 0))
	m.Data(0, []byte{1})
	m.Data(2, []byte{3})
	r, err := instrument.Instrument(m.Bytes(), instrument.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stats.SegmentsAfter != 2 {
		t.Errorf("2 segments became %d", r.Stats.SegmentsAfter)
	}
}

func TestManySmallSegmentsBecomeFew(t *testing.T) {
	m := w.New()
	m.Memory(10, 10)
	m.Export("memory", w.KindMemory, 0)
	for i := range int32(20_000) {
		m.Data(i*20, []byte{1, 2, 3})
	}
	r, err := instrument.Instrument(m.Bytes(), instrument.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stats.SegmentsBefore != 20_000 || r.Stats.SegmentsAfter > 2 {
		t.Errorf("%d segments became %d, want one or two", r.Stats.SegmentsBefore, r.Stats.SegmentsAfter)
	}
	if b, _ := startPlain(t, r.Module, wazero.NewRuntimeConfigCompiler()).Memory().Read(19_999*20, 4); !bytes.Equal(b, []byte{1, 2, 3, 0}) {
		t.Errorf("the last segment is %v", b)
	}
}

// TestFillingGapsIsBounded has a segment of one byte at every 65th address.
func TestFillingGapsIsBounded(t *testing.T) {
	m := w.New()
	m.Memory(1000, 1000)
	for i := range int32(500_000) {
		m.Data(i*65, []byte{1})
	}
	bin := m.Bytes()
	r, err := instrument.Instrument(bin, instrument.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Module) > 3*len(bin) {
		t.Errorf("%d bytes became %d, want at most three times as many", len(bin), len(r.Module))
	}
}
