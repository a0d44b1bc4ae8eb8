package wasmtest

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of import and export.
const (
	KindFunc byte = iota
	KindTable
	KindMemory
	KindGlobal
)

// The ids of sections.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
)

// Value types, as they stand in a module.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
)

// order is the order of sections in a module.
var order = []byte{
	SectionType, SectionImport, SectionFunction, SectionTable, SectionMemory, SectionGlobal, SectionExport,
	SectionStart, SectionElement, SectionDataCount, SectionCode, SectionData,
}

// Module is a WebAssembly module in the making. The zero value is an empty one.
type Module struct {
	entries map[byte][][]byte // the entries of the sections that are vectors
	raw     map[byte][]byte   // sections given as they are
	custom  [][]byte
	imports [4]uint32 // imported, by kind
	defined [4]uint32 // defined here, by kind
}

// New returns an empty module.
func New() *Module { return &Module{} }

// Type returns the index of a function type, written as "i32 i64 -> i32". Equal types share an index.
func (m *Module) Type(sig string) uint32 {
	params, results, ok := strings.Cut(sig, "->")
	if !ok {
		panic(fmt.Sprintf("wasmtest: type %q has no ->", sig))
	}
	t := slices.Concat([]byte{0x60}, types(params), types(results))
	for i, e := range m.entries[SectionType] {
		if string(e) == string(t) {
			return uint32(i)
		}
	}
	return m.add(SectionType, t)
}

// ImportFunc imports a function and returns its index. Call it before the first [Module.Func].
func (m *Module) ImportFunc(module, name, sig string) uint32 {
	return m.Import(module, name, KindFunc, U32(m.Type(sig)))
}

// Import imports anything: desc is what follows the kind in the binary form. It returns the index in the kind's space.
func (m *Module) Import(module, name string, kind byte, desc []byte) uint32 {
	if m.defined[kind] > 0 {
		panic("wasmtest: imports come before definitions")
	}
	m.add(SectionImport, slices.Concat(Text(module), Text(name), []byte{kind}, desc))
	m.imports[kind]++
	return m.imports[kind] - 1
}

// Func adds a function and returns its index. Locals are value types, as in "i32 i32 f64", and come after the
// parameters. The final end is added.
func (m *Module) Func(sig, locals string, code ...[]byte) uint32 {
	body := []byte{}
	fields := strings.Fields(locals)
	body = append(body, U32(uint32(len(fields)))...)
	for _, f := range fields {
		body = append(body, 1, valueType(f))
	}
	body = append(append(body, slices.Concat(code...)...), End)
	return m.RawFunc(m.Type(sig), body)
}

// RawFunc adds a function of a type index whose body, from the locals to the final end, is given as it is.
func (m *Module) RawFunc(typ uint32, body []byte) uint32 {
	m.add(SectionFunction, U32(typ))
	m.add(SectionCode, slices.Concat(U32(uint32(len(body))), body))
	return m.define(KindFunc)
}

// Memory adds a memory of at least and at most so many pages of 64 KiB; no maximum if max is 0.
func (m *Module) Memory(least, most uint32) uint32 {
	m.add(SectionMemory, Limits(least, most))
	return m.define(KindMemory)
}

// Table adds a table of FuncRef or ExternRef; no maximum if most is 0.
func (m *Module) Table(ref byte, least, most uint32) uint32 {
	m.add(SectionTable, append([]byte{ref}, Limits(least, most)...))
	return m.define(KindTable)
}

// Global adds a mutable global of a value type, whose start value is a constant instruction.
func (m *Module) Global(typ byte, init []byte) uint32 {
	m.add(SectionGlobal, slices.Concat([]byte{typ, 1}, init, []byte{End}))
	return m.define(KindGlobal)
}

// Export exports the thing of a kind and an index.
func (m *Module) Export(name string, kind byte, index uint32) {
	m.add(SectionExport, slices.Concat(Text(name), []byte{kind}, U32(index)))
}

// Start names the function that runs when the module is instantiated.
func (m *Module) Start(function uint32) { m.Raw(SectionStart, U32(function)) }

// Elements puts functions into table 0 from an offset on when the module is instantiated.
func (m *Module) Elements(offset int32, functions ...uint32) {
	e := slices.Concat([]byte{0}, I32Const(offset), []byte{End}, U32(uint32(len(functions))))
	for _, f := range functions {
		e = append(e, U32(f)...)
	}
	m.add(SectionElement, e)
}

// RawElements adds an element segment as it is, and returns its index.
func (m *Module) RawElements(segment []byte) uint32 { return m.add(SectionElement, segment) }

// Data puts bytes into memory 0 when the module is instantiated. It returns the segment's index.
func (m *Module) Data(offset int32, data []byte) uint32 {
	return m.RawData(slices.Concat([]byte{0}, I32Const(offset), []byte{End}, U32(uint32(len(data))), data))
}

// PassiveData adds bytes for memory.init, and the data count section that it needs. It returns the segment's index.
func (m *Module) PassiveData(data []byte) uint32 {
	m.DataCount()
	return m.RawData(slices.Concat([]byte{1}, U32(uint32(len(data))), data))
}

// RawData adds a data segment as it is, and returns its index.
func (m *Module) RawData(segment []byte) uint32 { return m.add(SectionData, segment) }

// DataCount makes [Module.Bytes] write a data count section.
func (m *Module) DataCount() { m.Raw(SectionDataCount, nil) }

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, content []byte) {
	m.custom = append(m.custom, append(Text(name), content...))
}

// Raw sets the whole content of a section, in place of what the other methods collected for it.
func (m *Module) Raw(section byte, content []byte) {
	if m.raw == nil {
		m.raw = map[byte][]byte{}
	}
	m.raw[section] = content
}

// Bytes returns the module in binary form.
func (m *Module) Bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range order {
		content, ok := m.raw[id]
		switch {
		case ok && id == SectionDataCount && content == nil:
			content = U32(uint32(len(m.entries[SectionData])))
		case ok:
		case len(m.entries[id]) > 0:
			content = append(U32(uint32(len(m.entries[id]))), slices.Concat(m.entries[id]...)...)
		default:
			continue
		}
		out = append(out, Section(id, content)...)
	}
	for _, c := range m.custom {
		out = append(out, Section(SectionCustom, c)...)
	}
	return out
}

func (m *Module) add(section byte, entry []byte) uint32 {
	if m.entries == nil {
		m.entries = map[byte][][]byte{}
	}
	m.entries[section] = append(m.entries[section], entry)
	return uint32(len(m.entries[section]) - 1)
}

func (m *Module) define(kind byte) uint32 {
	m.defined[kind]++
	return m.imports[kind] + m.defined[kind] - 1
}

// types encodes a list of value types with its length.
func types(list string) []byte {
	fields := strings.Fields(list)
	out := U32(uint32(len(fields)))
	for _, f := range fields {
		out = append(out, valueType(f))
	}
	return out
}

func valueType(name string) byte {
	switch name {
	case "i32":
		return I32
	case "i64":
		return I64
	case "f32":
		return F32
	case "f64":
		return F64
	case "v128":
		return V128
	case "funcref":
		return FuncRef
	case "externref":
		return ExternRef
	}
	panic(fmt.Sprintf("wasmtest: %q is no value type", name))
}
