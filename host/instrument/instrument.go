package instrument

import (
	"errors"
	"fmt"
	"time"
)

// Version changes whenever the output for some module would change. It belongs into the key of a cache of outputs,
// beside the digest of the module and the [Config].
const Version = 5

// What the host provides and reads.
const (
	TickModule   = "jobhost_meter" // the module of the only function that the output imports in addition
	TickFunction = "tick"          // its name; it has no parameters and no results

	FuelGlobal    = "__jobhost_fuel"    // exported mutable i32: what is left of what was granted
	GrantedGlobal = "__jobhost_granted" // exported mutable i64: what was granted so far, see [Used]
	StackGlobal   = "__jobhost_stack"   // exported mutable i32: the bytes of stack that are left; -1: overflow
)

// The values that a zero [Config] has.
const (
	DefaultPeriod = 200_000  // instructions, at most some 100 µs of compiled code
	DefaultStack  = 16 << 20 // bytes
	DefaultTables = 100_000  // elements
)

// Part is a part of what [Instrument] does. The check of the module is not one: it is always done.
type Part uint8

// The parts.
const (
	Meter  Part = 1 << iota // charge instructions, tick
	Stack                   // bound the native stack
	Tables                  // cap tables
	Merge                   // merge data segments
)

// Config says how to instrument. The zero value is what the host uses.
type Config struct {
	Period int32 // fuel between two ticks, 1 to 16,777,216; DefaultPeriod if zero
	Stack  int32 // bytes of native stack, at most 1 GiB; DefaultStack if zero
	Tables int32 // elements that all tables together may have, at most 131,071; DefaultTables if zero
	Skip   Part  // parts to leave out, for tests and measurements
	Image  int   // active data of at least so many bytes goes into Result.Image when Merge can; 0: it stays in the module
	Late   int   // a table of at least so many functions of one type is filled as they are called, if no guest can tell; 0: at once
}

// Result is an instrumented module.
type Result struct {
	Module []byte
	Image  Image // with data: the memory must hold it before the module is instantiated
	Stats  Stats
}

// Stats tells what was done.
type Stats struct {
	Functions      int // functions that the module defines
	Checks         int // places where fuel is charged, not counting those by length
	Unchecked      int // functions so small that their callers pay for them
	SegmentsBefore int // data segments
	SegmentsAfter  int

	CompileMemory int64         // bytes that a compiler may take at its peak, at most
	CompileTime   time.Duration // that it may take, at most, on one core
}

// Used returns the fuel that a guest has used, from the values of [GrantedGlobal] and [FuelGlobal]. Both are read
// together, in a tick or while the guest does not run. The number is exact: it depends on nothing but what the guest
// did, in particular not on the period.
func Used(granted, fuel uint64) uint64 {
	return granted - uint64(int64(int32(fuel))) // an i32 in the low half
}

// Instrument checks a module and returns it with the parts of cfg built in. It keeps no reference to bin and is
// deterministic. Time and memory are bounded by a small multiple of the length of bin, whatever is in it.
//
// Every error about the module is an [*Error]. A module that passes can still be wrong, since types are not checked; the
// output is then wrong in the same way, and the runtime refuses it.
func Instrument(bin []byte, cfg Config) (Result, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return Result{}, err
	}
	known, custom, err := split(bin)
	if err != nil {
		return Result{}, err
	}
	m := &module{bin: bin, cfg: cfg, out: map[byte]*vector{}, refs: map[uint32]int32{}}
	if err := m.read(known); err != nil {
		return Result{}, m.name(err, custom)
	}
	m.writeData()
	m.planLate()
	if err := m.writeCode(); err != nil {
		return Result{}, m.name(err, custom)
	}
	names, kept := m.readCustom(custom)
	out, err := m.write(names, kept)
	if err != nil {
		return Result{}, err
	}
	m.stats.CompileMemory = int64(m.compiling.peak + m.compiling.kept)
	m.stats.CompileTime = time.Duration(m.compiling.nanos)
	return Result{Module: out, Image: m.image, Stats: m.stats}, nil
}

// read checks all known sections and takes what is needed from them.
func (m *module) read(known map[byte]section) error {
	for _, step := range []struct {
		section byte
		do      func(r *reader)
	}{
		{sectionType, m.readTypes},
		{sectionImport, m.readImports},
		{sectionFunction, m.readFunctions},
		{sectionTable, m.readTables},
		{sectionMemory, m.readMemory},
		{sectionGlobal, m.readGlobals},
		{sectionExport, m.readExports},
		{sectionStart, m.readStart},
		{sectionElement, m.readElements},
		{sectionData, m.readData}, // before the code, which names its segments
		{sectionDataCount, m.readDataCount},
		{sectionCode, m.readCode},
	} {
		s, ok := known[step.section]
		if !ok {
			continue
		}
		r := &reader{b: m.bin[:s.end], at: s.start, part: sectionNames[step.section], fn: -1}
		step.do(r)
		if err := r.result(); err != nil {
			return err
		}
	}
	return nil
}

// name adds the function's name to an error about one.
func (m *module) name(err error, custom []section) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Func >= 0 {
		names, _ := m.readCustom(custom)
		e.Name = names.functions[uint32(e.Func)]
	}
	return err
}

// has reports whether a part is on.
func (c Config) has(p Part) bool { return c.Skip&p == 0 }

// filled is c with its defaults, checked.
func (c Config) filled() (Config, error) {
	for _, f := range []struct {
		name        string
		value       *int32
		usual, most int32
	}{
		{"period", &c.Period, DefaultPeriod, 1 << 24},
		{"stack", &c.Stack, DefaultStack, 1 << 30},
		{"tables", &c.Tables, DefaultTables, elementsMask},
	} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if *f.value < 0 || *f.value > f.most {
			return c, fmt.Errorf("instrument: %s is %d; want 1 to %d", f.name, *f.value, f.most)
		}
	}
	return c, nil
}
