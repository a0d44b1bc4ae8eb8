package instrument

import (
	"fmt"
	"slices"
)

// lateTable is a table whose references are made when functions are first called through it, and not one after the other
// when the module is instantiated. Making one takes wazero 0.1 µs and 60 bytes, and Go's compiler puts every function into
// the table: of a run of a small guest that is a quarter, and it calls 130 of its 2,250 functions through the table.
//
// Until then a stub stands in each place. Every call through the table notes the place in a global, from which the stub
// knows which reference to put there. Then it calls that function in its own stead, by a tail call, so that no trace shows
// it and the stack is as it would have been.
//
// No guest can tell: nothing but calls looks into the table, and a call that traps for the type of the function does so for
// the stub's too, which is the same. Functions of other types than the one that most have are put into their places at once.
// Go's table begins with 4,096 empty places, so those before the first function are left out: a call of one ends as a call
// beyond the table does.
type lateTable struct {
	typ    uint32   // of the functions that come late
	first  int      // the place that becomes the first one: those before it are empty
	places []uint32 // by place from then on: one more than the function that belongs there; 0: none
	count  int      // of those that come late
	stub   uint32
	noted  uint32 // the global with the place of the last call
}

const (
	maxLatePlaces = 1 << 17 // places of a table
	maxLateRuns   = 100     // rows of places with stubs, each of which takes a call at the start
	latePartShift = 6
	latePart      = 1 << latePartShift // places for which one function makes the references
)

// What a reference that comes late costs a compiler: bytes at its peak and until the module is done, and nanoseconds.
const (
	lateBytes, lateKept, lateNanos = 20_000, 500, 12_000
)

// functionSegment is an active element segment that lists functions, for a place that is known.
type functionSegment struct {
	offset    uint32
	functions []uint32
}

// planLate makes the table late if that is asked for and nobody can tell. All has been read by then, and no code written.
func (m *module) planLate() {
	l := m.latePlaces()
	if l == nil || l.count < m.cfg.Late {
		return
	}
	rows := l.rows(m, true)
	if len(rows) > maxLateRuns || !tail(m.types[l.typ]) {
		return
	}
	m.late = l
	m.ownTables[0].low -= uint32(l.first)
	m.writeTables()
	l.noted = m.addedGlobal(append(sleb([]byte{typeI32, 1, opI32Const}, 0), opEnd))
	l.makeStub(m)
	l.makeStart(m, rows)
	l.writeElements(m)
	m.compiling.peak = max(m.compiling.peak, latePart*lateBytes)
	m.compiling.kept += float64(l.count * lateKept)
	m.compiling.nanos += float64(l.count * lateNanos)
}

// latePlaces finds out what the table holds at first; nil when that is not known, or when somebody could tell.
func (m *module) latePlaces() *lateTable {
	if m.cfg.Late == 0 || !m.hooked() || m.start != nil || m.tableSeen || m.tables != 1 || len(m.ownTables) != 1 ||
		len(m.functionSegments) != m.elements {
		return nil
	}
	t := m.ownTables[0]
	if t.ref != typeFuncRef || t.low > maxLatePlaces {
		return nil
	}
	l := &lateTable{places: make([]uint32, t.low)}
	for _, s := range m.functionSegments {
		if uint64(s.offset)+uint64(len(s.functions)) > uint64(t.low) {
			return nil // the runtime leaves out this one and all that follow
		}
		for i, fn := range s.functions {
			l.places[int(s.offset)+i] = fn + 1
		}
	}
	l.first = max(0, slices.IndexFunc(l.places, func(p uint32) bool { return p > 0 }))
	l.places = l.places[l.first:]
	counts := map[uint32]int{}
	for _, p := range l.places {
		if p > 0 {
			t := m.typeIndex(p - 1)
			counts[t]++
			if n := counts[t]; n > l.count || n == l.count && t < l.typ {
				l.typ, l.count = t, n
			}
		}
	}
	return l
}

// row is a row of places in a table.
type row struct{ start, end int }

// rows are the places whose functions come late, or those of the others.
func (l *lateTable) rows(m *module, late bool) (rows []row) {
	for i, p := range l.places {
		switch {
		case p == 0 || (m.typeIndex(p-1) == l.typ) != late:
		case len(rows) > 0 && rows[len(rows)-1].end == i:
			rows[len(rows)-1].end++
		default:
			rows = append(rows, row{i, i + 1})
		}
	}
	return rows
}

