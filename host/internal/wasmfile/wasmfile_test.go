package wasmfile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/host/internal/wasmfile"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func sample() []byte {
	m := wasmtest.New()
	m.ImportFunc("jobhost_v1", "sleep_ms", "i64 -> i32")
	m.Import("env", "table", wasmtest.KindTable, []byte{wasmtest.FuncRef, 1, 2, 3})
	m.Import("env", "memory", wasmtest.KindMemory, []byte{3, 1, 2})
	m.Import("env", "global", wasmtest.KindGlobal, []byte{wasmtest.I32, 1})
	f := m.Func("i32 f32 f64 v128 funcref externref ->", "")
	m.Export("f", wasmtest.KindFunc, f)
	m.Export("imported", wasmtest.KindFunc, 0)
	m.Export("memory", wasmtest.KindMemory, 0)
	m.Custom("producers", slices.Concat([]byte{1}, wasmtest.Text("language"), []byte{2}, wasmtest.Text("Go"), wasmtest.Text("1.26"), wasmtest.Text("C"), wasmtest.Text("")))
	return m.Bytes()
}

func TestParseSaysWhatAModuleDeclares(t *testing.T) {
	got, err := wasmfile.Parse(sample())
	if err != nil {
		t.Fatal(err)
	}
	sleep := wasmfile.FuncType{Params: []wasmfile.ValueType{wasmfile.I64}, Results: []wasmfile.ValueType{wasmfile.I32}}
	want := &wasmfile.File{
		Imports: []wasmfile.Import{
			{Module: "jobhost_v1", Name: "sleep_ms", Kind: wasmfile.Func, Type: sleep},
			{Module: "env", Name: "table", Kind: wasmfile.Table},
			{Module: "env", Name: "memory", Kind: wasmfile.Memory},
			{Module: "env", Name: "global", Kind: wasmfile.Global},
		},
		Exports: []wasmfile.Export{
			{Name: "f", Kind: wasmfile.Func, Type: wasmfile.FuncType{Params: []wasmfile.ValueType{
				wasmfile.I32, wasmfile.F32, wasmfile.F64, wasmfile.V128, wasmfile.FuncRef, wasmfile.ExternRef,
			}}},
			{Name: "imported", Kind: wasmfile.Func, Type: sleep},
			{Name: "memory", Kind: wasmfile.Memory},
		},
		Memories:  []wasmfile.Mem{{Imported: true, Shared: true, Min: 1, Max: 2, HasMax: true}},
		Customs:   got.Customs,
		Functions: 1,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if s := got.Exports[0].Type.String(); s != "(i32, f32, f64, v128, funcref, externref) -> ()" {
		t.Errorf("the type is written as %s", s)
	}
	producers := wasmfile.Producers(got.Customs[0].Data)
	if diff := cmp.Diff(producers, map[string][]string{"language": {"Go 1.26", "C"}}); diff != "" {
		t.Error(diff)
	}
}

func TestEveryCutOfAModuleIsAnError(t *testing.T) {
	bin := sample()
	ends := map[int]bool{len(bin): true, 8: true} // where a section ends, the rest is a module too
	for at := 8; at < len(bin); {
		at += 2 + int(bin[at+1])
		ends[at] = true
	}
	for n := range bin {
		_, err := wasmfile.Parse(bin[:n])
		switch {
		case n == 0 && !errors.Is(err, wasmfile.ErrNotWasm), n > 0 && !ends[n] && !errors.Is(err, wasmfile.ErrCutOff), ends[n] && err != nil:
			t.Errorf("the first %d bytes gave %v", n, err)
		}
	}
}

func TestMalformedModules(t *testing.T) {
	module := func(sections ...[]byte) []byte {
		return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
	}
	for name, test := range map[string]struct {
		bin  []byte
		want string
	}{
		"text":                {[]byte("(module)"), "magic number"},
		"component":           {[]byte("\x00asm\x0d\x00\x01\x00"), "component"},
		"version":             {[]byte("\x00asm\x07\x00\x00\x00"), "version 07 00 00 00"},
		"count beyond bytes":  {module(wasmtest.Section(1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})), "type section is malformed: 4294967295 entries in 0 bytes"},
		"type form":           {module(wasmtest.Section(1, []byte{1, 0x5f})), "type form 0x5f"},
		"left over":           {module(wasmtest.Section(1, []byte{0, 0})), "1 bytes too many"},
		"length beyond bytes": {module(wasmtest.Section(2, []byte{1, 0x7f})), "a length of 127 passes the end"},
		"long number":         {module(wasmtest.Section(3, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), "a number is too long"},
		"big number":          {module(wasmtest.Section(3, []byte{0xff, 0xff, 0xff, 0xff, 0x7f})), "a number is too long"},
		"import kind":         {module(wasmtest.Section(2, []byte{1, 0, 0, 9})), "import kind 9"},
		"many memories":       {module(wasmtest.Section(5, append([]byte{101}, make([]byte, 202)...))), "101 entries, at most 100"},
	} {
		if _, err := wasmfile.Parse(test.bin); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\x07\x01\x01a\x01b\x04\x00\x00"))
	f.Fuzz(func(t *testing.T, bin []byte) {
		file, err := wasmfile.Parse(bin)
		if err != nil {
			return
		}
		for _, c := range file.Customs {
			wasmfile.Producers(c.Data)
		}
		if n := len(file.Imports) + len(file.Exports) + len(file.Memories) + file.Functions; n > len(bin) {
			t.Errorf("%d entries from %d bytes", n, len(bin))
		}
	})
}
