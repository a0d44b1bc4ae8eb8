package instrument

import (
	"fmt"
	"math"
	"slices"
)

// Compiling costs more than a module's size tells: each value that lives on in each block, each block against each
// other one, a few thousand bytes for a division. What follows estimates from above what wazero's compiler takes, so
// that a module which would take the host's memory, or minutes of its time, is refused before it gets there.
//
// The figures were fitted to wazero 1.12 on amd64, with some 60 shapes of functions made to be nasty, and held against
// random mixtures of them (TestCompilingTakesNoMoreThanEstimated). What just passes took, with all of the process:
//
//	a function of 944 calls that pass a thousand values and get as many     781 MiB    2 s of processor time
//	a function of 56,000 calls through a table                              710 MiB    2 s
//	a function of 3,200 stores, each in a loop of its own behind the other  760 MiB    2 s
//	a function of 1,500 branches back to a loop with 1,000 locals           599 MiB    2 s
//	20 functions of 632 such calls of a thousand values each              1,154 MiB   11 s
//	a function of 3,000 locals in 64 loops within each other                234 MiB   42 s
//	a function of 92,000 blocks within each other                           217 MiB   44 s
//	a function of 1,500 loops within each other, and 100 locals             220 MiB   45 s
//	a function of 10,000 loops within each other                            231 MiB   25 s
//
// Code as compilers write it takes a half to a quarter of its estimate and stays far below the limits: the largest function of
// esbuild, which is 200 kB of Go, is at a quarter of what a function may take, and its 14 MB are at a half of a module's.
const (
	maxFunctionBytes = 768 << 20 // while one function is compiled
	maxModuleBytes   = 5 << 28   // with what is kept of the others
	maxCompileNanos  = 60e9      // of all functions together
	maxSignatures    = 1_000_000 // parameters and results of all types together
)

// What things cost the compiler: bytes at its peak, and nanoseconds.
const (
	blockBytes    = 3000 // of a basic block
	crossingBytes = 250  // of a local in a block, when it lives on from one block to another
	operandBytes  = 60   // of an operand below a block
	argumentBytes = 420  // of what a call passes on or gets, or a global that is read again behind it
	localBytes    = 100
	boundBytes    = 32 // of an address in a block, when it is known there that it lies within the memory
	functionBytes = 600

	keptArgumentBytes = 30 // the same of what is kept until the module is done: the code, about three times
	keptCrossingBytes = 30 // of a local at a branch

	workNanos     = 1.5  // of a byte that an instruction takes
	pairNanos     = 5    // of a pair of blocks
	stepNanos     = 2    // of a step from block to block in search of a local
	liveNanos     = 250  // of a value in a block
	joinNanos     = 0.25 // of a pair of locals in a block, for each round
	rounds        = 1.2  // further rounds for each level of loops
	scanned       = 100  // what a round costs for a block without any, in such pairs
	functionNanos = 8000 // of a function
)

// checkBlocks is how many basic blocks a check of ours makes.
const checkBlocks = 4

// stretch is how many instructions count as one block at most: the checks of ours cut longer ones.
const stretch = 500

// effort is what the first walk finds out about a function for the estimate.
type effort struct {
	work     work
	blocks   int // basic blocks
	branches int // from a block to one that several lead to
	operands int // of all blocks together, those below them
	steps    int // from block to block, in search of locals that are read
	joins    int // the same for one local at every branch to a place where several meet
	crossing int // locals that live on from one block to another
	arity    int // parameters or results of a block, the most
	nesting  int // loops within each other, the most
	bounds   int // of all blocks together, addresses that are known to lie within the memory

	block uint32   // the number of the block
	since int      // instructions in it
	chain int      // blocks since one with several predecessors
	known int      // addresses that are known here, at most; see bounds
	last  []uint32 // by local: the block in which it was set last; crosses when it is a crossing one
}

const crosses = math.MaxUint32

// fresh is the effort of a function that has not been walked over. It takes over the list of locals.
func (e *effort) fresh(locals int) effort {
	last := slices.Grow(e.last[:0], locals)[:locals]
	clear(last)
	return effort{last: last, blocks: 2}
}

// next goes on to another block, which has the operands that there are by then.
func (e *effort) next(blocks, height int) {
	e.block++
	e.since = 0
	e.blocks += blocks
	e.operands += blocks * height
	e.bounds += blocks * e.known
}

