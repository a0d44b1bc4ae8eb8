package instrument

import "fmt"

// The read functions below check a section and set what the module knows of it and what will be written for it.

func (m *module) readTypes(r *reader) {
	n := r.count("types", 3, maxTypes)
	v := &vector{n, r.rest()}
	values := 0
	for i := 0; i < n && r.err == nil; i++ {
		at := r.at
		switch form := r.byte(); {
		case r.err != nil:
		case form == 0x60:
			t := funcType{r.valueTypes("parameters"), r.valueTypes("results")}
			m.types = append(m.types, t)
			if values += len(t.params) + len(t.results); values > maxSignatures {
				r.failAt(at, TooLarge, "the types up to this one have %d parameters and results, at most %d are allowed", values, maxSignatures)
			}
		case form == 0x5e || form == 0x5f || form == 0x50 || form == 0x4f || form == 0x4e:
			r.refuse(at, garbageCollection, fmt.Sprintf("a type of form %#x", form))
		default:
			r.failAt(at, Malformed, "type %d has the unknown form %#x", i, form)
		}
	}
	m.out[sectionType] = v
}

func (r *reader) valueTypes(what string) []byte {
	n := r.count(what, 1, maxParams)
	at := r.at
	for range n {
		r.valueType()
	}
	return r.b[at:r.at]
}

func (m *module) readImports(r *reader) {
	n := r.count("imports", 4, maxImports)
	m.out[sectionImport] = &vector{n, r.rest()}
	for i := 0; i < n && r.err == nil; i++ {
		at := r.at
		from := r.name()
		r.name()
		if from == TickModule {
			r.failAt(at, Reserved, "import %d is from module %q, which belongs to the host", i, from)
		}
		at = r.at
		switch kind := r.byte(); {
		case r.err != nil:
		case kind == kindFunc:
			m.imported = append(m.imported, r.index("type", len(m.types)))
		case kind == kindTable:
			r.refType()
			r.limits(maxTableSize)
			m.tables++
		case kind == kindMemory:
			r.limits(maxPages)
			m.addMemory(r)
		case kind == kindGlobal:
			m.globalType(r)
			m.globals++
		case kind == 4:
			r.refuse(at, exceptions, "an imported tag")
		default:
			r.failAt(at, Malformed, "import %d is of the unknown kind %#x", i, kind)
		}
	}
	if r.err == nil && m.functions() > maxFunctions {
		r.fail(TooLarge, "%d imported functions, at most %d are allowed", m.functions(), maxFunctions)
	}
}

// The kinds of imports and exports.
const (
	kindFunc byte = iota
	kindTable
	kindMemory
	kindGlobal
)

func (m *module) globalType(r *reader) {
	r.valueType()
	at := r.at
	mutable := r.byte()
	if mutable > 1 {
		r.failAt(at, Malformed, "a global's mutability is %#x; want 0 or 1", mutable)
	}
	m.mutable += int(mutable)
}

func (m *module) addMemory(r *reader) {
	if m.memories++; m.memories > 1 {
		r.refuse(r.at, multiMemory, "a second memory")
	}
}

func (m *module) readFunctions(r *reader) {
	n := r.count("functions", 1, maxFunctions-m.functions())
	m.out[sectionFunction] = &vector{n, r.rest()}
	m.defined = make([]uint32, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		m.defined = append(m.defined, r.index("type", len(m.types)))
	}
	m.stats.Functions = n
	m.light = make([]uint8, n)
	m.taken = make([]bool, n)
	m.outside = make([]bool, n)
}

func (m *module) readMemory(r *reader) {
	n := r.count("memories", 2, maxSegments)
	m.out[sectionMemory] = &vector{n, r.rest()}
	for i := 0; i < n && r.err == nil; i++ {
		_, m.pages, _ = r.limits(maxPages)
		m.ownMemory = true
		m.addMemory(r)
	}
}

func (m *module) readGlobals(r *reader) {
	n := r.count("globals", 4, maxGlobals)
	v := m.vec(sectionGlobal)
	v.n = n
	m.globals += n // a constant expression may name those before it, which is for the runtime to judge
	for i := 0; i < n && r.err == nil; i++ {
		at := r.at
		m.globalType(r)
		v.b = append(v.b, r.b[at:r.at]...)
		v.b = m.constant(r, v.b)
	}
}

func (m *module) readExports(r *reader) {
	n := r.count("exports", 3, maxExports)
	v := m.vec(sectionExport)
	v.n = n
	for i := 0; i < n && r.err == nil; i++ {
		at := r.at
		name := r.name()
		switch name {
		case FuelGlobal, GrantedGlobal, StackGlobal:
			r.failAt(at, Reserved, "export %q has a name that belongs to the host", name)
		}
		kindAt := r.at
		kind := r.byte()
		v.b = append(v.b, r.b[at:r.at]...)
		switch {
		case r.err != nil:
		case kind == kindFunc:
			v.b = uleb(v.b, m.open(r))
		case kind == kindTable:
			v.b = uleb(v.b, r.index("table", m.tables))
			m.tableSeen = true
		case kind == kindMemory:
			v.b = uleb(v.b, r.index("memory", m.memories))
		case kind == kindGlobal:
			v.b = uleb(v.b, r.index("global", m.globals))
		case kind == 4:
			r.refuse(kindAt, exceptions, "an exported tag")
		default:
			r.failAt(kindAt, Malformed, "export %q is of the unknown kind %#x", name, kind)
		}
	}
}

func (m *module) readStart(r *reader) {
	m.start = uleb(nil, m.open(r))
}

// open reads the index of a function that is called from outside, and returns the index to write.
func (m *module) open(r *reader) uint32 {
	fn := r.index("function", m.functions())
	if r.err != nil {
		return 0
	}
	if i := int(fn) - len(m.imported); i >= 0 {
		m.outside[i] = true
	}
	return m.referred(fn)
}

// constant copies a constant expression, with its functions moved.
func (m *module) constant(r *reader, out []byte) []byte {
	for r.err == nil {
		at := r.at
		switch op := r.byte(); {
		case r.err != nil:
		case op == opEnd:
			return append(out, op)
		case op == opI32Const:
			r.signed(32)
		case op == opI64Const:
			r.signed(64)
		case op == opF32Const:
			r.take(4)
		case op == opF64Const:
			r.take(8)
		case op == opGlobalGet:
			r.index("global", m.globals)
		case op == opRefNull:
			r.refType()
		case op == opRefFunc:
			out = uleb(append(out, op), m.referred(m.reference(r)))
			continue
		case op == prefixVector:
			if sub := r.u32(); r.err == nil && sub != vectorConst {
				r.failAt(at, Malformed, "opcode 0xfd %d is not constant", sub)
			}
			r.take(16)
		case op >= opI32Add && op <= opI32Mul, op >= opI64Add && op <= opI64Mul: // extended constant expressions
		default:
			r.failAt(at, Malformed, "opcode %#x is not constant", op)
		}
		out = append(out, r.b[at:r.at]...)
	}
	return out
}

// reference reads the index of a function of which a reference is made.
func (m *module) reference(r *reader) uint32 {
	fn := r.index("function", m.functions())
	if i := int(fn) - len(m.imported); r.err == nil && i >= 0 {
		m.taken[i] = true
	}
	return fn
}
