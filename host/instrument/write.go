package instrument

import "fmt"

// write returns the module with everything that was added to it.
func (m *module) write(n names, custom []section) ([]byte, error) {
	if m.hooked() {
		m.writeAdded()
	}
	named := n.write(m)
	size := len(named)
	for _, v := range m.out {
		size += len(v.b)
	}
	if size > maxOutput {
		return nil, tooLarge()
	}
	out := append(make([]byte, 0, size+size/64+1024), m.bin[:8]...)
	for _, id := range order {
		switch v := m.out[id]; {
		case id == sectionStart && m.start != nil:
			out = appendSection(out, id, m.start)
		case id == sectionDataCount && m.dataCount:
			out = appendSection(out, id, uleb(nil, uint32(m.stats.SegmentsAfter)))
		case v != nil:
			out = append(out, id)
			head := uleb(nil, uint32(v.n))
			out = uleb(out, uint32(len(head)+len(v.b)))
			out = append(append(out, head...), v.b...)
		}
	}
	for _, s := range custom {
		out = appendSection(out, sectionCustom, m.bin[s.start:s.end])
	}
	return appendSection(out, sectionCustom, named), nil
}

func tooLarge() error {
	const why = "with what is built in it would have more than %d bytes: its functions or blocks are too many and too small"
	return &Error{Kind: TooLarge, Func: -1, Offset: -1, Msg: fmt.Sprintf(why, maxOutput)}
}

func appendSection(out []byte, id byte, content []byte) []byte {
	return append(uleb(append(out, id), uint32(len(content))), content...)
}

// writeAdded adds the imported function, the globals and their exports, and what the code asked for.
func (m *module) writeAdded() {
	tick := m.addedType(typeVoid)
	imports := m.vec(sectionImport)
	imports.add(uleb(append(text(text(nil, TickModule), TickFunction), kindFunc), tick))
	for _, f := range m.added.funcs {
		m.vec(sectionFunction).add(uleb(nil, f.typ))
		m.vec(sectionCode).add(append(uleb(nil, uint32(len(f.body))), f.body...))
	}
	for _, t := range m.added.types {
		m.vec(sectionType).add([]byte(t))
	}
	if m.cfg.has(Meter) {
		m.addGlobal(FuelGlobal, m.fuel(), typeI32, opI32Const, m.cfg.Period)
		m.addGlobal(GrantedGlobal, m.granted(), typeI64, opI64Const, m.cfg.Period)
	}
	if m.cfg.has(Stack) {
		m.addGlobal(StackGlobal, m.level(), typeI32, opI32Const, m.cfg.Stack)
	}
	for _, g := range m.added.globals {
		m.vec(sectionGlobal).add(g)
	}
	if n := uint32(len(m.refs)); n > 0 {
		m.vec(sectionTable).add(uleb(uleb([]byte{typeFuncRef, 1}, n), n))
	}
}

func (m *module) addGlobal(name string, index uint32, typ, op byte, value int32) {
	m.vec(sectionGlobal).add(append(sleb([]byte{typ, 1, op}, int64(value)), opEnd))
	m.vec(sectionExport).add(uleb(append(text(nil, name), kindGlobal), index))
}

func (v *vector) add(entry []byte) {
	v.n++
	v.b = append(v.b, entry...)
}
