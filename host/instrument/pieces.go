package instrument

import "fmt"

// prepare returns the index of the function that is to be called before an instruction that is charged by its operands.
// It takes the topmost operands and gives operands back for the instruction itself, which stays where it is: a trap
// happens in the guest's own function, with what the guest asked for.
func (m *module) prepare(in *instruction) uint32 {
	if in.op == opMemoryGrow {
		return m.lengthCharge("memory.grow", pagesMask, opI32Shl, pageShift)
	}
	switch in.sub {
	case bulkMemoryFill:
		return m.fillPieces()
	case bulkMemoryCopy:
		return m.copyPieces()
	case bulkMemoryInit:
		if len(m.segments[in.x].data) > pieceBytes {
			return m.initPieces(in.x)
		}
		return m.lengthCharge("memory.init", segmentMask, opI32ShrU, bytesShift)
	}
	return m.lengthCharge("table", elementsMask, opI32ShrU, 0)
}

// The locals of the functions that run a memory instruction in pieces. A source is a value for memory.fill.
const (
	pieceTo   = 0
	pieceFrom = 1
	pieceLeft = 2
)

// fillPieces runs all but the last piece of a memory.fill.
func (m *module) fillPieces() uint32 {
	return m.inPieces("memory.fill", asm{}.op(opLocalGet, pieceTo).beyondMemory(), func(again asm) asm {
		return asm{}.
			op(opLocalGet, pieceTo).op(opLocalGet, pieceFrom).i32(pieceBytes).bulk(bulkMemoryFill, 0).
			advance(pieceTo).then(again)
	})
}

// initPieces runs all but the last piece of a memory.init from a segment of more than one piece. That a segment was
// dropped shows in the first piece, which traps before anything is written.
func (m *module) initPieces(segment uint32) uint32 {
	index := m.segmentIndex(segment)
	beyond := asm{}.
		op(opLocalGet, pieceTo).beyondMemory().
		op(opLocalGet, pieceFrom).sum().i64(int64(len(m.segments[segment].data))).op(opI64GtU).
		op(opI32Or)
	return m.inPieces(fmt.Sprintf("memory.init%d", segment), beyond, func(again asm) asm {
		return asm{}.
			op(opLocalGet, pieceTo).op(opLocalGet, pieceFrom).i32(pieceBytes).bulk(bulkMemoryInit, index, 0).
			advance(pieceTo).advance(pieceFrom).then(again)
	})
}

// copyPieces runs all but one piece of a memory.copy: from the start when it moves down, else from the end, so that no
// piece overwrites what a later one reads.
func (m *module) copyPieces() uint32 {
	beyond := asm{}.
		op(opLocalGet, pieceTo).beyondMemory().
		op(opLocalGet, pieceFrom).beyondMemory().
		op(opI32Or)
	return m.inPieces("memory.copy", beyond, func(again asm) asm {
		end := func(a asm, local uint32) asm {
			return a.op(opLocalGet, local).op(opLocalGet, pieceLeft).op(opI32Add).i32(pieceBytes).op(opI32Sub)
		}
		a := asm{}.op(opLocalGet, pieceTo).op(opLocalGet, pieceFrom).op(opI32LeU).op(opIf, uint32(void)).
			op(opLocalGet, pieceTo).op(opLocalGet, pieceFrom).i32(pieceBytes).bulk(bulkMemoryCopy, 0, 0).
			advance(pieceTo).advance(pieceFrom).
			op(opElse)
		a = end(end(a, pieceTo), pieceFrom).i32(pieceBytes).bulk(bulkMemoryCopy, 0, 0)
		return a.op(opEnd).then(again)
	})
}

// inPieces makes a function of three operands, the last of which is a length. A length of one piece is only charged.
// When it reaches beyond its bounds nothing is done, so that the instruction itself traps before it writes anything.
// Else pieces run while more than one is left. piece gets what goes on with the loop behind it.
func (m *module) inPieces(what string, beyond asm, piece func(again asm) asm) uint32 {
	return m.addedFunc("jobhost."+what, m.typed(typeOperands), 0, func() asm {
		operands := asm{}.op(opLocalGet, pieceTo).op(opLocalGet, pieceFrom).op(opLocalGet, pieceLeft)
		more := asm{}.op(opLocalGet, pieceLeft).i32(pieceBytes).op(opI32GtU)
		again := asm{}.
			op(opLocalGet, pieceLeft).i32(pieceBytes).op(opI32Sub).op(opLocalSet, pieceLeft).
			then(m.charge(asm{}.i32(pieceBytes>>bytesShift))).
			then(more).op(opBrIf, 0)
		a := asm{}.then(more).op(opIf, uint32(void)).
			then(beyond).op(opIf, uint32(void)).then(operands).op(opReturn).op(opEnd).
			op(opLoop, uint32(void)).then(piece(again)).op(opEnd).
			op(opEnd)
		rest := asm{}.op(opLocalGet, pieceLeft).i32(bytesShift).op(opI32ShrU)
		return a.then(m.charge(rest)).then(operands)
	})
}

func (a asm) then(b asm) asm { return append(a, b...) }

func (a asm) i64(v int64) asm { return sleb(append(a, opI64Const), v) }

// advance moves a local up by a piece.
func (a asm) advance(local uint32) asm {
	return a.op(opLocalGet, local).i32(pieceBytes).op(opI32Add).op(opLocalSet, local)
}

// sum adds the length that is left to an address, in 64 bits.
func (a asm) sum() asm {
	return a.op(opI64ExtendI32U).op(opLocalGet, pieceLeft).op(opI64ExtendI32U).op(opI64Add)
}

// beyondMemory tells whether an address and the length that is left reach beyond the memory.
func (a asm) beyondMemory() asm {
	return a.sum().op(opMemorySize, 0).op(opI64ExtendI32U).i64(16).op(opI64Shl).op(opI64GtU)
}
