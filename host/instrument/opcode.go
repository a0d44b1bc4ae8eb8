package instrument

import "fmt"

// Value types.
const (
	typeI32       byte = 0x7f
	typeI64       byte = 0x7e
	typeF32       byte = 0x7d
	typeF64       byte = 0x7c
	typeV128      byte = 0x7b
	typeFuncRef   byte = 0x70
	typeExternRef byte = 0x6f
)

// The opcodes that the rewriting knows by name.
const (
	opUnreachable     byte = 0x00
	opBlock           byte = 0x02
	opLoop            byte = 0x03
	opIf              byte = 0x04
	opElse            byte = 0x05
	opEnd             byte = 0x0b
	opBr              byte = 0x0c
	opBrIf            byte = 0x0d
	opBrTable         byte = 0x0e
	opReturn          byte = 0x0f
	opCall            byte = 0x10
	opCallIndirect    byte = 0x11
	opReturnCall      byte = 0x12
	opReturnIndirect  byte = 0x13
	opSelect          byte = 0x1b
	opSelectTyped     byte = 0x1c
	opLocalGet        byte = 0x20
	opLocalSet        byte = 0x21
	opLocalTee        byte = 0x22
	opGlobalGet       byte = 0x23
	opGlobalSet       byte = 0x24
	opTableGet        byte = 0x25
	opTableSet        byte = 0x26
	opMemorySize      byte = 0x3f
	opMemoryGrow      byte = 0x40
	opI32Const        byte = 0x41
	opI64Const        byte = 0x42
	opF32Const        byte = 0x43
	opF64Const        byte = 0x44
	opI32LtS          byte = 0x48
	opI32GtU          byte = 0x4b
	opI32LeU          byte = 0x4d
	opI32GeS          byte = 0x4e
	opI64GtU          byte = 0x56
	opI32Add          byte = 0x6a
	opI32Sub          byte = 0x6b
	opI32Mul          byte = 0x6c
	opI32DivU         byte = 0x6e
	opI32And          byte = 0x71
	opI32Or           byte = 0x72
	opI32Shl          byte = 0x74
	opI32ShrU         byte = 0x76
	opI64Add          byte = 0x7c
	opI64Mul          byte = 0x7e
	opI64Shl          byte = 0x86
	opI64ExtendI32U   byte = 0xad
	opRefNull         byte = 0xd0
	opRefIsNull       byte = 0xd1
	opRefFunc         byte = 0xd2
	prefixBulk        byte = 0xfc
	prefixVector      byte = 0xfd
	void              byte = 0x40
	lastNumeric       byte = 0xc4
	firstNumeric      byte = 0x45
	vectorConst            = 12
	firstMemoryAccess byte = 0x28
	firstMemoryStore  byte = 0x36
	lastMemoryAccess  byte = 0x3e
)

// The opcodes behind the prefix 0xfc that the rewriting knows by name. Those below are conversions of numbers.
const (
	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableSize  = 16
	bulkTableFill  = 17
)

// The features that are not supported, by the names of their proposals.
const (
	exceptions        = "exception handling"
	threads           = "threads"
	memory64          = "memory64"
	multiMemory       = "multiple memories"
	garbageCollection = "garbage collection"
	typedReferences   = "typed function references"
	relaxedVectors    = "relaxed SIMD"
	wideArithmetic    = "wide arithmetic"
	customPageSizes   = "custom page sizes"
)

// feature names the feature that brought an opcode of one byte, or "".
func feature(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return exceptions
	case op == 0x14, op == 0x15, op >= 0xd4 && op <= 0xd6:
		return typedReferences
	case op == 0xd3, op == 0xfb:
		return garbageCollection
	case op == 0xfe:
		return threads
	}
	return ""
}

// instruction is one decoded instruction.
type instruction struct {
	op      byte
	sub     uint32   // the opcode behind a prefix
	x, y    uint32   // its indices, in the order of the binary form
	targets []uint32 // the labels of a br_table, the default last; valid until the next is decoded
	at, end int      // where it stands in the module
	params  int      // of a block
	results int      // of a block
	fixed   bool     // it is known what its topmost operand is
	operand uint32   // if so
}

