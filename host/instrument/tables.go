package instrument

// table is a table that the module defines.
type table struct {
	ref       byte
	flags     byte
	low, high uint32
}

// readTables reads the tables, and caps them when that is on: all minima together must fit, and what is left of the cap
// is shared out so that the maxima together cannot exceed it. A table.grow beyond is refused to the guest, as it is at
// any maximum. Imported tables are another module's, and not counted.
func (m *module) readTables(r *reader) {
	n := r.count("tables", 3, maxTables)
	tables := make([]table, 0, n)
	var low uint64
	for i := 0; i < n && r.err == nil; i++ {
		at := r.at
		if r.at < len(r.b) && r.b[r.at] == 0x40 {
			r.refuse(at, typedReferences, "a table with an expression for its elements")
		}
		t := table{ref: r.refType()}
		t.flags, t.low, t.high = r.limits(maxTableSize)
		tables = append(tables, t)
		low += uint64(t.low)
	}
	m.tables += n
	m.ownTables = tables
	if m.cfg.has(Tables) {
		if limit := uint64(m.cfg.Tables); r.err == nil && low > limit {
			r.fail(TooLarge, "the tables have at least %d elements together, at most %d are allowed", low, limit)
			return
		}
		share(tables, uint32(uint64(m.cfg.Tables)-low))
	}
	m.writeTables()
}

// writeTables writes the tables that are defined here.
func (m *module) writeTables() {
	v := &vector{n: len(m.ownTables)}
	m.out[sectionTable] = v
	for _, t := range m.ownTables {
		v.b = uleb(append(v.b, t.ref, t.flags), t.low)
		if t.flags == 1 {
			v.b = uleb(v.b, t.high)
		}
	}
}

// share gives every table a maximum out of what is left beyond the minima. Those that want little get it, and the rest
// is divided evenly among the others.
func share(tables []table, left uint32) {
	open := len(tables)
	for i := range tables {
		tables[i].flags = 1
	}
	done := make([]bool, len(tables))
	for again := true; again; {
		again = false
		for i, t := range tables {
			if want := t.high - t.low; !done[i] && want <= left/uint32(max(open, 1)) {
				done[i], again = true, true
				left -= want
				open--
			}
		}
	}
	for i := range tables {
		if t := &tables[i]; !done[i] {
			part := left / uint32(open)
			t.high = t.low + part
			left -= part
			open--
		}
	}
}
