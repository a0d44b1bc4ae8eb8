package instrument_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// bomb is a function of an i32 and so many locals, in a module with what its code may need.
func bomb(locals int, code ...[]byte) []byte {
	m := w.New()
	m.Memory(1, 1)
	m.Global(w.I32, w.I32Const(0))
	body := slices.Concat([]byte{1}, w.U32(uint32(locals)), []byte{w.I32}, slices.Concat(code...), []byte{w.End})
	m.RawFunc(m.Type("i32 ->"), body)
	return append(m.Bytes(), w.Section(w.SectionCustom, append(w.Text("name"), functionNames("boom")...))...)
}

// repeated is code, n times.
func repeated(n int, code ...[]byte) []byte { return bytes.Repeat(slices.Concat(code...), n) }

// each is code for each number below n.
func each(n int, code func(i uint32) []byte) []byte {
	var out []byte
	for i := range uint32(n) {
		out = append(out, code(i)...)
	}
	return out
}

// TestCompileBombsAreRefused has small modules that would cost the compiler gigabytes or minutes.
func TestCompileBombsAreRefused(t *testing.T) {
	get, set, void := w.Op(w.LocalGet, 0), w.Op(w.LocalSet, 0), uint32(w.Void)
	thousand := w.New()
	wide := strings.Repeat("i32 ", 1000)
	thousand.Func(wide+"-> "+wide, "", w.Op(w.Unreachable))
	thousand.Func(wide+"-> "+wide, "", each(1000, func(i uint32) []byte { return w.Op(w.LocalGet, i) }), repeated(2000, w.Op(w.Call, 0)))
	types := w.New()
	types.Raw(w.SectionType, slices.Concat(w.U32(1500), repeated(1500, slices.Concat([]byte{0x60}, w.U32(1000), repeated(1000, []byte{w.I64}), []byte{0}))))
	globals := w.New()
	for range 10_000 {
		globals.Global(w.I32, w.I32Const(0))
	}
	globals.Func("->", "", repeated(1000, w.Op(w.Call, 0)))
	several := w.New()
	for range 12 {
		several.Func("i32 ->", "", repeated(10_000, w.Op(w.LocalGet, 0), w.Op(w.BrIf, 0)), repeated(9000, w.Op(w.Block, void), w.Op(w.End)))
	}
	code := w.New()
	code.Func(wide+"-> "+wide, "", w.Op(w.Unreachable))
	for range 50 {
		code.Func(wide+"-> "+wide, "", each(1000, func(i uint32) []byte { return w.Op(w.LocalGet, i) }), repeated(500, w.Op(w.Call, 0)))
	}
	for name, c := range map[string]struct {
		bin  []byte
		want []string
	}{
		"200,000 operations": {bomb(0, repeated(200_000, get, w.Op(w.I32Load, 2, 0), set)), []string{"function 0 (boom): compiling it could take", "MiB of memory, at most 768", "divide it"}},
		"5,000 ifs and 10,000 locals": {
			bomb(10_000, each(5000, func(i uint32) []byte {
				return slices.Concat(get, w.Op(w.If, void), get, w.Op(w.LocalSet, 1+i), w.Op(w.End))
			}), each(10_000, func(i uint32) []byte { return slices.Concat(w.Op(w.LocalGet, 1+i), w.Op(w.GlobalSet, 0)) })),
			[]string{"function 0 (boom)", "blocks and branches", "locals that live on between them"},
		},
		"7.5 MB of straight code":         {bomb(0, get, repeated(2_500_000, get, w.Op(w.I32Add)), set), []string{"MiB of memory"}},
		"100,000 nested blocks":           {bomb(0, repeated(99_000, w.Op(w.Block, void)), repeated(99_000, w.Op(w.End))), []string{" s, at most 60 are allowed"}},
		"10,000 nested loops":             {bomb(1, repeated(20_000, w.Op(w.Loop, void)), repeated(20_000, get, w.Op(w.BrIf, 0), w.Op(w.End))), []string{" s, at most 60 are allowed"}},
		"branches to one place":           {bomb(0, w.Op(w.Block, void), repeated(100_000, get, w.Op(w.BrIf, 0)), w.Op(w.End)), []string{"compiling it could take"}},
		"a large jump table":              {bomb(0, w.Op(w.Block, void), get, []byte{w.BrTable}, w.U32(200_000), repeated(200_001, []byte{0}), w.Op(w.End)), []string{"compiling it could take"}},
		"calls of a thousand values":      {thousand.Bytes(), []string{"function 1: compiling it could take"}},
		"globals that calls may change":   {globals.Bytes(), []string{"MiB of memory"}},
		"types of a thousand values":      {types.Bytes(), []string{"parameters and results, at most 1000000 are allowed"}},
		"functions that are just allowed": {several.Bytes(), []string{"the functions up to number", " s, at most 60 are allowed", "several plugins"}},
		"much code in small functions":    {code.Bytes(), []string{"the functions up to number", " MiB of memory, at most 1280", "several plugins"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instrument.Instrument(c.bin, instrument.Config{})
			e, ok := errors.AsType[*instrument.Error](err)
			if !ok || e.Kind != instrument.TooLarge {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("the error is\n%s\nand lacks\n%s", e, part)
				}
			}
		})
	}
}

// TestProgramsAreFarFromTheLimits has what compilers write: the largest are a C compiler's and Go's.
func TestProgramsAreFarFromTheLimits(t *testing.T) {
	programs := [][]byte{goWork(t)}
	err := filepath.WalkDir(wazeroDir(t), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" || strings.Contains(path, "spectest") {
			return err
		}
		bin, err := os.ReadFile(path)
		programs = append(programs, bin)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bin := range programs {
		r, err := instrument.Instrument(bin, instrument.Config{})
		if err != nil {
			continue // for a feature; TestEveryProgramCompiles looks after those
		}
		if r.Stats.CompileMemory > 1280<<20/8 || r.Stats.CompileTime > 60*time.Second/10 {
			t.Errorf("a program of %d bytes is estimated at %d MiB and %v", len(bin), r.Stats.CompileMemory>>20, r.Stats.CompileTime)
		}
	}
}
