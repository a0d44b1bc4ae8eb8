package host

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost/host/instrument"
)

// meterVersion changes whenever instrumented modules do.
var meterVersion = strconv.Itoa(instrument.Version)

// metered is an instrumented module.
type metered struct {
	module []byte
	image  instrument.Image // what its memory must hold at first
	memory int64            // bytes that compiling it can take, at most
}

// leastImage is the data from which on it pays to map an image of the memory instead of copying the data.
const leastImage = 64 << 10

// leastLate is how many functions a table has from which on it pays to make the references to them when they are called.
const leastLate = 512

// meterModule instruments a module. It refuses those that would take the host's memory or time to compile.
func meterModule(bin []byte) (metered, error) {
	out, err := instrument.Instrument(bin, instrument.Config{Image: leastImage, Late: leastLate})
	return metered{out.Module, out.Image, out.Stats.CompileMemory}, err
}

// meter reads what a guest has used from the globals that the instrumentation gave it.
type meter struct {
	instance             api.Module
	fuel, granted, stack api.Global
	total                uint64 // fuel used when it was read last
}

// attach finds the globals of an instance. A start function ticks before the instance is known to its run, so the tick
// attaches too.
func (m *meter) attach(instance api.Module) {
	if m.instance != nil {
		return
	}
	m.instance = instance
	m.fuel = instance.ExportedGlobal(instrument.FuelGlobal)
	m.granted = instance.ExportedGlobal(instrument.GrantedGlobal)
	m.stack = instance.ExportedGlobal(instrument.StackGlobal)
}

// read returns the fuel that the guest has used. It is called in a tick or while the guest does not run.
func (m *meter) read() uint64 {
	if m.fuel != nil && m.granted != nil {
		m.total = instrument.Used(m.granted.Get(), m.fuel.Get())
	}
	return m.total
}

// overflowed reports whether the guest has no stack left.
func (m *meter) overflowed() bool { return m.stack != nil && api.DecodeI32(m.stack.Get()) < 0 }

const stackOverflow = "stack overflow: the calls are nested too deeply"

// tick is what instrumented code calls each period, and after each call of a host function. It ends a guest whose run
// has ended or which has used up what it may use, and lets others compute.
func (r *run) tick(instance api.Module) {
	r.meter.attach(instance)
	if r.meter.overflowed() {
		panic(&trapError{kind: stackOverflow, limit: true})
	}
	now := time.Now()
	if r.ended(now) {
		panic(errEnded)
	}
	if most := r.grant.MaxFuel; most > 0 && r.meter.read() > most {
		panic(&trapError{kind: fmt.Sprintf("fuel used up: the limit is %d instructions; raise max_fuel", most), limit: true})
	}
	if !r.slot.handOn(r.ctx, now) {
		panic(errEnded)
	}
}

// linkMeter makes the module of the tick. Guests cannot import it themselves: it is no host function of theirs.
func (h *Host) linkMeter(ctx context.Context) error {
	tick := func(ctx context.Context, m api.Module, _ []uint64) { runOf(ctx).tick(m) }
	_, err := h.rt.NewHostModuleBuilder(instrument.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(tick), nil, nil).Export(instrument.TickFunction).Instantiate(ctx)
	return err
}
