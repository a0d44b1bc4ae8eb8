package instrument

// reference writes ref.func. For each reference that code makes wazero keeps memory until the instance ends, which counts
// to no guest's: some 400 MB in a second, were it to make one again and again. So each is made once, and kept in a table
// that is added for it.
func (e *emitter) reference(fn uint32) {
	m := e.m
	target := m.referred(fn)
	if !m.hooked() {
		e.out = e.out.op(opRefFunc, target)
		return
	}
	place, known := m.refs[fn]
	if !known {
		place = int32(len(m.refs))
		m.refs[fn] = place
	}
	table := uint32(m.tables)
	e.out = e.out.i32(place).op(opTableGet, table).op(opRefIsNull).op(opIf, uint32(void)).
		i32(place).op(opRefFunc, target).op(opTableSet, table).
		op(opEnd).
		i32(place).op(opTableGet, table)
}
