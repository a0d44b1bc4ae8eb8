package instrument

import "slices"

// readCode checks the code. It is written later by writeCode, since what a call costs depends on the function that is
// called, and what a segment's index is on all functions.
func (m *module) readCode(r *reader) {
	n := r.count("functions", 2, maxFunctions)
	if r.err == nil && n != len(m.defined) {
		r.failAt(r.at, Malformed, "it has %d functions, but %d are declared", n, len(m.defined))
	}
	m.bodies = *r
	c := &code{m: m}
	locals := 0
	for i := 0; i < n && r.err == nil; i++ {
		r.fn = len(m.imported) + i
		at := r.at
		size := r.u32()
		if size > maxBody {
			r.failAt(at, TooLarge, "its body has %d bytes, at most %d are allowed", size, maxBody)
		}
		c.open(uint32(r.fn), r.sub(size))
		if locals += c.locals; locals > min(maxAllLocals, maxLocals+len(r.b)-m.bodies.at) {
			c.r.failAt(at, TooLarge, "the functions up to this one have %d locals, too many for their code", locals)
		}
		c.scan()
		r.err = c.r.err
		if m.cfg.has(Meter) && !c.calls && !c.charged && len(c.loops) == 0 && c.cost <= smallCost {
			m.light[i] = uint8(c.cost)
			m.stats.Unchecked++
		}
	}
	r.fn = -1
}

// writeCode writes all functions. Nothing can be wrong with them any more, but what is written can become too large.
func (m *module) writeCode() error {
	if len(m.defined) == 0 {
		return nil
	}
	for i, cost := range m.light {
		if m.taken[i] {
			m.indirect = max(m.indirect, uint32(cost))
			m.outside[i] = m.outside[i] || m.tailTables
		}
	}
	r := m.bodies
	v := m.vec(sectionCode)
	v.n = len(m.defined)
	v.b = make([]byte, 0, r.left()+r.left()/2)
	c := &code{m: m}
	e := emitter{code: c, m: m}
	for i := range m.defined {
		c.open(uint32(len(m.imported)+i), r.sub(r.u32()))
		body := c.r
		c.scan()
		c.r = body
		e.metered = m.cfg.has(Meter) && m.light[i] == 0
		e.leveled = m.cfg.has(Stack) && c.deep
		e.restores = e.leveled && m.outside[i]
		e.function()
		if err := m.bear(c, len(e.flow.checks)); err != nil {
			return err
		}
		v.b = append(uleb(v.b, uint32(len(e.out))), e.out...)
		if len(v.b) > maxOutput {
			return tooLarge()
		}
	}
	return nil
}

// emitter writes one function after the other.
type emitter struct {
	*code
	m   *module
	out asm

	metered  bool // the function has checks
	leveled  bool // it keeps a stack level
	restores bool // it puts the stack level back when it returns

	level  uint32 // the local that holds the stack level
	mirror uint32 // the local that mirrors the fuel in free loops
	length uint32 // the local that holds the length of a memory instruction
	place  uint32 // the local that holds the place of a call through a table that is filled late

	flow   flow
	marks  []int // by check: where in out its cost stands
	begun  int   // loops, so far
	around []int // the loops around this place
}

// function writes the function that the code has open and has been scanned.
func (e *emitter) function() {
	e.out, e.marks, e.begun, e.around = e.out[:0], e.marks[:0], 0, e.around[:0]
	e.declareLocals()
	if e.leveled {
		e.out = e.out.op(opGlobalGet, e.m.level()).i32(int32(e.stack)).op(opI32Sub).op(opLocalSet, e.level)
	}
	e.flow.reset()
	if e.metered {
		e.newCheck()
	}
	switch {
	case e.metered && !e.dispatch:
		e.setCheck(0, e.leveled)
	case !e.metered && e.leveled:
		e.checkLevel()
	}
	for len(e.flow.frames) > 0 && e.r.err == nil {
		in := e.next()
		if e.metered && in.op != opEnd && e.flow.now.longest() >= maxPath {
			e.setCheck(e.newCheck(), false)
		}
		e.instruction(&in)
	}
	e.writeCosts()
}

