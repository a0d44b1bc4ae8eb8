package instrument

// smallCost is what a function may cost at most for its callers to pay for it. It has neither loops nor calls.
const smallCost = 40

// Instructions that work on a length are charged one for 8 bytes, one for an element of a table, and 64 for a page by
// which a memory grows, on top of the one for the instruction. The lengths are cut to more than any that neither traps
// nor fails, so that no charge is ever large.
const (
	bytesShift   = 3
	pageShift    = 6
	segmentMask  = 2*pieceBytes - 1
	elementsMask = 1<<17 - 1
	pagesMask    = 1<<17 - 1
)

// pieceBytes is how much of a memory instruction runs between two checks, and shortBytes what may run without one:
// it is charged for, and the next check sees it.
const (
	pieceBytes = 1 << 20
	shortBytes = 4096
)

// price is what an instruction is charged with: one, what a function costs that has no check of its own, and the length
// if it is known and short.
func (m *module) price(in *instruction) uint32 {
	switch in.op {
	case opCall, opReturnCall:
		if i := int(in.x) - len(m.imported); i >= 0 {
			return 1 + uint32(m.light[i])
		}
	case opCallIndirect, opReturnIndirect:
		return 1 + m.indirect
	case opMemoryGrow, prefixBulk:
		if cost, ok := lengthCost(in); ok && !charged(in) {
			return 1 + uint32(cost)
		}
	}
	return 1
}

// lightCall reports whether a call is of a function without a check of its own. It is for the second walk only, when
// all such functions are known.
func (m *module) lightCall(in *instruction) bool {
	i := int(in.x) - len(m.imported)
	return (in.op == opCall || in.op == opReturnCall) && i >= 0 && m.light[i] > 0
}

// charged reports whether an instruction is charged while it runs, by a length that is not known or not short.
func charged(in *instruction) bool {
	cost, ok := lengthCost(in)
	return ok && (!in.fixed || cost > shortBytes>>bytesShift)
}

// lengthCost is the charge for the topmost operand of an instruction whose topmost operand is a length.
func lengthCost(in *instruction) (cost uint64, ok bool) {
	n := uint64(in.operand)
	if in.op == opMemoryGrow {
		return n << pageShift, true
	}
	if in.op == prefixBulk {
		switch in.sub {
		case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill:
			return n >> bytesShift, true
		case bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
			return n, true
		}
	}
	return 0, false
}
