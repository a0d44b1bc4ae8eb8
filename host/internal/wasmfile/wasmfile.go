// Package wasmfile reads what a WebAssembly module says about itself: its imports, exports, memories and custom
// sections. It trusts nothing: every count and length is held against the bytes that are there, and nothing is
// allocated by a declared count. It does not read code, so a module that parses here may still be invalid.
package wasmfile

import (
	"errors"
	"fmt"
	"strings"
)

// The types of values, as the binary format numbers them.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

// ValueType is the type of a parameter or result.
type ValueType byte

// String returns the type's name in the text format.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type 0x%x", byte(t))
}

// FuncType is the signature of a function.
type FuncType struct{ Params, Results []ValueType }

// String returns the signature as in "(i32, i64) -> (i32)".
func (t FuncType) String() string {
	list := func(ts []ValueType) string {
		names := make([]string, len(ts))
		for i, t := range ts {
			names[i] = t.String()
		}
		return "(" + strings.Join(names, ", ") + ")"
	}
	return list(t.Params) + " -> " + list(t.Results)
}

// The kinds of what is imported or exported.
const (
	Func   Kind = 0
	Table  Kind = 1
	Memory Kind = 2
	Global Kind = 3
	Tag    Kind = 4
)

// Kind says what an import or export is.
type Kind byte

// String returns the kind's name in the text format.
func (k Kind) String() string {
	switch k {
	case Func:
		return "func"
	case Table:
		return "table"
	case Memory:
		return "memory"
	case Global:
		return "global"
	case Tag:
		return "tag"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Import is something that the module needs.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType // of a function
}

// Export is something that the module offers.
type Export struct {
	Name string
	Kind Kind
	Type FuncType // of a function
}

// Mem is one memory.
type Mem struct {
	Imported bool
	Shared   bool
	Wide     bool   // 64-bit addresses
	Min      uint64 // pages
	Max      uint64 // pages, if HasMax
	HasMax   bool
}

// Custom is a custom section.
type Custom struct {
	Name string
	Data []byte // shares memory with the module
}

// File is what a module says about itself.
type File struct {
	Imports   []Import
	Exports   []Export
	Memories  []Mem
	Customs   []Custom
	Functions int // defined ones
}

// Errors of a file that is no core module.
var (
	ErrNotWasm   = errors.New("not a WebAssembly module: the magic number is missing")
	ErrComponent = errors.New("a WebAssembly component, not a core module")
	ErrCutOff    = errors.New("cut off: the file ends inside the module")
)

// Parse reads a module. Errors other than the three above say what is malformed and in which section. A module that
// is cut off gives [ErrCutOff], one with lengths that contradict each other does not.
func Parse(module []byte) (*File, error) {
	switch {
	case len(module) < 4 && string(module) == "\x00asm"[:len(module)] && len(module) > 0:
		return nil, ErrCutOff
	case len(module) < 4 || string(module[:4]) != "\x00asm":
		return nil, ErrNotWasm
	case len(module) < 8:
		return nil, ErrCutOff
	case module[4] == 0x0d && module[6] == 1:
		return nil, ErrComponent
	case string(module[4:8]) != "\x01\x00\x00\x00":
		return nil, fmt.Errorf("version % x of the binary format is unknown; want 01 00 00 00", module[4:8])
	}
	p := parser{f: &File{}}
	r := &reader{b: module[8:]}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		body := r.bytes(uint64(r.u32()))
		if r.err != nil {
			return nil, ErrCutOff
		}
		if err := p.section(id, body); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, ErrCutOff
	}
	p.resolve()
	return p.f, nil
}
