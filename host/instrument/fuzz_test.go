package instrument_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// FuzzInstrument gives it arbitrary bytes. It must return an error of its own, or a module that the runtime accepts when,
// and only when, it accepts the original.
func FuzzInstrument(f *testing.F) {
	for seed := range uint64(40) {
		bin, _ := generate(seed)
		f.Add(bin)
	}
	for _, bin := range [][]byte{
		emptyLoop(), sumMemory(), bubbleSort(), fib(), smallCalls(), smallCopies(), trapping(),
		trapping(functionNames("a", "b"), functionNames("c")), growing([][2]uint32{{1, 2}, {3, 0}, {4, 1<<32 - 1}}),
		raw(w.Section(w.SectionElement, w.U32(1<<27))), []byte("\x00asm\x0d\x00\x01\x00"), nil,
	} {
		f.Add(bin)
	}
	f.Fuzz(func(t *testing.T, bin []byte) { checkAcceptance(t, bin) })
}

// TestAlmostRightModules changes single bytes of valid modules, which gets further into them than arbitrary bytes.
func TestAlmostRightModules(t *testing.T) {
	accepted := 0
	for seed := range uint64(60) {
		bin, _ := generate(seed)
		random := rand.New(rand.NewPCG(seed, 1))
		for range 40 {
			changed := slices.Clone(bin)
			for range 1 + random.IntN(3) {
				changed[8+random.IntN(len(bin)-8)] = byte(random.IntN(256))
			}
			if checkAcceptance(t, changed) {
				accepted++
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d of the modules are accepted, too few to tell anything", accepted)
	}
}

// checkAcceptance checks what [FuzzInstrument] says, and reports whether the runtime accepts the module.
func checkAcceptance(t *testing.T, bin []byte) bool {
	t.Helper()
	out, err := instrument.Instrument(bin, instrument.Config{Image: 1, Late: 1})
	if err != nil {
		if _, ok := errors.AsType[*instrument.Error](err); !ok {
			t.Fatalf("an error of another kind: %v", err)
		}
		return false
	}
	if most := 4096 + 30*len(bin); len(out.Module)+len(out.Image.Data) > most {
		t.Errorf("%d bytes became %d and an image of %d", len(bin), len(out.Module), len(out.Image.Data))
	}
	r, release := newRuntime(t, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer release()
	compile := func(bin []byte) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		_, err = r.CompileModule(t.Context(), bin)
		return err
	}
	was, is := compile(withoutCustom(bin)), compile(out.Module)
	if (was == nil) != (is == nil) {
		t.Errorf("the runtime says %v, of the original %v: %x", is, was, bin)
	}
	return is == nil
}

// TestHostileShapesStayInBounds has modules that are made to take long or to grow much.
func TestHostileShapesStayInBounds(t *testing.T) {
	one := func(code ...[]byte) []byte {
		m := w.New()
		m.Memory(1, 1)
		m.Func("i32 ->", "", code...)
		return m.Bytes()
	}
	repeated := func(n int, code ...byte) []byte { return bytes.Repeat(code, n) }
	const n = 10_000 // much more would be too much for the compiler
	jumps := slices.Concat(repeated(n, w.Block, w.Void), w.I32Const(0), []byte{w.BrTable}, w.U32(n-1))
	for i := range uint32(n) {
		jumps = append(jumps, w.U32(i*7919%n)...)
	}
	functions := w.New()
	for range n {
		functions.Func("->", "", w.Op(w.Call, 0))
	}
	segments := w.New()
	segments.Memory(100, 100)
	for i := range int32(n) {
		segments.Data(i, repeated(50, byte(i)))
	}
	places, gaps, references := w.New(), w.New(), w.New()
	for _, m := range []*w.Module{places, gaps} {
		m.Table(w.FuncRef, 100_000, 100_000)
		m.Func("->", "")
	}
	places.Elements(0, make([]uint32, 100_000)...)
	for i := range int32(n) {
		gaps.Elements(9*i, 0)
		references.Func("->", "", w.Op(w.RefFunc, uint32(i)), w.Op(w.Drop))
		references.Elements(0, uint32(i))
	}
	references.Table(w.FuncRef, 1, 1)
	for name, bin := range map[string][]byte{
		"blocks":         one(repeated(n, w.Block, w.Void, w.End)),
		"loops":          one(repeated(n, w.Loop, w.Void, w.End)),
		"loops in loops": one(repeated(n, w.Loop, w.Void), repeated(n, w.End)),
		"branches":       one(repeated(n, w.Block, w.Void, w.LocalGet, 0, w.BrIf, 0), repeated(n, w.End)),
		"a jump table":   one(jumps, repeated(n, w.End)),
		"copies":         one(repeated(n, w.LocalGet, 0, w.LocalGet, 0, w.LocalGet, 0, 0xfc, 10, 0, 0)),
		"dead code":      one([]byte{w.Unreachable}, repeated(n, 0xfc, 10, 0, 0)),
		"functions":      functions.Bytes(),
		"segments":       segments.Bytes(),
		"places":         places.Bytes(),
		"gaps":           gaps.Bytes(),
		"references":     references.Bytes(),
	} {
		r, err := instrument.Instrument(bin, instrument.Config{Image: 1, Late: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if most := 14 * len(bin); len(r.Module)+len(r.Image.Data) > most {
			t.Errorf("%s: %d bytes became %d and an image of %d, want at most %d", name, len(bin), len(r.Module), len(r.Image.Data), most)
		}
	}
}

// withoutCustom is a module without its custom sections, which have errors of their own. Its sections are known to fit.
func withoutCustom(bin []byte) []byte {
	out := slices.Clone(bin[:8])
	for rest := bin[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(size)
		if rest[0] != w.SectionCustom {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}
