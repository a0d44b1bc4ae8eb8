package instrument

// code walks over the body of a function. It is used again for every function of a module.
type code struct {
	m       *module
	r       reader
	typ     funcType
	groups  int     // declarations of locals
	declare section // where they stand, behind their count
	body    int     // where the instructions begin
	locals  int     // parameters and locals
	targets []uint32
	fixed   bool   // the last instruction was a constant
	operand uint32 // if so, which

	frames []scanFrame
	loops  []loopShape
	height int // of the operand stack
	shape
	effort
}

// shape is what the first walk over a function tells the second.
type shape struct {
	calls    bool   // it calls a function, in whatever way
	through  bool   // it calls one through a table
	deep     bool   // it calls one that may itself call
	charged  bool   // it has an instruction that is charged by its operands
	lengths  bool   // one of them is a memory.fill or memory.copy
	dispatch bool   // it is one loop, entered at once and left only at its end, as Go's compiler writes functions
	cost     uint32 // its instructions, each once
	stack    uint32 // bytes of native stack that one call of it takes, about
}

// loopShape is what the first walk tells about a loop.
type loopShape struct {
	outer int  // the loop around it, -1: none
	free  bool // no call in it, neither of the guest nor one that the rewriting adds
}

// scanFrame is an open block.
type scanFrame struct {
	op      byte
	loop    int // the innermost loop, as an index into loops; -1 outside
	base    int // height of the operand stack below its parameters
	params  int
	results int
	depth   int  // loops around its inside
	chain   int  // of an if: see effort
	met     bool // a branch leads to its end
	known   int  // see effort, at the most of the branches to its end
}

// maxPrologue is how many instructions may stand before and after the loop of a function that is one loop.
const maxPrologue = 16

// open begins with the function whose body is what the reader has left.
func (c *code) open(fn uint32, r reader) {
	c.r = r
	c.r.fn = int(fn)
	c.typ = c.m.typeOf(fn)
	c.locals = len(c.typ.params)
	c.groups = c.r.count("groups of locals", 2, maxLocals)
	c.declare.start = c.r.at
	for range c.groups {
		at := c.r.at
		n := c.r.u32()
		if uint64(c.locals)+uint64(n) > maxLocals {
			c.r.failAt(at, TooLarge, "%d locals, at most %d are allowed", uint64(c.locals)+uint64(n), maxLocals)
		}
		c.r.valueType()
		if c.r.err != nil {
			return
		}
		c.locals += int(n)
	}
	c.declare.end = c.r.at
	c.body = c.r.at
}

// scan walks over the function for the first time: it checks all of it and finds its shape.
func (c *code) scan() {
	c.shape = shape{}
	c.loops = c.loops[:0]
	c.height = 0
	c.effort = c.fresh(c.locals)
	c.frames = append(c.frames[:0], scanFrame{op: opBlock, loop: -1, results: len(c.typ.results)})
	stack := stackUse{slot: 8}
	straight := true                    // nothing but plain instructions and blocks so far
	loopDepth, loopEnd := -1, uint32(0) // of the loop that they lead to
	for len(c.frames) > 0 && c.r.err == nil {
		in := c.next()
		if c.r.err != nil {
			return
		}
		c.cost += c.m.price(&in)
		if straight {
			switch {
			case in.op == opLoop:
				loopDepth = len(c.frames)
				straight = false
			case c.cost > maxPrologue, in.op >= opIf && in.op <= opReturnIndirect, in.op == opUnreachable:
				straight = false
			}
		}
		c.step(&in, &stack)
		if in.op == opEnd && loopEnd == 0 && len(c.frames) == loopDepth {
			loopEnd = c.cost
		}
		if len(c.frames) > maxNesting {
			c.r.failAt(in.at, TooLarge, "more than %d blocks within each other", maxNesting)
		}
	}
	if c.r.err == nil && c.r.left() > 0 {
		c.r.fail(Malformed, "%d bytes are left over behind its end", c.r.left())
	}
	c.dispatch = loopEnd > 0 && c.cost-loopEnd <= maxPrologue
	c.stack = stack.bytes(c.locals)
}

