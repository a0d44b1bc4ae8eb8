package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// compile makes a module out of a file's bytes. At most NumCPU compilations go on at the same time.
func (h *Host) compile(ctx context.Context, m *module, bin []byte) (err error) {
	select {
	case h.compiling <- struct{}{}:
		defer func() { <-h.compiling }()
	case <-ctx.Done():
		return context.Cause(ctx)
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
	ready, err := h.cache.instrumented(m.digest, func() ([]byte, error) { return meterModule(bin) })
	if err != nil {
		return err
	}
	m.compiled, err = h.cache.compile(ctx, h.rt, ready)
	if err != nil {
		return fmt.Errorf("the runtime refuses it: %w", err)
	}
	return nil
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
