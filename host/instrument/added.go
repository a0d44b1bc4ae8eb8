package instrument

import "fmt"

// added is what the rewriting adds to a module behind what it has: types, functions and globals, made when first asked
// for. The imported tick stands between the module's imported functions and its own, so its own move up by one.
type added struct {
	types   []string // function types in binary form
	globals [][]byte // in binary form, behind those that are exported
	funcs   []addedFunc
	byName  map[string]uint32 // indices of added functions
}

type addedFunc struct {
	typ  uint32
	name string
	body []byte
}

// The types of added functions, in binary form.
const (
	typeVoid     = "\x60\x00\x00"
	typeLevel    = "\x60\x01\x7f\x00"                     // i32 ->
	typePair     = "\x60\x02\x7f\x7f\x00"                 // i32 i32 ->
	typeLength   = "\x60\x01\x7f\x01\x7f"                 // i32 -> i32
	typeOperands = "\x60\x03\x7f\x7f\x7f\x03\x7f\x7f\x7f" // i32 i32 i32 -> i32 i32 i32
)

func (m *module) addedType(binary string) uint32 {
	for i, t := range m.added.types {
		if t == binary {
			return uint32(len(m.types) + i)
		}
	}
	m.added.types = append(m.added.types, binary)
	return uint32(len(m.types) + len(m.added.types) - 1)
}

// addedFunc returns the index of an added function, making it when it is asked for the first time. Its body gets locals
// of type i32 behind its parameters.
func (m *module) addedFunc(name string, typ func() uint32, locals int, body func() asm) uint32 {
	if i, ok := m.added.byName[name]; ok {
		return i
	}
	if m.added.byName == nil {
		m.added.byName = map[string]uint32{}
	}
	i := uint32(m.functions() + 1 + len(m.added.funcs))
	m.added.byName[name] = i
	m.added.funcs = append(m.added.funcs, addedFunc{name: name})
	b := asm{0}
	if locals > 0 {
		b = asm{1, byte(locals), typeI32}
	}
	b = append(append(b, body()...), opEnd)
	f := &m.added.funcs[i-uint32(m.functions()+1)]
	f.typ, f.body = typ(), b
	return i
}

// hooked reports whether the host's function is imported at all.
func (m *module) hooked() bool { return m.cfg.has(Meter) || m.cfg.has(Stack) }

// tick is the index of the host's function.
func (m *module) tick() uint32 { return uint32(len(m.imported)) }

// The indices of the added globals. Those of a part that is off are not there.
func (m *module) fuel() uint32    { return uint32(m.globals) }
func (m *module) granted() uint32 { return uint32(m.globals + 1) }
func (m *module) level() uint32 {
	if m.cfg.has(Meter) {
		return uint32(m.globals + 2)
	}
	return uint32(m.globals)
}

// addedGlobal returns the index of a global that is added, in binary form.
func (m *module) addedGlobal(binary []byte) uint32 {
	m.added.globals = append(m.added.globals, binary)
	n := m.globals + len(m.added.globals) - 1
	if m.cfg.has(Meter) {
		n += 2
	}
	if m.cfg.has(Stack) {
		n++
	}
	return uint32(n)
}

// moved is the index by which a function of the module is called.
func (m *module) moved(fn uint32) uint32 {
	if m.hooked() && int(fn) >= len(m.imported) {
		return fn + 1
	}
	return fn
}

// referred is the index by which a function is put into tables, globals and exports: an imported one is wrapped, so
// that the host gets its tick however the function is called.
func (m *module) referred(fn uint32) uint32 {
	if int(fn) < len(m.imported) && m.cfg.has(Meter) {
		return m.wrapper(fn)
	}
	return m.moved(fn)
}

// wrapper calls an imported function and then the host's.
func (m *module) wrapper(fn uint32) uint32 {
	name := fmt.Sprintf("jobhost.import%d", fn)
	return m.addedFunc(name, func() uint32 { return m.imported[fn] }, 0, func() asm {
		var a asm
		for i := range m.typeOf(fn).params {
			a = a.op(opLocalGet, uint32(i))
		}
		return a.op(opCall, fn).op(opCall, m.tick())
	})
}

// refill is called with the fuel below zero. It grants whole periods until the fuel is not, and calls the host.
func (m *module) refill() uint32 {
	period := m.cfg.Period
	return m.addedFunc("jobhost.refill", m.typed(typeVoid), 1, func() asm {
		const grant = 0
		return asm{}.
			// grant = (period - 1 - fuel) / period * period
			i32(period-1).op(opGlobalGet, m.fuel()).op(opI32Sub).
			i32(period).op(opI32DivU).i32(period).op(opI32Mul).op(opLocalSet, grant).
			op(opGlobalGet, m.fuel()).op(opLocalGet, grant).op(opI32Add).op(opGlobalSet, m.fuel()).
			op(opGlobalGet, m.granted()).op(opLocalGet, grant).op(opI64ExtendI32U).op(opI64Add).
			op(opGlobalSet, m.granted()).
			op(opCall, m.tick())
	})
}

// enter is called on entry to a function with its stack level, when that or the fuel is below zero.
func (m *module) enter() uint32 {
	return m.addedFunc("jobhost.enter", m.typed(typeLevel), 0, func() asm {
		const level = 0
		a := asm{}.
			op(opLocalGet, level).i32(0).op(opI32LtS).op(opIf, uint32(void)).
			i32(-1).op(opGlobalSet, m.level()).op(opCall, m.tick()).
			op(opEnd)
		if m.cfg.has(Meter) {
			a = a.op(opGlobalGet, m.fuel()).i32(0).op(opI32LtS).op(opIf, uint32(void)).
				op(opCall, m.refill()).
				op(opEnd)
		}
		return a
	})
}

// lengthCharge takes a length, charges for it and gives it back.
func (m *module) lengthCharge(what string, mask int32, shift byte, by int32) uint32 {
	return m.addedFunc("jobhost."+what, m.typed(typeLength), 0, func() asm {
		cost := asm{}.op(opLocalGet, 0).i32(mask).op(opI32And).i32(by).op(shift)
		return m.charge(cost).op(opLocalGet, 0)
	})
}

// charge takes from the fuel what cost leaves on the operand stack.
func (m *module) charge(cost asm) asm {
	a := asm{}.op(opGlobalGet, m.fuel())
	a = append(a, cost...).op(opI32Sub).op(opGlobalSet, m.fuel())
	return a.op(opGlobalGet, m.fuel()).i32(0).op(opI32LtS).op(opIf, uint32(void)).
		op(opCall, m.refill()).
		op(opEnd)
}

// typed is an added type for addedFunc.
func (m *module) typed(binary string) func() uint32 {
	return func() uint32 { return m.addedType(binary) }
}

// asm is code in the making.
type asm []byte

func (a asm) op(code byte, immediates ...uint32) asm {
	a = append(a, code)
	for _, i := range immediates {
		a = uleb(a, i)
	}
	return a
}

func (a asm) bulk(sub uint32, immediates ...uint32) asm {
	return append(a.op(prefixBulk, sub), asm{}.imm(immediates...)...)
}

func (a asm) imm(immediates ...uint32) asm {
	for _, i := range immediates {
		a = uleb(a, i)
	}
	return a
}

// ifOf is an if of a function type.
func (a asm) ifOf(typ uint32) asm { return sleb(append(a, opIf), int64(typ)) }

func (a asm) i32(v int32) asm { return sleb(append(a, opI32Const), int64(v)) }
