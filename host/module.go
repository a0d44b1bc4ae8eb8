package host

import (
	"context"
	"sync"

	"github.com/tetratelabs/wazero"
)

// module is a compiled module. Files with equal bytes share one, and so do the runs of all of them.
type module struct {
	digest string // SHA-256 of the file's bytes, in hexadecimal
	kind   string
	least  uint64 // bytes of memory that it starts with

	compiled wazero.CompiledModule
	err      error         // why there is no compiled module
	done     chan struct{} // closed once compiled or err is set

	refs int // guarded by modules.mu
}

// modules keeps the compiled modules by digest and counts who uses them.
type modules struct {
	mu       sync.Mutex
	byDigest map[string]*module
}

// get returns the module of a digest and counts one more user of it. The first one to ask compiles it with build,
// others wait. After an error there is no user to count.
func (ms *modules) get(ctx context.Context, digest string, build func(*module) error) (*module, error) {
	ms.mu.Lock()
	m, known := ms.byDigest[digest]
	if !known {
		m = &module{digest: digest, done: make(chan struct{})}
		ms.byDigest[digest] = m
	}
	m.refs++
	ms.mu.Unlock()
	if !known {
		m.err = build(m)
		close(m.done)
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		ms.put(ctx, m)
		return nil, context.Cause(ctx)
	}
	if m.err != nil {
		ms.put(ctx, m)
		return nil, m.err
	}
	return m, nil
}

// hold counts one more user of a module that has one already.
func (ms *modules) hold(m *module) {
	ms.mu.Lock()
	m.refs++
	ms.mu.Unlock()
}

// put ends one use. The last one frees the compiled code.
func (ms *modules) put(ctx context.Context, m *module) {
	ms.mu.Lock()
	m.refs--
	last := m.refs == 0
	if last {
		delete(ms.byDigest, m.digest)
	}
	ms.mu.Unlock()
	if last && m.compiled != nil {
		_ = m.compiled.Close(context.WithoutCancel(ctx)) // it has no error to give
	}
}
