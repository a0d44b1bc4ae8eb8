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

	image    *image
	compiled wazero.CompiledModule
	err      error         // why there is no compiled module
	done     chan struct{} // closed once compiled or err is set

	refs int // guarded by modules.mu
}

// modules keeps the compiled modules by digest and counts who uses them.
type modules struct {
	building sync.WaitGroup // compilations; see Host.Close

	mu       sync.Mutex
	byDigest map[string]*module
}

// get returns the module of a digest and counts one more user of it. The first one to ask has it compiled with build,
// which goes on when ctx ends, since a compilation cannot be interrupted: then get returns the cause at once. After an
// error there is no user to count.
func (ms *modules) get(ctx context.Context, digest string, build func(*module) error) (*module, error) {
	ms.mu.Lock()
	m, known := ms.byDigest[digest]
	if !known {
		m = &module{digest: digest, done: make(chan struct{}), refs: 1} // the compilation itself
		ms.byDigest[digest] = m
		ms.building.Go(func() {
			m.err = build(m)
			close(m.done)
			ms.put(context.WithoutCancel(ctx), m)
		})
	}
	m.refs++
	ms.mu.Unlock()
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

// find returns the module of a digest if it is there and compiled, and counts one more user of it.
func (ms *modules) find(digest string) *module {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.byDigest[digest]
	if m == nil {
		return nil
	}
	select {
	case <-m.done:
	default:
		return nil
	}
	if m.err != nil {
		return nil
	}
	m.refs++
	return m
}

// close frees what the modules that are still used have taken of the system. Nothing may run any more.
func (ms *modules) close() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.byDigest {
		if m.image != nil {
			m.image.close()
		}
	}
}

// wanted reports whether anybody but its compilation uses a module.
func (ms *modules) wanted(m *module) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return m.refs > 1
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
		m.image.close()
	}
}