// step follows one instruction: blocks, the height of the operand stack, calls.
func (c *code) step(in *instruction, stack *stackUse) {
	f := &c.frames[len(c.frames)-1]
	n := scanFrame{op: in.op, loop: f.loop, params: in.params, results: in.results, depth: f.depth, chain: c.chain}
	c.weigh(in, f)
	switch in.op {
	case opBlock, opLoop, opIf:
		if in.op == opIf {
			c.pop(f, 1)
		}
		c.pop(f, in.params)
		n.base = c.height
		if in.op == opLoop {
			n.depth++
			n.loop = len(c.loops)
			c.loops = append(c.loops, loopShape{outer: f.loop, free: true})
		}
		c.height += in.params
		c.frames = append(c.frames, n)
	case opElse:
		if f.op != opIf {
			c.r.failAt(in.at, Malformed, "an else without an if")
		}
		f.op = opElse
		c.height = f.base + f.params
	case opEnd:
		c.height = f.base + f.results
		c.frames = c.frames[:len(c.frames)-1]
	case opBr, opBrIf, opBrTable:
		if in.op != opBr {
			c.pop(f, 1)
		}
		c.label(in, in.x)
		for _, l := range in.targets {
			c.label(in, l)
		}
		if in.op != opBrIf {
			c.height = f.base
		}
	case opReturn, opUnreachable:
		c.height = f.base
	default:
		pops, pushes := c.effect(in)
		c.pop(f, pops)
		stack.follow(in, c.height)
		c.height += pushes
		switch in.op {
		case opCall, opCallIndirect, opReturnCall, opReturnIndirect:
			c.calls = true
			c.deep = c.deep || !c.m.lightCall(in)
			c.through = c.through || in.op == opCallIndirect || in.op == opReturnIndirect
			c.bind(f)
		}
		if charged(in) {
			c.charged = true
			c.lengths = c.lengths || in.op == prefixBulk && (in.sub == bulkMemoryFill || in.sub == bulkMemoryCopy)
			c.bind(f)
		}
		if in.op == opReturnCall || in.op == opReturnIndirect {
			c.m.tailCall(in)
			c.height = f.base
		}
	}
}

func (c *code) label(in *instruction, l uint32) {
	if uint64(l) >= uint64(len(c.frames)) {
		c.r.failAt(in.at, Malformed, "label %d is out of range, there are %d", l, len(c.frames))
		return
	}
	f := &c.frames[len(c.frames)-1-int(l)]
	if f.op == opLoop {
		c.branch(1, f.params)
		return
	}
	f.met = true
	f.known = max(f.known, c.known)
	c.branch(1, f.results)
}

// pop takes operands, but none from below the block: in code that is never reached there may be too few.
func (c *code) pop(f *scanFrame, n int) { c.height = max(c.height-n, f.base) }

// bind notes that the loops around an instruction are not free.
func (c *code) bind(f *scanFrame) {
	for l := f.loop; l >= 0 && c.loops[l].free; l = c.loops[l].outer {
		c.loops[l].free = false
	}
}

// stackUse estimates the native stack that a function's frame takes. wazero gives a slot of its own to every value that
// outlives a call: operands that lie below the arguments of one, and each new value of a local.
type stackUse struct {
	slot    int // bytes, 16 in a function with vectors
	known   int // operands from the bottom that have been counted
	crossed int // operands that have been counted, ever
	sets    int // new values of locals
}

func (s *stackUse) follow(in *instruction, height int) {
	s.known = min(s.known, height)
	switch in.op {
	case opCall, opCallIndirect:
		s.crossed += height - s.known
		s.known = height
	case opLocalSet, opLocalTee:
		s.sets++
	case prefixVector:
		s.slot = 16
	}
}

// bytes was fitted to the frames of wazero 1.12 on amd64 for some 3,000 functions of Go, TinyGo, Rust, Zig and C: half
// of them take 0.5 to 0.9 times as much, one in a hundred more than 2 times.
func (s *stackUse) bytes(locals int) uint32 {
	return uint32(min(80+s.slot*(locals+s.crossed)+s.slot/2*s.sets, maxFrame))
}

// maxFrame keeps a frame far below what a stack level has room for.
const maxFrame = 1 << 24
