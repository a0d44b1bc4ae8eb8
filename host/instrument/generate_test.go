package instrument_test

import (
	"math/rand/v2"
	"slices"

	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// The globals of a generated module.
const (
	globalBudget  = 0 // calls and turns of loops that are left; then functions return and loops end
	globalSum     = 1 // what the functions work on
	globalCounter = 2 // i64: instructions that were run, in a module that counts
)

// generator makes random modules that are valid, end, and sometimes trap.
type generator struct {
	random *rand.Rand
	m      *w.Module
	code   []byte
	labels int // open blocks without results
	counts bool
	tables bool // there are instructions that work on the table
}

// generate makes a module, and the same one counting its instructions. Both export run, memory and the globals.
func generate(seed uint64) (bin, counting []byte) {
	plain := &generator{random: rand.New(rand.NewPCG(seed, 0))}
	counter := &generator{random: rand.New(rand.NewPCG(seed, 0)), counts: true}
	return plain.module(), counter.module()
}

// pick draws one of n choices.
func (g *generator) pick(n int) int { return g.random.IntN(n) }

// op adds one instruction.
func (g *generator) op(instruction []byte) {
	if g.counts {
		g.code = append(g.code, slices.Concat(w.Op(w.GlobalGet, globalCounter), w.I64Const(1), w.Op(w.I64Add),
			w.Op(w.GlobalSet, globalCounter))...)
	}
	g.code = append(g.code, instruction...)
}

func (g *generator) module() []byte {
	m := w.New()
	g.m = m
	g.tables = g.pick(2) == 0
	m.ImportFunc("env", "id", "i32 -> i32")
	m.Memory(1, 3)
	m.Table(w.FuncRef, 8, 0)
	m.Global(w.I32, w.I32Const(0))
	m.Global(w.I32, w.I32Const(1))
	m.Global(w.I64, w.I64Const(0))
	m.PassiveData([]byte("some bytes to copy"))
	m.Data(100, []byte("hello"))
	m.Data(110, []byte("world"))
	n := 2 + g.pick(4)
	for range n {
		g.m.Func("i32 i32 -> i32", "i32 i32", g.function(n))
	}
	m.Elements(0, 0, 2, 2, 1)
	m.Elements(1, 1)
	g.code = nil
	m.Export("run", w.KindFunc, m.Func("i32 -> i32", "",
		w.Op(w.LocalGet, 0), w.Op(w.GlobalSet, globalBudget), w.I32Const(3), w.I32Const(4), w.Op(w.Call, 1)))
	m.Export("memory", w.KindMemory, 0)
	m.Export("sum", w.KindGlobal, globalSum)
	m.Export("counter", w.KindGlobal, globalCounter)
	return m.Bytes()
}

// function is the code of one of n functions of two parameters and two further locals.
func (g *generator) function(n int) []byte {
	g.code, g.labels = nil, 0
	broke := func() { g.op(w.I32Const(0)); g.op(w.Op(w.Return)) }
	if g.pick(3) == 0 { // one loop, as Go's compiler writes functions
		g.op(w.Op(w.Loop, w.Void))
		g.labels++
		g.spend(broke)
		g.statements(3, n)
		g.op(w.Op(w.End))
		g.labels--
		g.expression(1, n)
		return g.code
	}
	g.spend(broke)
	g.statements(3, n)
	g.expression(2, n)
	return g.code
}

// spend takes one from the budget, or does what is to be done without one.
func (g *generator) spend(broke func()) {
	g.op(w.Op(w.GlobalGet, globalBudget))
	g.op(w.Op(w.I32Eqz))
	g.op(w.Op(w.If, w.Void))
	broke()
	g.op(w.Op(w.End))
	g.op(w.Op(w.GlobalGet, globalBudget))
	g.op(w.I32Const(1))
	g.op(w.Op(w.I32Sub))
	g.op(w.Op(w.GlobalSet, globalBudget))
}

func (g *generator) statements(depth, n int) {
	for range g.pick(5) {
		g.statement(depth, n)
	}
}

func (g *generator) block(depth, n int, code byte) {
	g.op(w.Op(code, w.Void))
	g.labels++
	g.statements(depth-1, n)
	if code == w.If && g.pick(2) == 0 {
		g.op(w.Op(w.Else))
		g.statements(depth-1, n)
	}
	g.op(w.Op(w.End))
	g.labels--
}

func (g *generator) loop(depth, n int) {
	g.op(w.Op(w.Block, w.Void))
	g.op(w.Op(w.Loop, w.Void))
	g.labels += 2
	g.spend(func() { g.op(w.Op(w.Br, 2)) })
	g.statements(depth-1, n)
	g.expression(1, n)
	g.op(w.Op(w.BrIf, 0))
	g.op(w.Op(w.End))
	g.op(w.Op(w.End))
	g.labels -= 2
}

// label is an open block, or now and then a loop, which then ends at the latest when the budget does.
func (g *generator) label() uint32 { return uint32(g.pick(g.labels)) }

func (g *generator) statement(depth, n int) {
	kind := g.pick(24)
	if depth == 0 && kind < 5 || g.labels == 0 && kind >= 5 && kind <= 8 {
		kind = 9
	}
	switch kind {
	case 0, 1:
		g.expression(1, n)
		g.block(depth, n, w.If)
	case 2:
		g.block(depth, n, w.Block)
	case 3, 4:
		g.loop(depth, n)
	case 5, 6:
		g.expression(1, n)
		g.op(w.Op(w.BrIf, g.label()))
	case 7:
		g.op(w.Op(w.Br, g.label()))
	case 8:
		g.expression(1, n)
		g.op(w.Op(w.BrTable, 2, g.label(), g.label(), g.label()))
	case 9, 10, 11:
		g.expression(2, n)
		g.op(w.Op(w.LocalSet, uint32(g.pick(4))))
	case 12:
		g.expression(1, n)
		g.op(w.Op(w.GlobalSet, globalSum))
	case 13:
		g.address()
		g.expression(2, n)
		g.op(w.Op(w.I32Store, 2, 8))
	case 14, 15, 16:
		g.bulk(n)
	case 17:
		g.expression(1, n)
		g.op(w.I32Const(1))
		g.op(w.Op(0x71)) // and
		g.op(w.Op(w.MemoryGrow, 0))
		g.op(w.Op(w.Drop))
	case 18, 19:
		g.table(n)
	case 20:
		g.expression(1, n)
		g.op(w.Op(w.Return))
	case 21:
		g.expression(1, n)
		g.expression(1, n)
		g.op(w.Op(w.ReturnCall, 1+uint32(g.pick(n))))
	case 22:
		if g.pick(8) == 0 {
			g.expression(1, n)
			g.expression(1, n)
			g.op(w.I32Const(int32(g.pick(6))))
			g.op(w.Op(w.ReturnCallIndirect, g.m.Type("i32 i32 -> i32"), 0))
			return
		}
		if g.pick(8) == 0 {
			g.op(w.Op(w.Unreachable))
		}
	case 23: // a value that lies there while a block with parameters is run
		g.expression(1, n)
		g.op(w.Op(w.Loop, g.m.Type("i32 -> i32")))
		g.op(w.Op(w.LocalTee, uint32(g.pick(4))))
		g.op(w.Op(w.End))
		g.op(w.Op(w.Drop))
	}
}

// address pushes an address that is mostly within the memory.
func (g *generator) address() {
	g.op(w.Op(w.LocalGet, uint32(g.pick(4))))
	g.op(w.I32Const(1<<16 - 1))
	g.op(w.Op(0x71)) // and
}

// length pushes a length, known or not.
func (g *generator) length() {
	if g.pick(2) == 0 {
		g.op(w.I32Const([]int32{0, 1, 100, 4096, 5000, -1}[g.pick(6)]))
		return
	}
	g.op(w.Op(w.LocalGet, uint32(g.pick(4))))
	g.op(w.I32Const(1<<13 - 1))
	g.op(w.Op(0x71)) // and
}

func (g *generator) bulk(n int) {
	g.address()
	switch g.pick(4) {
	case 0:
		g.expression(1, n)
		g.length()
		g.op(w.Bulk(w.MemoryFill, 0))
	case 1, 2:
		g.address()
		g.length()
		g.op(w.Bulk(w.MemoryCopy, 0, 0))
	case 3:
		g.op(w.I32Const(int32(g.pick(4))))
		g.op(w.I32Const(int32(g.pick(16))))
		g.op(w.Bulk(w.MemoryInit, 0, 0))
		if g.pick(8) == 0 {
			g.op(w.Bulk(w.DataDrop, 0))
		}
	}
}

func (g *generator) table(n int) {
	if !g.tables {
		g.op(w.Op(w.RefFunc, uint32(g.pick(3))))
		g.op(w.Op(w.Drop))
		return
	}
	switch g.pick(4) {
	case 0:
		g.op(w.Op(w.RefNull, uint32(w.FuncRef)))
		g.op(w.I32Const(int32(g.pick(3))))
		g.op(w.Bulk(w.TableGrow, 0))
		g.op(w.Op(w.LocalSet, uint32(g.pick(4))))
	case 1:
		g.op(w.I32Const(int32(g.pick(4))))
		g.op(w.I32Const(int32(g.pick(4))))
		g.op(w.I32Const(int32(g.pick(7))))
		g.op(w.Bulk(w.TableCopy, 0, 0))
	case 2:
		g.op(w.I32Const(int32(g.pick(10))))
		g.op(w.Op(w.RefFunc, uint32(g.pick(3))))
		g.op(w.Op(w.TableSet, 0))
	case 3:
		g.op(w.I32Const(int32(g.pick(4))))
		g.op(w.I32Const(int32(g.pick(4))))
		g.op(w.Op(w.TableGet, 0))
		g.op(w.I32Const(int32(g.pick(3))))
		g.op(w.Bulk(w.TableFill, 0))
	}
}

// expression pushes an i32.
func (g *generator) expression(depth, n int) {
	kind := g.pick(16)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		g.op(w.I32Const([]int32{0, 1, 7, -1, 1000}[g.pick(5)]))
	case 1, 2:
		g.op(w.Op(w.LocalGet, uint32(g.pick(4))))
	case 3:
		g.op(w.Op(w.GlobalGet, globalSum))
	case 4, 5:
		g.expression(depth-1, n)
		g.expression(depth-1, n)
		g.op(w.Op([]byte{w.I32Add, w.I32Sub, w.I32Mul, w.I32LtU, 0x6d, 0x70}[g.pick(6)])) // div_s, rem_u may trap
	case 6:
		g.address()
		g.op(w.Op(w.I32Load, 2, 0))
	case 7:
		g.expression(depth-1, n)
		g.op(w.Op(w.If, uint32(w.I32)))
		g.expression(depth-1, n)
		g.op(w.Op(w.Else))
		g.expression(depth-1, n)
		g.op(w.Op(w.End))
	case 8:
		g.expression(depth-1, n)
		g.op(w.Op(w.LocalTee, uint32(g.pick(4))))
	case 9:
		g.op(w.Op(w.MemorySize, 0))
	case 10, 11:
		g.expression(depth-1, n)
		g.expression(depth-1, n)
		g.op(w.Op(w.Call, 1+uint32(g.pick(n))))
	case 12:
		g.expression(depth-1, n)
		g.op(w.Op(w.Call, 0))
	case 13:
		g.expression(depth-1, n)
		g.op(w.I32Const(int32(g.pick(6))))
		g.op(w.Op(w.CallIndirect, g.m.Type("i32 -> i32"), 0))
	case 14, 15:
		g.expression(depth-1, n)
		g.expression(depth-1, n)
		g.op(w.I32Const(int32(g.pick(12) % 7)))
		g.op(w.Op(w.CallIndirect, g.m.Type("i32 i32 -> i32"), 0))
	}
}
