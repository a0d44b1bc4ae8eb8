package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/jobhost/jobhost/abi"
)

// features are what a module may use: WebAssembly 2.0, and what the instrumentation understands beyond it.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// openRuntime makes the runtime and gives it the host functions.
func (h *Host) openRuntime(ctx context.Context) error {
	var err error
	if h.cache, err = openCache(ctx, h.cfg.Cache, h.log); err != nil {
		return err
	}
	config := wazero.NewRuntimeConfigCompiler()
	if err := compilerWorks(ctx); err != nil {
		h.log.WarnContext(ctx, "plugins are interpreted, 30 to 90 times slower: this system cannot run compiled code",
			slog.String("reason", err.Error()))
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCoreFeatures(features).WithDebugInfoEnabled(false)
	h.rt = wazero.NewRuntimeWithConfig(ctx, h.cache.use(config))
	return h.linkAll(ctx)
}

// compilerWorks tries the compiler with the smallest program there is: it may be absent for this processor, and the
// system may forbid executable memory.
func compilerWorks(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer func() { err = errors.Join(err, rt.Close(ctx)) }()
	const start = "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x08\x01\x00" + "\x0a\x04\x01\x02\x00\x0b"
	_, err = rt.Instantiate(ctx, []byte(start))
	return err
}

// compilers bounds what compilations that go on at the same time take. A channel holds a token for each of them.
type compilers struct {
	any   chan struct{} // as many as there are processors
	large chan struct{} // one of those that may take much memory, or that the process has died in
}

func newCompilers() compilers {
	return compilers{any: make(chan struct{}, runtime.NumCPU()), large: make(chan struct{}, 1)}
}

// largeCompile is the memory from which on a compilation is a large one: 256 MiB, more than usual guests in Go may take.
const largeCompile = 256 << 20

// enter takes a token. It returns false, without one, when ctx ends first.
func enter(ctx context.Context, tokens chan struct{}) bool {
	select {
	case tokens <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// errUnwanted is that of a compilation which nobody waits for any more.
var errUnwanted = errors.New("nobody waits for it any more")

// compile makes a module out of a file's bytes. It waits for its turn until the host closes.
func (h *Host) compile(m *module, bin []byte) (err error) {
	if !enter(h.ctx, h.compilers.any) {
		return context.Cause(h.ctx)
	}
	defer func() { <-h.compilers.any }()
	if !h.modules.wanted(m) {
		return errUnwanted
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the runtime cannot compile it: %w", recovered(p))
		}
	}()
	f, err := parse(bin)
	if err != nil {
		return err
	}
	if ps := h.problems(f, h.mostMemory()); len(ps) > 0 {
		return errors.New(strings.Join(ps, "; "))
	}
	m.kind = kindOf(f)
	m.least = f.Memories[0].Min * abi.PageSize
	ready, err := h.cache.instrumented(h.ctx, m.digest, func() (metered, error) { return meterModule(bin) })
	if err != nil {
		return err
	}
	if m.compiled, err = h.translate(m.digest, ready); err != nil {
		return err
	}
	m.image = newImage(&h.memories, ready.image)
	return nil
}

// translate has an instrumented module compiled by the runtime.
func (h *Host) translate(digest string, ready metered) (wazero.CompiledModule, error) {
	deaths, err := h.cache.deaths(digest)
	if err != nil {
		return nil, err
	}
	if deaths > 0 || ready.memory > largeCompile {
		if !enter(h.ctx, h.compilers.large) {
			return nil, context.Cause(h.ctx)
		}
		defer func() { <-h.compilers.large }()
	}
	done := h.cache.begin(h.ctx, digest)
	defer done()
	compiled, err := h.cache.compile(h.ctx, h.rt, digest, ready.module)
	if err != nil {
		return nil, fmt.Errorf("the runtime refuses it: %w", err)
	}
	return compiled, nil
}

// tooLate is what somebody gets who no longer waits for a compilation, since ctx ended first.
func tooLate(ctx context.Context, file string) error {
	return fmt.Errorf("%s: it was still being compiled, so no run has begun: %w", file, context.Cause(ctx))
}

// mostMemory is the highest memory limit that a run of any plugin can have.
func (h *Host) mostMemory() uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	most := h.cfg.MaxMemory
	for _, g := range h.grants {
		most = max(most, g.MaxMemory)
	}
	return most
}
