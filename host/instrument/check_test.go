package instrument_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// raw is a module of sections as they are.
func raw(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

// body is a module with a memory and one function of such instructions.
func body(code ...byte) []byte {
	m := w.New()
	m.Memory(1, 1)
	m.Func("i32 -> i32", "i64", w.I32Const(0), code)
	return m.Bytes()
}

// TestWrongModulesAreRefused says for each what is wrong, and where.
func TestWrongModulesAreRefused(t *testing.T) {
	types := w.Section(w.SectionType, []byte{1, 0x60, 0, 0})
	function := w.Section(w.SectionFunction, []byte{1, 0})
	code := w.Section(w.SectionCode, []byte{1, 2, 0, w.End})
	huge := w.U32(1<<32 - 1)
	for name, c := range map[string]struct {
		bin  []byte
		kind instrument.Kind
		want string
	}{
		"nothing":       {nil, instrument.NotWasm, `the file is empty`},
		"text":          {[]byte("hello world"), instrument.NotWasm, `not wasm: it begins with "hell"; want "\x00asm"`},
		"text format":   {[]byte("\n(module)"), instrument.NotWasm, `not wasm: it looks like the text format; translate it first, for example with wat2wasm`},
		"short":         {[]byte("\x00as"), instrument.Truncated, `the module is cut off: it has only 3 bytes`},
		"component":     {[]byte("\x00asm\x0d\x00\x01\x00"), instrument.Component, `a component of the component model; build a core module, for example wasip1`},
		"other version": {[]byte("\x00asm\x02\x00\x00\x00"), instrument.Malformed, `version 02000000 is unknown; want 01000000, a core module of version 1`},

		"cut off":               {raw(types, function, code[:4]), instrument.Truncated, `code section: the module is cut off: a section of 4 bytes begins, but only 2 are left (at byte 18)`},
		"cut off in a length":   {raw(types, function, []byte{w.SectionCode, 0x80}), instrument.Truncated, `code section: the module is cut off: a section begins, but its length is not there (at byte 18)`},
		"cut off at a border":   {raw(types, function), instrument.Truncated, `the module is cut off: it declares 1 functions and has no code section (at byte 18)`},
		"section in disorder":   {raw(function, types), instrument.Malformed, `type section: it stands twice or after a section that it must precede (at byte 12)`},
		"section twice":         {raw(types, types), instrument.Malformed, `type section: it stands twice or after a section that it must precede (at byte 14)`},
		"unknown section":       {raw([]byte{77, 0}), instrument.Malformed, `section id 77 is unknown (at byte 8)`},
		"section too long":      {raw(w.Section(w.SectionType, []byte{0, 9})), instrument.Malformed, `type section: 1 bytes are left over at its end (at byte 11)`},
		"section too short":     {raw(w.Section(w.SectionType, []byte{1, 0x60, 0, 0x80})), instrument.Malformed, `type section: it ends too early (at byte 14)`},
		"a number too long":     {raw(w.Section(w.SectionType, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), instrument.Malformed, `type section: a number is too large or too long for 32 bits (at byte 10)`},
		"a number too large":    {raw(w.Section(w.SectionType, []byte{0xff, 0xff, 0xff, 0xff, 0x1f})), instrument.Malformed, `type section: a number is too large or too long for 32 bits (at byte 10)`},
		"no code":               {raw(types, function, w.Section(w.SectionCode, []byte{0})), instrument.Malformed, `code section: it has 0 functions, but 1 are declared (at byte 21)`},
		"no code section":       {raw(types, function, w.Section(w.SectionData, []byte{0})), instrument.Malformed, `it declares 1 functions and has no code section (at byte 21)`},
		"data without count":    {raw(w.Section(w.SectionDataCount, []byte{1})), instrument.Malformed, `data count section: 1 data segments are announced, but there are 0 (at byte 10)`},
		"data without a memory": {raw(w.Section(w.SectionData, []byte{1, 0, 0x41, 0, w.End, 0})), instrument.Malformed, `data section: a data segment is for a memory, and there is none (at byte 11)`},

		"huge count of types":     {raw(w.Section(w.SectionType, huge)), instrument.Malformed, `type section: 4294967295 types do not fit into the 0 bytes that are left (at byte 10)`},
		"huge count of imports":   {raw(w.Section(w.SectionImport, huge)), instrument.Malformed, `import section: 4294967295 imports do not fit into the 0 bytes that are left (at byte 10)`},
		"huge count of functions": {raw(w.Section(w.SectionFunction, huge)), instrument.Truncated, `the module is cut off: it declares 4294967295 functions and has no code section (at byte 15)`},
		"huge count of exports":   {raw(w.Section(w.SectionExport, huge)), instrument.Malformed, `export section: 4294967295 exports do not fit into the 0 bytes that are left (at byte 10)`},
		"huge count of data":      {raw(w.Section(w.SectionData, huge)), instrument.Malformed, `data section: 4294967295 data segments do not fit into the 0 bytes that are left (at byte 10)`},
		"huge data":               {raw(w.Section(w.SectionData, append([]byte{1, 1}, huge...))), instrument.Malformed, `data section: a length of 4294967295 bytes, but only 0 are left (at byte 17)`},
		"huge name":               {raw(w.Section(w.SectionImport, append([]byte{1}, append(huge, 0, 0, 0)...))), instrument.Malformed, `import section: a length of 4294967295 bytes, but only 3 are left (at byte 16)`},
		"huge count of labels":    {body(w.BrTable, 0xff, 0xff, 0xff, 0xff, 0x0f), instrument.Malformed, `code section: function 0: 4294967295 labels do not fit into the 1 bytes that are left (at byte 36)`},
		"huge locals":             {raw(types, function, w.Section(w.SectionCode, slices.Concat([]byte{1, 8, 1}, huge, []byte{w.I32, w.End}))), instrument.TooLarge, `code section: function 0: 4294967295 locals, at most 50000 are allowed (at byte 23)`},

		"a label":    {body(w.Br, 1), instrument.Malformed, `code section: function 0: label 1 is out of range, there are 1 (at byte 35)`},
		"a local":    {body(w.LocalGet, 2), instrument.Malformed, `code section: function 0: local index 2 is out of range, there are 2 (at byte 36)`},
		"a global":   {body(w.GlobalGet, 0), instrument.Malformed, `code section: function 0: global index 0 is out of range, there are 0 (at byte 36)`},
		"a function": {body(w.Call, 1), instrument.Malformed, `code section: function 0: function index 1 is out of range, there are 1 (at byte 36)`},
		"a type":     {body(w.CallIndirect, 1, 0), instrument.Malformed, `code section: function 0: type index 1 is out of range, there are 1 (at byte 36)`},
		"a table":    {body(w.CallIndirect, 0, 0), instrument.Malformed, `code section: function 0: table index 0 is out of range, there are 0 (at byte 37)`},
		"a segment":  {body(0xfc, 9, 0), instrument.Malformed, `code section: function 0: data segment index 0 is out of range, there are 0 (at byte 37)`},
		"an opcode":  {body(0xff), instrument.Malformed, `code section: function 0: opcode 0xff is unknown (at byte 35)`},
		"an else":    {body(w.Else), instrument.Malformed, `code section: function 0: an else without an if (at byte 35)`},
		"an end":     {body(w.End), instrument.Malformed, `code section: function 0: 1 bytes are left over behind its end (at byte 36)`},
		"no end":     {body(w.Block, w.Void), instrument.Malformed, `code section: function 0: it ends too early (at byte 38)`},

		"host's import": {func() []byte {
			m := w.New()
			m.ImportFunc(instrument.TickModule, instrument.TickFunction, "->")
			return m.Bytes()
		}(), instrument.Reserved, `import section: import 0 is from module "jobhost_meter", which belongs to the host (at byte 17)`},
		"host's export": {func() []byte {
			m := w.New()
			m.Export(instrument.FuelGlobal, w.KindGlobal, m.Global(w.I32, w.I32Const(0)))
			return m.Bytes()
		}(), instrument.Reserved, `export section: export "__jobhost_fuel" has a name that belongs to the host (at byte 19)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instrument.Instrument(c.bin, instrument.Config{})
			e, ok := errors.AsType[*instrument.Error](err)
			if !ok || e.Kind != c.kind || e.Error() != c.want {
				t.Errorf("got  %v (%+v)\nwant %s (kind %d)", err, e, c.want, c.kind)
			}
		})
	}
}

// TestFeaturesAreRefusedByName has a module for each feature that is not supported.
func TestFeaturesAreRefusedByName(t *testing.T) {
	memory := func(flags byte) []byte { return raw(w.Section(w.SectionMemory, []byte{1, flags, 1, 1})) }
	form := func(form byte) []byte { return raw(w.Section(w.SectionType, []byte{1, form, 0, 0})) }
	valueType := func(t ...byte) []byte {
		return raw(w.Section(w.SectionType, slices.Concat([]byte{1, 0x60, 1}, t, []byte{0})))
	}
	for name, c := range map[string]struct {
		bin     []byte
		feature string
	}{
		"a tag section":           {raw(w.Section(13, []byte{1, 0, 0})), "exception handling"},
		"an imported tag":         {raw(w.Section(w.SectionImport, []byte{1, 0, 0, 4, 0, 0})), "exception handling"},
		"try":                     {body(0x06, w.Void), "exception handling"},
		"throw":                   {body(0x08, 0), "exception handling"},
		"try_table":               {body(0x1f, w.Void), "exception handling"},
		"exnref":                  {valueType(0x69), "exception handling"},
		"a shared memory":         {memory(3), "threads"},
		"an atomic":               {body(0xfe, 0), "threads"},
		"a 64-bit memory":         {memory(5), "memory64"},
		"two memories":            {raw(w.Section(w.SectionMemory, []byte{2, 0, 1, 0, 1})), "multiple memories"},
		"another memory":          {body(w.I32Load, 0x42, 1, 0), "multiple memories"},
		"memory.size of another":  {body(w.MemorySize, 1), "multiple memories"},
		"a structure":             {form(0x5f), "garbage collection"},
		"a recursive group":       {form(0x4e), "garbage collection"},
		"anyref":                  {valueType(0x6e), "garbage collection"},
		"struct.new":              {body(0xfb, 0), "garbage collection"},
		"a typed reference":       {valueType(0x64, 0), "typed function references"},
		"call_ref":                {body(0x14, 0), "typed function references"},
		"a table with a value":    {raw(w.Section(w.SectionTable, []byte{1, 0x40, 0, w.FuncRef, 0, 0})), "typed function references"},
		"a relaxed vector":        {body(0xfd, 0x80, 2), "relaxed SIMD"},
		"64 by 64 bit multiply":   {body(0xfc, 21), "wide arithmetic"},
		"a memory of small pages": {memory(8), "custom page sizes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instrument.Instrument(c.bin, instrument.Config{})
			e, ok := errors.AsType[*instrument.Error](err)
			if !ok || e.Kind != instrument.Unsupported || e.Feature != c.feature {
				t.Errorf("got %v, want a refusal because of %s", err, c.feature)
			}
		})
	}
}

// TestSmallModulesCannotAskForMuch has modules whose counts and lengths are far beyond what is in them, and wants no
// memory to be taken for them.
func TestSmallModulesCannotAskForMuch(t *testing.T) {
	manyLocals := w.New()
	for range 1000 {
		manyLocals.RawFunc(manyLocals.Type("->"), slices.Concat([]byte{1}, w.U32(50_000), []byte{w.I64, w.End}))
	}
	for name, bin := range map[string][]byte{
		"14 bytes":                   raw(w.Section(w.SectionElement, slices.Concat(w.U32(1<<27)))),
		"many locals in many places": manyLocals.Bytes(),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := instrument.Instrument(bin, instrument.Config{})
		runtime.ReadMemStats(&after)
		if _, ok := errors.AsType[*instrument.Error](err); !ok || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: %v, and %d bytes were allocated", name, err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []instrument.Config{{Period: -1}, {Period: 1<<24 + 1}, {Stack: 1<<30 + 1}, {Tables: 1 << 17}} {
		if _, err := instrument.Instrument(emptyLoop(), cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// TestTheModuleIsNotTouched also shows that the output is the same each time.
func TestTheModuleIsNotTouched(t *testing.T) {
	bin := bulkModule()
	before := slices.Clone(bin)
	first, err := instrument.Instrument(bin, instrument.Config{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := instrument.Instrument(bin, instrument.Config{})
	if err != nil || !bytes.Equal(first.Module, second.Module) {
		t.Errorf("%v, or the output differs", err)
	}
	if !bytes.Equal(bin, before) {
		t.Error("the module was changed")
	}
	clear(bin)
	if third, err := instrument.Instrument(before, instrument.Config{}); err != nil || !bytes.Equal(first.Module, third.Module) {
		t.Errorf("%v, or the output shares memory with the module", err)
	}
}

// TestNumbersMustFit has constants in more bytes than they may have, or with bits that they have no room for.
func TestNumbersMustFit(t *testing.T) {
	for name, code := range map[string][]byte{
		"i32 in six bytes":           {0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
		"i32 beyond 32 bits":         {0x41, 0xff, 0xff, 0xff, 0xff, 0x4f},
		"positive i32 with a sign":   {0x41, 0x80, 0x80, 0x80, 0x80, 0x70},
		"i64 in eleven bytes":        {0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
		"i64 beyond 64 bits":         {0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7e},
		"a block type of 34 bits":    {w.Block, 0x80, 0x80, 0x80, 0x80, 0x20, w.End},
		"a label beyond 32 bits":     {w.Br, 0x80, 0x80, 0x80, 0x80, 0x10},
		"an alignment of six bytes":  {w.I32Load, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0},
		"an offset beyond 32 bits":   {w.I32Load, 0, 0xff, 0xff, 0xff, 0xff, 0x1f},
		"a bulk opcode of six bytes": {0xfc, 0x8b, 0x80, 0x80, 0x80, 0x80, 0, 0},
	} {
		_, err := instrument.Instrument(body(code...), instrument.Config{})
		if e, ok := errors.AsType[*instrument.Error](err); !ok || e.Kind != instrument.Malformed {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
	for name, code := range map[string][]byte{
		"the smallest i32":           {0x41, 0x80, 0x80, 0x80, 0x80, 0x78, w.Drop},
		"the largest i32":            {0x41, 0xff, 0xff, 0xff, 0xff, 0x07, w.Drop},
		"the smallest i64":           {0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, w.Drop},
		"the largest i64":            {0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, w.Drop},
		"a block type in five bytes": {w.Block, 0x80, 0x80, 0x80, 0x80, 0x00, w.End, w.Drop, w.I32Const(0)[0], 0},
		"a local's index in 5 bytes": {w.LocalGet, 0x81, 0x80, 0x80, 0x80, 0x00, w.Drop},
		"a function's index in five": {w.Call, 0x80, 0x80, 0x80, 0x80, 0x00, w.Drop, 0x41, 0},
	} {
		if _, err := instrument.Instrument(body(code...), instrument.Config{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