// writeCosts writes what the checks charge. In a function that is one loop, the loop's check stands for the one at the
// entry, and pays for what is before and behind the loop too.
func (e *emitter) writeCosts() {
	for n, cost := range e.flow.checks {
		switch {
		case e.dispatch && n == 0:
			continue
		case e.dispatch && n == 1:
			cost += e.flow.checks[0]
		}
		padded(e.out[e.marks[n]:], cost)
		e.m.stats.Checks++
	}
}

// declareLocals copies the declarations and adds the locals of the rewriting, which no instruction of the guest's can
// name: its indices were checked.
func (e *emitter) declareLocals() {
	own := uint32(0)
	local := func(wanted bool, l *uint32) {
		if wanted {
			*l = uint32(e.locals) + own
			own++
		}
	}
	local(e.leveled, &e.level)
	local(e.metered && e.anyFree(), &e.mirror)
	local(e.metered && e.lengths, &e.length)
	local(e.through && e.m.late != nil, &e.place)
	groups := uint32(e.groups)
	if own > 0 {
		groups++
	}
	e.out = uleb(e.out, groups)
	e.out = append(e.out, e.r.b[e.declare.start:e.declare.end]...)
	if own > 0 {
		e.out = append(uleb(e.out, own), typeI32)
	}
}

func (e *emitter) anyFree() bool {
	for _, l := range e.loops {
		if l.free {
			return true
		}
	}
	return false
}

// instruction writes one instruction of the guest, with what belongs to it.
func (e *emitter) instruction(in *instruction) {
	e.flow.run(e.m.price(in))
	switch in.op {
	case opBlock, opIf:
		e.copy(in)
		e.flow.open(in.op)
	case opLoop:
		e.beginLoop(in)
	case opElse:
		e.copy(in)
		e.flow.otherwise()
	case opEnd:
		e.endBlock(in)
	case opBr, opBrIf, opBrTable:
		e.branches(in)
	case opReturn:
		e.restoreLevel()
		e.copy(in)
		e.flow.stop()
	case opUnreachable:
		e.copy(in)
		e.flow.stop()
	case opCall, opCallIndirect, opReturnCall, opReturnIndirect:
		e.call(in)
	case opRefFunc:
		e.reference(in.x)
	case opMemoryGrow, prefixBulk:
		e.bulkOperation(in)
	default:
		e.copy(in)
	}
}

func (e *emitter) copy(in *instruction) { e.out = append(e.out, e.r.b[in.at:in.end]...) }

func (e *emitter) branches(in *instruction) {
	outermost := uint32(len(e.flow.frames) - 1)
	if in.op != opBrTable && in.x == outermost || slices.Contains(in.targets, outermost) {
		e.restoreLevel()
	}
	e.copy(in)
	if in.op == opBrTable {
		for _, l := range in.targets {
			e.flow.branch(l)
		}
	} else {
		e.flow.branch(in.x)
	}
	if in.op != opBrIf {
		e.flow.stop()
	}
}

// beginLoop writes the beginning of a loop and the check behind it. A free loop has the fuel in a local too, which spares
// every turn the load; the store is left, so that the global is right whenever the guest stops.
func (e *emitter) beginLoop(in *instruction) {
	l := e.begun
	e.begun++
	shape := e.loops[l]
	if e.metered && shape.free && (shape.outer < 0 || !e.loops[shape.outer].free) {
		e.out = e.out.op(opGlobalGet, e.m.fuel()).op(opLocalSet, e.mirror)
	}
	e.around = append(e.around, l)
	e.copy(in)
	reached := e.flow.now.reached()
	e.flow.loop()
	switch {
	case !e.metered || !reached:
	case l == 0 && e.dispatch:
		e.setCheck(e.newCheck(), e.leveled)
	default:
		e.setCheck(e.newCheck(), false)
	}
}
