package instrument

// effect says how many operands an instruction takes and leaves. Those of blocks, branches and ends are not its
// concern. It needs no types, since wazero checks them: a wrong module only gets a wrong estimate of its stack.
func (c *code) effect(in *instruction) (pops, pushes int) {
	switch op := in.op; {
	case op == opCall || op == opReturnCall:
		t := c.m.typeOf(in.x)
		return len(t.params), len(t.results)
	case op == opCallIndirect || op == opReturnIndirect:
		t := c.m.types[in.x]
		return len(t.params) + 1, len(t.results)
	case op == 0x1a, op == opLocalSet, op == opGlobalSet: // drop
		return 1, 0
	case op == opSelect, op == opSelectTyped:
		return 3, 1
	case op == opLocalGet, op == opGlobalGet, op == opMemorySize, op == opRefNull, op == opRefFunc,
		op >= opI32Const && op <= opF64Const:
		return 0, 1
	case op == opLocalTee, op == opTableGet, op == opMemoryGrow, op == opRefIsNull:
		return 1, 1
	case op >= firstMemoryStore && op <= lastMemoryAccess, op == opTableSet:
		return 2, 0
	case op >= firstMemoryAccess && op < firstMemoryStore:
		return 1, 1
	case op >= firstNumeric && op <= lastNumeric:
		if unaryNumeric(op) {
			return 1, 1
		}
		return 2, 1
	case op == prefixBulk:
		return bulkEffect(in.sub)
	case op == prefixVector:
		return vectorEffect(in.sub)
	}
	return 0, 0
}

// unaryNumeric reports whether a numeric instruction has one operand: eqz, the counts of bits, the functions of one
// floating-point number, conversions and sign extensions.
func unaryNumeric(op byte) bool {
	return op == 0x45 || op == 0x50 || op >= 0x67 && op <= 0x69 || op >= 0x79 && op <= 0x7b ||
		op >= 0x8b && op <= 0x91 || op >= 0x99 && op <= 0x9f || op >= 0xa7
}

func bulkEffect(sub uint32) (pops, pushes int) {
	switch sub {
	case bulkDataDrop, bulkElemDrop:
		return 0, 0
	case bulkTableSize:
		return 0, 1
	case bulkTableGrow:
		return 2, 1
	case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableFill:
		return 3, 0
	}
	return 1, 1
}

// unaryVector lists the vector instructions of one operand as first and last of each run.
var unaryVector = [][2]uint32{
	{0, 10},
	{15, 21},
	{22, 22},
	{24, 25},
	{27, 27},
	{29, 29},
	{31, 31},
	{33, 33},
	{77, 77},
	{83, 83},
	{92, 100},
	{103, 106},
	{116, 117},
	{122, 122},
	{124, 129},
	{131, 132},
	{135, 138},
	{148, 148},
	{160, 161},
	{163, 164},
	{167, 170},
	{192, 193},
	{195, 196},
	{199, 202},
	{224, 225},
	{227, 227},
	{236, 237},
	{239, 239},
	{248, 255},
}

func vectorEffect(sub uint32) (pops, pushes int) {
	switch {
	case sub == vectorConst:
		return 0, 1
	case sub == 82: // bitselect
		return 3, 1
	case sub == 11, sub >= 88 && sub <= 91: // stores
		return 2, 0
	}
	for _, run := range unaryVector {
		if sub >= run[0] && sub <= run[1] {
			return 1, 1
		}
	}
	return 2, 1
}
