package instrument

import (
	"bytes"
	"fmt"
)

// The limits on what a module may declare. They are far above what compilers write, and low enough that a runtime which
// allocates by declared counts stays within a few times the module's size. Those of functions are the ones of browsers.
const (
	maxModule    = 64 << 20  // bytes
	maxOutput    = 256 << 20 // bytes
	maxTypes     = 100_000
	maxParams    = 1_000 // of a function type, and its results
	maxImports   = 100_000
	maxFunctions = 1_000_000
	maxTables    = 100
	maxGlobals   = 100_000
	maxExports   = 100_000
	maxSegments  = 1_000_000  // data and element segments, and the entries of all element segments together
	maxBody      = 7_654_321  // bytes of one function
	maxLocals    = 50_000     // of one function
	maxAllLocals = 10_000_000 // of all functions together; also not much more than the bytes of code
	maxNesting   = 100_000    // blocks within each other
	maxPages     = 1 << 16    // of a memory
	maxTableSize = 1<<32 - 1  // elements
)

// The ids of sections.
const (
	sectionCustom byte = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sectionTag // exception handling, for its name only
)

var sectionNames = []string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data",
	"data count", "tag",
}

// order lists the sections in the order in which they stand in a module.
var order = []byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionTag, sectionGlobal, sectionExport,
	sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

// section is the place of a section's content in a module.
type section struct{ start, end int }

// split finds the sections: their order and that each fits. It returns the known ones by id, and the custom ones.
func split(bin []byte) (known map[byte]section, custom []section, err error) {
	if err := header(bin); err != nil {
		return nil, nil, err
	}
	known = map[byte]section{}
	r := reader{b: bin, at: 8, fn: -1}
	last := -1
	for !r.done() {
		at := r.at
		id := r.byte()
		if int(id) >= len(sectionNames) {
			r.failAt(at, Malformed, "section id %d is unknown", id)
			break
		}
		r.part = sectionNames[id]
		size := r.u32()
		switch {
		case r.err != nil && r.left() == 0:
			r.err = nil
			r.failAt(at, Truncated, "the module is cut off: a section begins, but its length is not there")
		case r.err == nil && uint64(size) > uint64(r.left()):
			r.failAt(at, Truncated, "the module is cut off: a section of %d bytes begins, but only %d are left", size, r.left())
		}
		if r.err != nil {
			break
		}
		s := section{r.at, r.at + int(size)}
		r.take(size)
		if id == sectionCustom {
			custom = append(custom, s)
			continue
		}
		place := bytes.IndexByte(order, id)
		if place <= last {
			r.failAt(at, Malformed, "it stands twice or after a section that it must precede")
		}
		if id == sectionTag {
			r.refuse(at, exceptions, "a tag")
		}
		last = place
		known[id] = s
	}
	if _, ok := known[sectionCode]; r.err == nil && !ok {
		s := known[sectionFunction]
		if n := (&reader{b: bin[:s.end], at: s.start}).u32(); n > 0 {
			kind, cut := Malformed, ""
			if last < bytes.IndexByte(order, sectionCode) {
				kind, cut = Truncated, "the module is cut off: "
			}
			r.part = ""
			r.fail(kind, "%sit declares %d functions and has no code section", cut, n)
		}
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	return known, custom, nil
}

// header tells a core module from everything else.
func header(bin []byte) error {
	const magic, version = "\x00asm", "\x01\x00\x00\x00"
	fail := func(kind Kind, format string, args ...any) error {
		return &Error{Kind: kind, Func: -1, Offset: -1, Msg: fmt.Sprintf(format, args...)}
	}
	n := min(len(bin), 4)
	switch {
	case len(bin) == 0:
		return fail(NotWasm, "the file is empty")
	case string(bin[:n]) != magic[:n] && bytes.HasPrefix(bytes.TrimSpace(bin), []byte("(")):
		return fail(NotWasm, "not wasm: it looks like the text format; translate it first, for example with wat2wasm")
	case string(bin[:n]) != magic[:n]:
		return fail(NotWasm, "not wasm: it begins with %q; want %q", bin[:n], magic)
	case len(bin) < 8:
		return fail(Truncated, "the module is cut off: it has only %d bytes", len(bin))
	case bin[6] == 1 && bin[7] == 0:
		return fail(Component, "a component of the component model; build a core module, for example wasip1")
	case string(bin[4:8]) != version:
		return fail(Malformed, "version %x is unknown; want %x, a core module of version 1", bin[4:8], version)
	case len(bin) > maxModule:
		return fail(TooLarge, "%d bytes, at most %d are allowed", len(bin), maxModule)
	}
	return nil
}

// funcType is a function type. Its lists are the module's own bytes.
type funcType struct{ params, results []byte }

// vector is the content of a section as it will be written: how many entries, and their bytes.
type vector struct {
	n int
	b []byte
}

// module is what the passes over the sections know and make of a module.
type module struct {
	bin []byte
	cfg Config
	out map[byte]*vector // the sections to write that are vectors

	types            []funcType
	imported         []uint32 // the types of imported functions
	defined          []uint32 // the types of defined functions
	globals          int      // imported and defined, like the numbers that follow
	mutable          int      // globals that can change
	tables           int
	ownTables        []table // those that are defined here
	tableSeen        bool    // a table is exported, or code does more than call through it
	memories         int
	ownMemory        bool   // the memory is defined here
	pages            uint32 // minimum of the memory that is defined here
	elements         int
	segments         []dataSegment
	initsActive      bool // a memory.init names an active segment
	entries          int  // of all element segments
	functionSegments []functionSegment
	start            []byte
	bodies           reader // the functions of the code section
	dataCount        bool   // there is a data count section
	added            added

	light    []uint8 // by defined function: what a call of it costs, when it has no check of its own; else 0
	taken    []bool  // by defined function: it may be called through a reference
	outside  []bool  // by defined function: it may return to the host
	indirect uint32  // the largest cost in light of a function that is taken

	tailTables bool // there are tail calls through tables

	compiling compiling

	late *lateTable       // nil: none
	refs map[uint32]int32 // by function of which code makes references: where the reference is kept

	newSegments []uint32 // by data segment: its index after merging; nil: all as before
	image       Image
	stats       Stats
}

// functions is the number of functions that the module itself has.
func (m *module) functions() int { return len(m.imported) + len(m.defined) }

// typeOf is the type of the function of an index.
func (m *module) typeOf(fn uint32) funcType { return m.types[m.typeIndex(fn)] }

// typeIndex is the index of that type.
func (m *module) typeIndex(fn uint32) uint32 {
	if int(fn) < len(m.imported) {
		return m.imported[fn]
	}
	return m.defined[int(fn)-len(m.imported)]
}

// vec is a section to write.
func (m *module) vec(id byte) *vector {
	v := m.out[id]
	if v == nil {
		v = &vector{}
		m.out[id] = v
	}
	return v
}
