package instrument

// readElements checks the element segments and moves the functions in them.
func (m *module) readElements(r *reader) {
	n := r.count("element segments", 2, maxSegments)
	v := m.vec(sectionElement)
	v.n = n
	m.elements = n
	for i := 0; i < n && r.err == nil; i++ {
		v.b = m.elementSegment(r, v.b)
	}
}

// The bits of an element segment's flags.
const (
	elementPassive  = 1 // or, with elementExplicit, declared only
	elementExplicit = 2 // names a table, or is declared only
	elementExprs    = 4 // its entries are expressions
)

func (m *module) elementSegment(r *reader, out []byte) []byte {
	at := r.at
	plain := functionSegment{}
	known := false
	flags := r.u32()
	if r.err == nil && flags > 7 {
		r.failAt(at, Malformed, "an element segment has the unknown flags %#x", flags)
		return out
	}
	out = uleb(out, flags)
	if flags&elementPassive == 0 {
		table := uint32(0)
		if flags&elementExplicit != 0 {
			table = r.u32()
			out = uleb(out, table)
		}
		if r.err == nil && uint64(table) >= uint64(m.tables) {
			r.failAt(at, Malformed, "table index %d is out of range, there are %d", table, m.tables)
		}
		plain.offset, known = place(*r)
		known = known && flags == 0
		out = m.constant(r, out)
	}
	exprs := flags&elementExprs != 0
	switch {
	case flags&(elementPassive|elementExplicit) == 0:
	case exprs:
		out = append(out, r.refType())
	default:
		at = r.at
		kind := r.byte()
		if r.err == nil && kind != 0 {
			r.failAt(at, Malformed, "an element segment is of the unknown kind %#x", kind)
		}
		out = append(out, kind)
	}
	at = r.at
	count := r.count("elements", 1, maxSegments)
	if m.entries += count; m.entries > maxSegments {
		r.failAt(at, TooLarge, "the segments have more than %d elements together", maxSegments)
	}
	out = uleb(out, uint32(count))
	for i := 0; i < count && r.err == nil; i++ {
		if exprs {
			out = m.constant(r, out)
		} else {
			fn := m.reference(r)
			out = uleb(out, m.referred(fn))
			if known && m.cfg.Late > 0 {
				plain.functions = append(plain.functions, fn)
			}
		}
	}
	if known {
		m.functionSegments = append(m.functionSegments, plain)
	}
	return out
}

// place reads a constant expression that is a number, and reports whether it is one.
func place(r reader) (offset uint32, known bool) {
	if r.byte() == opI32Const {
		offset = uint32(r.signed(32))
		known = r.byte() == opEnd && r.err == nil
	}
	return offset, known
}