// branch follows n branches that pass on so many operands.
func (e *effort) branch(n, operands int) {
	e.joins += n * (e.chain + 1)
	e.branches += n
	e.pass(n * operands)
	e.arity = max(e.arity, operands)
}

// pass counts what is passed on to a block.
func (e *effort) pass(operands int) {
	e.work.peak += operands * crossingBytes
	e.work.kept += operands * keptCrossingBytes
}

// weigh adds an instruction, which has been followed: the frame around it, and how many are open.
func (c *code) weigh(in *instruction, f *scanFrame) {
	e := &c.effort
	if e.since++; e.since > stretch {
		e.next(checkBlocks, c.height)
	}
	own := workOf(in)
	e.work.peak += own.peak
	e.work.kept += own.kept
	switch in.op {
	case opLocalGet:
		if last := e.last[in.x]; last != e.block && last != crosses {
			e.last[in.x] = crosses
			e.crossing++
		}
		e.steps += e.chain
	case opLocalSet, opLocalTee:
		if e.last[in.x] != crosses {
			e.last[in.x] = e.block
		}
	case opBlock:
		e.next(1, c.height)
		e.arity = max(e.arity, in.params, in.results)
		e.pass(in.params + in.results)
	case opLoop:
		e.next(2, c.height)
		e.branch(1, in.params)
		e.pass(in.results)
		e.chain = 0
		e.nesting = max(e.nesting, f.depth+1)
	case opIf:
		e.next(3, c.height)
		e.chain++
		e.branch(2, in.results)
		e.pass(in.params)
	case opElse:
		e.next(0, c.height)
		e.chain = f.chain + 1
	case opEnd:
		e.known = max(e.known, f.known)
		if f.op == opIf {
			e.known = 0 // the other way around it knows of none
		}
		e.next(0, c.height)
		e.branch(1, f.results)
		if f.met || f.op == opIf || f.op == opElse {
			e.chain = 0
		} else {
			e.chain++
		}
	case opBr, opReturn:
		e.next(0, c.height)
	case opBrIf:
		e.next(2, c.height)
		e.chain++
	case opBrTable:
		e.next(len(in.targets), c.height)
	case opCall, opReturnCall, opCallIndirect, opReturnIndirect:
		pops, pushes := c.effect(in)
		e.work.peak += argumentBytes * (pops + pushes + c.m.mutable)
		e.work.kept += keptArgumentBytes * (pops + pushes)
	default:
		if in.op == opGlobalGet || own.peak >= accessPeak {
			e.steps += e.chain
		}
		if own.peak >= accessPeak {
			e.known++
		}
		e.blocks += ownBlocks(in)
	}
}

// accessPeak is the least peak of instructions that may access memory.
const accessPeak = 5000

// work is what an instruction takes in the compiler, in bytes: at its peak, and until the module is done.
type work struct{ peak, kept int }

// workOf leaves out what depends on more than the instruction.
func workOf(in *instruction) work {
	switch op := in.op; {
	case op == opCallIndirect, op == opReturnIndirect:
		return work{13_500, 450}
	case op == opRefFunc:
		return work{16_000, 700}
	case op == opCall, op == opReturnCall:
		return work{2500, 80}
	case op == opMemoryGrow:
		return work{4000, 200}
	case op == opTableGet, op == opTableSet:
		return work{4500, 200}
	case op >= firstMemoryAccess && op <= lastMemoryAccess:
		return work{5000, 130}
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // division
		return work{5500, 250}
	case op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1: // floating-point numbers to integers, with traps
		return work{8000, 500}
	case op >= 0x8b && op <= 0xa6, op >= 0xb2 && op <= 0xbf: // floating-point numbers
		return work{2500, 150}
	case op >= opI32Const && op <= opF64Const, op >= firstNumeric && op <= lastNumeric, op == opSelect, op == opSelectTyped,
		op == opGlobalGet, op == opGlobalSet:
		return work{500, 20}
	case op == prefixVector && (in.sub <= 11 || in.sub >= 84 && in.sub <= 93): // of memory
		return work{8000, 200}
	case op == prefixVector:
		return work{3000, 200}
	case op == prefixBulk && in.sub < bulkMemoryInit: // floating-point numbers to integers, without traps
		return work{8000, 500}
	case op == prefixBulk:
		return bulkWork[min(int(in.sub), len(bulkWork)-1)]
	}
	return work{50, 2} // blocks, locals and the like are counted by their effect
}

