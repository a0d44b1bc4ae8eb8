package wasmtest

import "encoding/binary"

// Opcodes that tests use often. Any other is just its byte.
const (
	Unreachable        byte = 0x00
	Nop                byte = 0x01
	Block              byte = 0x02
	Loop               byte = 0x03
	If                 byte = 0x04
	Else               byte = 0x05
	End                byte = 0x0b
	Br                 byte = 0x0c
	BrIf               byte = 0x0d
	BrTable            byte = 0x0e
	Return             byte = 0x0f
	Call               byte = 0x10
	CallIndirect       byte = 0x11 // type, table
	ReturnCall         byte = 0x12
	ReturnCallIndirect byte = 0x13
	Drop               byte = 0x1a
	Select             byte = 0x1b
	LocalGet           byte = 0x20
	LocalSet           byte = 0x21
	LocalTee           byte = 0x22
	GlobalGet          byte = 0x23
	GlobalSet          byte = 0x24
	TableGet           byte = 0x25
	TableSet           byte = 0x26
	I32Load            byte = 0x28 // align, offset
	I64Load            byte = 0x29
	I32Load8U          byte = 0x2d
	I32Store           byte = 0x36 // align, offset
	I64Store           byte = 0x37
	I32Store8          byte = 0x3a
	MemorySize         byte = 0x3f // 0
	MemoryGrow         byte = 0x40 // 0
	I32Eqz             byte = 0x45
	I32Eq              byte = 0x46
	I32Ne              byte = 0x47
	I32LtS             byte = 0x48
	I32LtU             byte = 0x49
	I64LtS             byte = 0x53
	I32Add             byte = 0x6a
	I32Sub             byte = 0x6b
	I32Mul             byte = 0x6c
	I64Add             byte = 0x7c
	I64Sub             byte = 0x7d
	I32WrapI64         byte = 0xa7
	RefNull            byte = 0xd0
	RefFunc            byte = 0xd2
)

// Sub-opcodes of the prefix 0xfc, for [Bulk].
const (
	MemoryInit uint32 = 8 // data segment, 0
	DataDrop   uint32 = 9
	MemoryCopy uint32 = 10 // 0, 0
	MemoryFill uint32 = 11 // 0
	TableInit  uint32 = 12 // element segment, table
	ElemDrop   uint32 = 13
	TableCopy  uint32 = 14 // to, from
	TableGrow  uint32 = 15
	TableSize  uint32 = 16
	TableFill  uint32 = 17
)

// Void is the type of a block without parameters and results.
const Void = 0x40

// Op is an instruction with unsigned immediates: indices, alignments, offsets, or [Void] or a value type for a block.
func Op(code byte, immediates ...uint32) []byte {
	out := []byte{code}
	for _, i := range immediates {
		out = append(out, U32(i)...)
	}
	return out
}

// Bulk is an instruction of the prefix 0xfc.
func Bulk(sub uint32, immediates ...uint32) []byte {
	return Op(0xfc, append([]uint32{sub}, immediates...)...)
}

// I32Const pushes v.
func I32Const(v int32) []byte { return append([]byte{0x41}, S64(int64(v))...) }

// I64Const pushes v.
func I64Const(v int64) []byte { return append([]byte{0x42}, S64(v)...) }

// U32 is v in unsigned LEB128.
func U32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// S64 is v in signed LEB128.
func S64(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Text is a name with its length.
func Text(s string) []byte { return append(U32(uint32(len(s))), s...) }

// Limits are the limits of a table or memory; no maximum if most is 0.
func Limits(least, most uint32) []byte {
	if most == 0 {
		return append([]byte{0}, U32(least)...)
	}
	return append(append([]byte{1}, U32(least)...), U32(most)...)
}

// Section is a section with its id and length.
func Section(id byte, content []byte) []byte {
	return append(append([]byte{id}, U32(uint32(len(content)))...), content...)
}
