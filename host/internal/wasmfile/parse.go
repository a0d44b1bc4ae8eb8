package wasmfile

import "fmt"

// The most entries of each kind that a module may have, as in WebAssembly engines of browsers. They bound what a
// hostile file can make the host allocate.
const (
	maxTypes     = 1_000_000
	maxFunctions = 1_000_000
	maxImports   = 100_000
	maxExports   = 100_000
	maxMemories  = 100
	maxValues    = 1_000 // parameters or results of one function
	maxCustoms   = 1_000 // further ones are ignored
)

// The sections that are read.
const (
	secCustom   = 0
	secType     = 1
	secImport   = 2
	secFunction = 3
	secMemory   = 5
	secExport   = 7
)

var sectionNames = map[byte]string{secType: "type", secImport: "import", secFunction: "function", secMemory: "memory", secExport: "export"}

type parser struct {
	f       *File
	types   []FuncType
	funcs   []uint32 // type of each function, the imported ones first
	exports []uint32 // index of each export
}

func (p *parser) section(id byte, body []byte) error {
	r := &reader{b: body}
	switch id {
	case secCustom:
		if name := r.name(); r.err == nil && len(p.f.Customs) < maxCustoms {
			p.f.Customs = append(p.f.Customs, Custom{name, r.b})
		}
		return nil // a malformed custom section is no reason to refuse a module
	case secType:
		r.each(maxTypes, func() { p.types = append(p.types, r.funcType()) })
	case secImport:
		r.each(maxImports, func() { p.importEntry(r) })
	case secFunction:
		r.each(maxFunctions, func() { p.funcs = append(p.funcs, r.u32()); p.f.Functions++ })
	case secMemory:
		r.each(maxMemories, func() { p.f.Memories = append(p.f.Memories, r.memory()) })
	case secExport:
		r.each(maxExports, func() {
			e := Export{Name: r.name(), Kind: Kind(r.byte())}
			p.exports = append(p.exports, r.u32())
			p.f.Exports = append(p.f.Exports, e)
		})
	default:
		return nil
	}
	if r.err != nil {
		return fmt.Errorf("the %s section is malformed: %w", sectionNames[id], r.err)
	}
	if len(r.b) > 0 {
		return fmt.Errorf("the %s section is malformed: %d bytes too many", sectionNames[id], len(r.b))
	}
	return nil
}

func (p *parser) importEntry(r *reader) {
	i := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
	switch i.Kind {
	case Func:
		t := r.u32()
		p.funcs = append(p.funcs, t)
		i.Type = p.typeAt(t)
	case Table:
		r.byte()
		r.limits()
	case Memory:
		m := r.memory()
		m.Imported = true
		p.f.Memories = append(p.f.Memories, m)
	case Global:
		r.byte()
		r.byte()
	case Tag:
		r.byte()
		r.u32()
	default:
		r.fail("import kind %d is unknown", byte(i.Kind))
	}
	p.f.Imports = append(p.f.Imports, i)
}

// resolve gives the exported functions their types. The type, import and function sections come before the export
// section in a valid module, and one that is not valid keeps empty types.
func (p *parser) resolve() {
	for i := range p.f.Exports {
		e, at := &p.f.Exports[i], p.exports[i]
		if e.Kind == Func && uint64(at) < uint64(len(p.funcs)) {
			e.Type = p.typeAt(p.funcs[at])
		}
	}
}

func (p *parser) typeAt(i uint32) FuncType {
	if uint64(i) < uint64(len(p.types)) {
		return p.types[i]
	}
	return FuncType{}
}

// reader takes the binary format apart. After the first error everything is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("unexpected end")
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail("a length of %d passes the end", n)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) name() string { return string(r.bytes(uint64(r.u32()))) }

// uint reads an unsigned LEB128 number of at most bits bits.
func (r *reader) uint(bits int) uint64 {
	var v uint64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		low := uint64(c & 0x7f)
		if rest := bits - shift; rest < 7 && low>>rest != 0 {
			break
		}
		v |= low << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("a number is too long")
	return 0
}

func (r *reader) u32() uint32 { return uint32(r.uint(32)) }

// each reads a vector. A count is believed as far as there are bytes left, since every entry has at least one.
func (r *reader) each(most uint32, entry func()) {
	n := r.u32()
	switch {
	case uint64(n) > uint64(len(r.b)):
		r.fail("%d entries in %d bytes", n, len(r.b))
	case n > most:
		r.fail("%d entries, at most %d are allowed", n, most)
	}
	for ; n > 0 && r.err == nil; n-- {
		entry()
	}
}

func (r *reader) funcType() FuncType {
	if form := r.byte(); form != 0x60 {
		r.fail("type form 0x%x is not a function", form)
	}
	var t FuncType
	r.each(maxValues, func() { t.Params = append(t.Params, ValueType(r.byte())) })
	r.each(maxValues, func() { t.Results = append(t.Results, ValueType(r.byte())) })
	return t
}

const (
	limitMax    = 1 << 0
	limitShared = 1 << 1
	limitWide   = 1 << 2
)

func (r *reader) limits() (flags byte, low, high uint64) {
	flags = r.byte()
	bits := 32
	if flags&limitWide != 0 {
		bits = 64
	}
	low = r.uint(bits)
	if flags&limitMax != 0 {
		high = r.uint(bits)
	}
	return flags, low, high
}

func (r *reader) memory() Mem {
	flags, low, high := r.limits()
	return Mem{Min: low, Max: high, HasMax: flags&limitMax != 0, Shared: flags&limitShared != 0, Wide: flags&limitWide != 0}
}

// Producers reads a custom section "producers": for each field, such as "language", the names with their versions. What
// cannot be read is left out.
func Producers(data []byte) map[string][]string {
	const most = 100 // fields, and values of each
	r := &reader{b: data}
	fields := map[string][]string{}
	r.each(most, func() {
		field := r.name()
		r.each(most, func() {
			value := r.name()
			if version := r.name(); version != "" {
				value += " " + version
			}
			if r.err == nil {
				fields[field] = append(fields[field], value)
			}
		})
	})
	return fields
}