// next decodes an instruction and checks every index but labels against what the module declares.
func (c *code) next() instruction {
	r, m := &c.r, c.m
	in := instruction{at: r.at, fixed: c.fixed, operand: c.operand}
	c.fixed = false
	in.op = r.byte()
	switch op := in.op; {
	case op == opBlock || op == opLoop || op == opIf:
		c.blockType(&in)
	case op == opBr || op == opBrIf:
		in.x = r.u32()
	case op == opBrTable:
		n := r.count("labels", 1, maxBody)
		c.targets = c.targets[:0]
		for i := 0; i <= n && r.err == nil; i++ {
			c.targets = append(c.targets, r.u32())
		}
		in.targets = c.targets
	case op == opCall || op == opReturnCall || op == opRefFunc:
		in.x = r.index("function", m.functions())
	case op == opCallIndirect || op == opReturnIndirect:
		in.x = r.index("type", len(m.types))
		in.y = r.index("table", m.tables)
	case op == opSelectTyped:
		for range r.count("types", 1, maxParams) {
			r.valueType()
		}
	case op >= opLocalGet && op <= opLocalTee:
		in.x = r.index("local", c.locals)
	case op == opGlobalGet || op == opGlobalSet:
		in.x = r.index("global", m.globals)
	case op == opTableGet || op == opTableSet:
		in.x = r.index("table", m.tables)
		m.tableSeen = true
	case op >= firstMemoryAccess && op <= lastMemoryAccess:
		c.memoryArgument()
	case op == opMemorySize || op == opMemoryGrow:
		c.memoryIndex()
	case op == opI32Const:
		c.fixed, c.operand = true, uint32(r.signed(32))
	case op == opI64Const:
		r.signed(64)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opRefNull:
		r.refType()
	case op == prefixBulk:
		c.bulk(&in)
	case op == prefixVector:
		c.vector(&in)
	case op <= 0x01, op == opElse, op == opEnd, op == opReturn, op == 0x1a, op == opSelect, op == opRefIsNull,
		op >= firstNumeric && op <= lastNumeric:
	default:
		if f := feature(op); f != "" {
			r.refuse(in.at, f, fmt.Sprintf("opcode %#x", op))
		}
		r.failAt(in.at, Malformed, "opcode %#x is unknown", op)
	}
	in.end = r.at
	return in
}

func (c *code) blockType(in *instruction) {
	r := &c.r
	switch {
	case r.at < len(r.b) && r.b[r.at] == void:
		r.byte()
	case r.at < len(r.b) && r.b[r.at]&0xc0 == 0x40: // a negative number of one byte
		r.valueType()
		in.results = 1
	default:
		at := r.at
		i := r.signed(33)
		if r.err == nil && (i < 0 || i >= int64(len(c.m.types))) {
			r.failAt(at, Malformed, "type index %d is out of range, there are %d", i, len(c.m.types))
		}
		if r.err == nil {
			in.params, in.results = len(c.m.types[i].params), len(c.m.types[i].results)
		}
	}
}

func (c *code) memoryArgument() {
	at := c.r.at
	if align := c.r.u32(); align >= 0x40 && align < 0x80 {
		c.r.refuse(at, multiMemory, "a memory access with an index")
	}
	c.r.u32()
}

// memoryIndex reads the index of a memory, of which there is at most one.
func (c *code) memoryIndex() {
	at := c.r.at
	if i := c.r.byte(); i != 0 {
		c.r.refuse(at, multiMemory, fmt.Sprintf("memory %d", i))
	}
}

func (c *code) bulk(in *instruction) {
	r, m := &c.r, c.m
	in.sub = r.u32()
	m.tableSeen = m.tableSeen || in.sub >= bulkTableInit && in.sub <= bulkTableFill
	switch in.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case bulkMemoryInit:
		in.x = r.index("data segment", len(m.segments))
		c.memoryIndex()
		m.initsActive = m.initsActive || r.err == nil && !m.segments[in.x].passive
	case bulkDataDrop:
		in.x = r.index("data segment", len(m.segments))
	case bulkMemoryCopy:
		c.memoryIndex()
		c.memoryIndex()
	case bulkMemoryFill:
		c.memoryIndex()
	case bulkTableInit:
		in.x = r.index("element segment", m.elements)
		in.y = r.index("table", m.tables)
	case bulkElemDrop:
		in.x = r.index("element segment", m.elements)
	case bulkTableCopy:
		in.x = r.index("table", m.tables)
		in.y = r.index("table", m.tables)
	case bulkTableGrow, bulkTableSize, bulkTableFill:
		in.x = r.index("table", m.tables)
	case 19, 20, 21, 22:
		r.refuse(in.at, wideArithmetic, fmt.Sprintf("opcode 0xfc %d", in.sub))
	default:
		r.failAt(in.at, Malformed, "opcode 0xfc %d is unknown", in.sub)
	}
}

func (c *code) vector(in *instruction) {
	r := &c.r
	in.sub = r.u32()
	switch s := in.sub; {
	case s <= 11, s == 92, s == 93: // loads and a store
		c.memoryArgument()
	case s == vectorConst, s == 13: // shuffle has a lane for each byte
		r.take(16)
	case s >= 21 && s <= 34: // extract_lane, replace_lane
		r.byte()
	case s >= 84 && s <= 91: // load_lane, store_lane
		c.memoryArgument()
		r.byte()
	case s >= 0x100 && s < 0x120:
		r.refuse(in.at, relaxedVectors, fmt.Sprintf("opcode 0xfd %d", s))
	case s > 255:
		r.failAt(in.at, Malformed, "opcode 0xfd %d is unknown", s)
	}
}
