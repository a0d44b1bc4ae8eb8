package instrument_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/jobhost/jobhost/host/instrument"
)

// features are those that a host turns on.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

var (
	errOverflow = errors.New("the guest's stack is full")
	errEnd      = errors.New("the guest has used enough")
)

// engines are the two engines that wazero has.
var engines = map[string]func() wazero.RuntimeConfig{
	"compiler":    wazero.NewRuntimeConfigCompiler,
	"interpreter": wazero.NewRuntimeConfigInterpreter,
}

// provideTick instantiates the host's function. It is called with the module that ticks.
func provideTick(ctx context.Context, r wazero.Runtime, tick func(m api.Module)) error {
	_, err := r.NewHostModuleBuilder(instrument.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) { tick(m) }), nil, nil).
		Export(instrument.TickFunction).Instantiate(ctx)
	return err
}

// endOnOverflow is the least that a tick does.
func endOnOverflow(m api.Module) {
	if g := m.ExportedGlobal(instrument.StackGlobal); g != nil && int32(g.Get()) < 0 {
		panic(errOverflow)
	}
}

// resetStack lets an instance be used again after a trap.
func resetStack(m api.Module, budget int32) {
	if g, ok := m.ExportedGlobal(instrument.StackGlobal).(api.MutableGlobal); ok {
		g.Set(api.EncodeI32(budget))
	}
}

// usedBy is the fuel that an instance has used.
func usedBy(m api.Module) uint64 {
	return instrument.Used(m.ExportedGlobal(instrument.GrantedGlobal).Get(), m.ExportedGlobal(instrument.FuelGlobal).Get())
}

// outcomeOf puts an error into words that do not depend on instrumentation.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errOverflow) || strings.Contains(err.Error(), "stack overflow"):
		return "trap: stack overflow"
	}
	if _, trap, ok := strings.Cut(err.Error(), "wasm error: "); ok {
		trap, _, _ = strings.Cut(trap, "\n")
		return "trap: " + trap
	}
	return "error"
}

// guest is an instance of a module, instrumented or not, in a runtime of its own. It imports what tests need: env.id,
// which returns its argument, and env.ids, which does so for three.
type guest struct {
	api.Module
	t      testing.TB
	ticks  int    // calls of the host's function
	called int    // calls of env.id and env.ids
	limit  uint64 // the fuel after which a tick ends the guest; 0: none

	release func() // closes the runtime; globals can still be read
}

// start instruments a module and starts a guest. The test ends if that fails.
func start(t testing.TB, bin []byte, cfg instrument.Config) *guest {
	t.Helper()
	r, err := instrument.Instrument(bin, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return startPlain(t, r.Module, wazero.NewRuntimeConfigCompiler())
}

// startPlain starts a module as it is.
func startPlain(t testing.TB, bin []byte, cfg wazero.RuntimeConfig) *guest {
	t.Helper()
	g := &guest{t: t}
	r, release := newRuntime(t, cfg.WithCoreFeatures(features).WithMemoryLimitPages(2048))
	g.release = release
	if err := provideTick(t.Context(), r, g.tick); err != nil {
		t.Fatal(err)
	}
	i32 := []api.ValueType{api.ValueTypeI32}
	i32s := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32}
	count := api.GoFunc(func(context.Context, []uint64) { g.called++ })
	_, err := r.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithGoFunction(count, i32, i32).Export("id").
		NewFunctionBuilder().WithGoFunction(count, i32s, i32s).Export("ids").
		Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g.Module, err = r.InstantiateWithConfig(t.Context(), bin, wazero.NewModuleConfig().WithStartFunctions()); err != nil {
		t.Fatal(err)
	}
	return g
}

// withImage lets the memory of the instances that are made hold an image.
func withImage(ctx context.Context, image instrument.Image) context.Context {
	if image.Data == nil {
		return ctx
	}
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return &imageMemory{image: image}
	}))
}

type imageMemory struct {
	image instrument.Image
	bytes []byte
}

func (m *imageMemory) Reallocate(size uint64) []byte {
	before := m.bytes
	m.bytes = make([]byte, size)
	if before == nil {
		copy(m.bytes[m.image.Offset:], m.image.Data)
	}
	copy(m.bytes, before)
	return m.bytes
}

func (*imageMemory) Free() {}

// newRuntime is a runtime that is closed when the test ends, or before by calling release.
func newRuntime(t testing.TB, cfg wazero.RuntimeConfig) (r wazero.Runtime, release func()) {
	t.Helper()
	r = wazero.NewRuntimeWithConfig(t.Context(), cfg)
	ctx := context.WithoutCancel(t.Context())
	release = func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(release)
	return r, release
}

func (g *guest) tick(m api.Module) {
	g.ticks++
	endOnOverflow(m)
	if g.limit > 0 && usedBy(m) > g.limit {
		panic(errEnd)
	}
}

// call calls an export.
func (g *guest) call(name string, args ...uint64) ([]uint64, error) {
	return g.ExportedFunction(name).Call(g.t.Context(), args...)
}
