package instrument

// newCheck begins a check, of which setCheck writes the code.
func (e *emitter) newCheck() int {
	e.marks = append(e.marks, -1)
	return e.flow.check()
}

// setCheck writes a check: it takes its cost from the fuel, and when that is below zero it calls the host. The cost is
// written when the function has been walked over. At a function's entry the level is looked at in the same go.
//
// In a free loop the way on is a branch over the call rather than an if around it: then wazero keeps values in registers
// on the way on and reloads them behind the call. Elsewhere the if was measured to be faster.
func (e *emitter) setCheck(check int, level bool) {
	m := e.m
	if len(e.around) > 0 && e.loops[e.around[len(e.around)-1]].free {
		a := append(e.out.op(opLocalGet, e.mirror), opI32Const)
		e.marks[check] = len(a)
		e.out = append(a, 0, 0, 0).op(opI32Sub).op(opLocalTee, e.mirror).op(opGlobalSet, m.fuel()).
			op(opBlock, uint32(void)).
			op(opLocalGet, e.mirror).i32(0).op(opI32GeS).op(opBrIf, 0).
			op(opCall, m.refill()).op(opGlobalGet, m.fuel()).op(opLocalSet, e.mirror).
			op(opEnd)
		return
	}
	a := append(e.out.op(opGlobalGet, m.fuel()), opI32Const)
	e.marks[check] = len(a)
	a = append(a, 0, 0, 0).op(opI32Sub).op(opGlobalSet, m.fuel()).op(opGlobalGet, m.fuel())
	if level {
		e.out = a.op(opLocalGet, e.level).op(opI32Or).i32(0).op(opI32LtS).op(opIf, uint32(void)).
			op(opLocalGet, e.level).op(opCall, m.enter()).
			op(opEnd)
		return
	}
	e.out = a.i32(0).op(opI32LtS).op(opIf, uint32(void)).op(opCall, m.refill()).op(opEnd)
}

// checkLevel writes the check of the stack level alone.
func (e *emitter) checkLevel() {
	e.out = e.out.op(opLocalGet, e.level).i32(0).op(opI32LtS).op(opIf, uint32(void)).
		op(opLocalGet, e.level).op(opCall, e.m.enter()).
		op(opEnd)
}

// endBlock writes the end of a block, and a check where too many paths meet.
func (e *emitter) endBlock(in *instruction) {
	if e.flow.frames[len(e.flow.frames)-1].op == opLoop {
		e.around = e.around[:len(e.around)-1]
	}
	if len(e.flow.frames) == 1 {
		e.restoreLevel()
	}
	e.copy(in)
	if over := e.flow.end(); over && e.metered && len(e.flow.frames) > 0 {
		e.setCheck(e.newCheck(), false)
	}
}

// tailCall notes that what is called may return to where its caller would, so perhaps to the host.
func (m *module) tailCall(in *instruction) {
	if i := int(in.x) - len(m.imported); in.op == opReturnCall && i >= 0 {
		m.outside[i] = true
	}
	m.tailTables = m.tailTables || in.op == opReturnIndirect
}

// restoreLevel writes, in a function that may return to the host, that the stack level is again what it was at the entry.
// It stands before whatever may return. When that does not return after all, the next call sets the level again.
func (e *emitter) restoreLevel() {
	if e.restores {
		e.out = e.out.op(opLocalGet, e.level).i32(int32(e.stack)).op(opI32Add).op(opGlobalSet, e.m.level())
	}
}

// call writes a call of any sort. The stack level is set before each, since a function that was called before left its
// own, so that nothing has to be put right when a function returns to another, or traps.
func (e *emitter) call(in *instruction) {
	m := e.m
	direct := in.op == opCall || in.op == opReturnCall
	imported := direct && int(in.x) < len(m.imported)
	if e.leveled && !m.lightCall(in) {
		e.out = e.out.op(opLocalGet, e.level)
		if in.op == opReturnCall && tail(m.typeOf(in.x)) || in.op == opReturnIndirect && tail(m.types[in.x]) {
			e.out = e.out.i32(int32(e.stack)).op(opI32Add)
		}
		e.out = e.out.op(opGlobalSet, m.level())
	}
	switch in.op {
	case opCall:
		e.out = e.out.op(opCall, m.moved(in.x))
		if imported && m.cfg.has(Meter) {
			e.out = e.out.op(opCall, m.tick())
		}
	case opReturnCall:
		e.out = e.out.op(opReturnCall, m.referred(in.x)) // an imported function's wrapper calls the host behind it
	default:
		e.note()
		e.copy(in)
	}
	if in.op == opReturnCall || in.op == opReturnIndirect {
		e.flow.stop()
	}
}

// tail reports whether wazero makes a jump of a tail call of a function of this type, so that the caller's frame is free
// again. It does when nothing is passed on the stack: on amd64 up to 7 integers and references and 8 of the others, and
// back 9 and 8. On arm64 it is one integer less, which is for wazero's own ceiling to bound.
func tail(t funcType) bool { return inRegisters(t.params, 7) && inRegisters(t.results, 9) }

func inRegisters(types []byte, integers int) bool {
	const floats = 8
	n, f := 0, 0
	for _, t := range types {
		switch t {
		case typeF32, typeF64, typeV128:
			f++
		default:
			n++
		}
	}
	return n <= integers && f <= floats
}

// bulkOperation writes memory.grow and the instructions behind the bulk prefix: the charge before, and the instruction
// with data segments by their new indices.
func (e *emitter) bulkOperation(in *instruction) {
	if charged(in) && e.metered {
		e.chargeLength(in)
	}
	switch {
	case in.op == prefixBulk && in.sub == bulkMemoryInit:
		e.out = e.out.bulk(bulkMemoryInit, e.m.segmentIndex(in.x), 0)
	case in.op == prefixBulk && in.sub == bulkDataDrop:
		e.out = e.out.bulk(bulkDataDrop, e.m.segmentIndex(in.x))
	default:
		e.copy(in)
	}
}

// chargeLength writes the charge for a length. Short fills and copies are too common to call a function for each.
func (e *emitter) chargeLength(in *instruction) {
	m := e.m
	prepare := m.prepare(in)
	if in.op != prefixBulk || in.sub != bulkMemoryFill && in.sub != bulkMemoryCopy {
		e.out = e.out.op(opCall, prepare)
		return
	}
	e.out = e.out.op(opLocalTee, e.length).op(opLocalGet, e.length).i32(shortBytes).op(opI32GtU)
	e.out = e.out.ifOf(m.addedType(typeOperands)).
		op(opCall, prepare).
		op(opElse).
		op(opGlobalGet, m.fuel()).op(opLocalGet, e.length).i32(bytesShift).op(opI32ShrU).op(opI32Sub).
		op(opGlobalSet, m.fuel()).
		op(opEnd)
}