// bulkWork is the work of the instructions behind the bulk prefix, with what is built in around them.
var bulkWork = [...]work{
	bulkTableFill:  {36_000, 1500},
	bulkMemoryInit: {18_000, 800},
	bulkDataDrop:   {3000, 100},
	bulkMemoryCopy: {28_000, 1200},
	bulkMemoryFill: {46_000, 2000},
	bulkTableInit:  {20_000, 800},
	bulkElemDrop:   {3000, 100},
	bulkTableCopy:  {20_000, 800},
	bulkTableGrow:  {5000, 200},
	bulkTableSize:  {1000, 20},
}

// ownBlocks is how many basic blocks an instruction makes that is none of the flow of control.
func ownBlocks(in *instruction) int {
	switch in.op {
	case prefixBulk:
	case opRefFunc:
		return 3
	default:
		return 0
	}
	switch in.sub {
	case bulkMemoryFill:
		return 8
	case bulkTableFill:
		return 5
	case bulkMemoryCopy:
		return 4
	}
	return 0
}

// bill is what compiling the function takes at most that has been scanned, with so many checks in it.
func (c *code) bill(checks int) compiling {
	e := &c.effort
	blocks := float64(e.blocks + checks*checkBlocks)
	peak := float64(e.work.peak + argumentBytes*(len(c.typ.params)+len(c.typ.results)))
	crossing := float64(e.crossing + 2) // the fuel and the level
	joins := crossing + float64(e.arity)
	return compiling{
		peak: functionBytes + peak + blockBytes*blocks + crossingBytes*crossing*blocks +
			operandBytes*float64(e.operands) + boundBytes*float64(e.bounds) + localBytes*float64(c.locals),
		kept: functionBytes + float64(e.work.kept) + keptCrossingBytes*crossing*float64(e.branches),
		nanos: functionNanos + workNanos*peak + pairNanos*blocks*blocks +
			stepNanos*(float64(e.steps)+crossing*float64(e.joins)) +
			liveNanos*(crossing*blocks+float64(e.operands)) +
			joinNanos*(joins*joins+scanned)*blocks*(1+rounds*float64(e.nesting)),
	}
}

// compiling is what it takes at most to compile a function, or a module up to one.
type compiling struct {
	peak  float64 // bytes, while one function is compiled
	kept  float64 // bytes, until the module is done
	nanos float64
}

// charge adds the function that was scanned last, with so many checks in it.
func (m *module) bear(c *code, checks int) error {
	own := c.bill(checks)
	a := &m.compiling
	a.peak = max(a.peak, own.peak)
	a.kept += own.kept
	a.nanos += own.nanos
	fail := func(fn int, format string, args ...any) error {
		return &Error{Kind: TooLarge, Section: sectionNames[sectionCode], Func: fn, Offset: -1, Msg: fmt.Sprintf(format, args...)}
	}
	switch fn := c.r.fn; {
	case own.peak > maxFunctionBytes:
		return fail(fn, "compiling it could take %.0f MiB of memory, at most %d are allowed: it has %s; divide it into smaller ones",
			own.peak/(1<<20), maxFunctionBytes>>20, c.measures())
	case own.nanos > maxCompileNanos:
		return fail(fn, "compiling it could take %.0f s, at most %.0f are allowed: it has %s; divide it into smaller ones",
			own.nanos/1e9, maxCompileNanos/1e9, c.measures())
	case a.nanos > maxCompileNanos:
		return fail(-1, "compiling the functions up to number %d could take %.0f s, at most %.0f are allowed; make several plugins of this one",
			fn, a.nanos/1e9, maxCompileNanos/1e9)
	case a.peak+a.kept > maxModuleBytes:
		return fail(-1, "compiling the functions up to number %d could take %.0f MiB of memory, at most %d are allowed; make several plugins of this one",
			fn, (a.peak+a.kept)/(1<<20), maxModuleBytes>>20)
	}
	return nil
}

// measures says what makes a function costly.
func (c *code) measures() string {
	return fmt.Sprintf("%d bytes of code, %d blocks and branches, and %d locals that live on between them",
		len(c.r.b)-c.body, c.blocks, c.crossing)
}