// makeStub makes the function that stands for all those that come late.
func (l *lateTable) makeStub(m *module) {
	parts := map[int]uint32{}
	most := 0
	for _, r := range l.rows(m, true) {
		for part := r.start / latePart; part <= (r.end-1)/latePart; part++ {
			parts[part] = l.makePart(m, part)
			most = part
		}
	}
	fetch := m.addedFunc("jobhost.fetch", m.typed(typeLevel), 0, func() asm {
		return asm{}.choose(most+1, asm{}.op(opLocalGet, 0).i32(latePartShift).op(opI32ShrU), func(part int) asm {
			if _, ok := parts[part]; !ok {
				return nil
			}
			return asm{}.op(opLocalGet, 0).op(opCall, parts[part]).op(opReturn)
		})
	})
	l.stub = m.addedFunc("jobhost.stub", func() uint32 { return l.typ }, 0, func() asm {
		a := asm{}.op(opGlobalGet, l.noted).op(opCall, fetch)
		for i := range m.types[l.typ].params {
			a = a.op(opLocalGet, uint32(i))
		}
		return a.op(opGlobalGet, l.noted).op(opReturnIndirect, l.typ, 0)
	})
}

// makePart makes the function that puts a reference into its place, for the places of a part.
func (l *lateTable) makePart(m *module, part int) uint32 {
	places := l.places[part*latePart : min((part+1)*latePart, len(l.places))]
	return m.addedFunc(fmt.Sprintf("jobhost.fetch%d", part), m.typed(typeLevel), 0, func() asm {
		return asm{}.choose(len(places), asm{}.op(opLocalGet, 0).i32(latePart-1).op(opI32And), func(i int) asm {
			if p := places[i]; p > 0 && m.typeIndex(p-1) == l.typ {
				return asm{}.op(opLocalGet, 0).op(opRefFunc, m.referred(p-1)).op(opTableSet, 0).op(opReturn)
			}
			return nil
		})
	})
}

// makeStart makes the start function, which puts the stub into its places.
func (l *lateTable) makeStart(m *module, rows []row) {
	fill := m.addedFunc("jobhost.fill", m.typed(typePair), 0, func() asm {
		return asm{}.op(opLocalGet, 0).op(opRefFunc, l.stub).op(opLocalGet, 1).bulk(bulkTableFill, 0)
	})
	m.start = uleb(nil, m.addedFunc("jobhost.start", m.typed(typeVoid), 0, func() asm {
		var a asm
		for _, r := range rows {
			a = a.i32(int32(r.start)).i32(int32(r.end-r.start)).op(opCall, fill)
		}
		return a
	}))
}

// writeElements writes the functions that do not come late as active segments, and all as declared, since code makes
// references to them.
func (l *lateTable) writeElements(m *module) {
	v := &vector{}
	m.out[sectionElement] = v
	for _, r := range l.rows(m, false) {
		segment := append(sleb([]byte{0, opI32Const}, int64(r.start)), opEnd)
		segment = uleb(segment, uint32(r.end-r.start))
		for _, p := range l.places[r.start:r.end] {
			segment = uleb(segment, m.referred(p-1))
		}
		v.add(segment)
	}
	declared := uleb(nil, l.stub)
	count := uint32(1)
	for _, s := range m.functionSegments {
		for _, fn := range s.functions {
			declared = uleb(declared, m.referred(fn))
			count++
		}
	}
	v.add(append(uleb([]byte{elementPassive | elementExplicit, 0}, count), declared...))
}

// note writes, before a call through the table, that it goes to the place on top of the operands.
func (e *emitter) note() {
	if l := e.m.late; l != nil {
		if l.first > 0 {
			e.out = e.out.i32(int32(l.first)).op(opI32Sub)
		}
		e.out = e.out.op(opLocalTee, e.place).op(opGlobalSet, l.noted).op(opLocalGet, e.place)
	}
}

// choose does one of n things, by a number. What it does ends with a return, or else goes on behind all of them.
func (a asm) choose(n int, number asm, do func(i int) asm) asm {
	things := make([]asm, n)
	for i := range n {
		things[i] = do(i)
	}
	for range n + 1 {
		a = a.op(opBlock, uint32(void))
	}
	a = a.then(number).op(opBrTable, uint32(n))
	for i := range n + 1 {
		if i < n && things[i] == nil {
			i = n
		}
		a = uleb(a, uint32(i))
	}
	for _, thing := range things {
		a = a.op(opEnd).then(thing)
	}
	return a.op(opEnd)
}
