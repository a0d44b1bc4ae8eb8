package host

import (
	"os"
	"slices"
	"sync"

	"github.com/jobhost/jobhost/host/instrument"
)

// image is what the memory of a module's instances holds at first. Where the system can do that it is a file which each
// memory maps privately, so that nothing is copied when an instance is made, and only the pages that its guest writes are
// copied at all. With the pool, a run of a guest in Go that does next to nothing takes 0.75 ms of processor time instead of
// 1.8, and one of a guest in C 36 µs instead of 60 (bench/guests).
type image struct {
	pool   *pool
	offset uint64   // of data in the memory
	data   []byte   // what is copied into each memory; nil: nothing is, or file has it
	file   *os.File // with whole pages of the system; nil: there is none
	view   []byte   // its content, which can only be read
	start  uint64   // of it in the memory
}

func newImage(p *pool, from instrument.Image) *image {
	i := &image{pool: p, offset: uint64(from.Offset), data: from.Data}
	if len(i.data) > 0 && i.share() == nil {
		i.data = nil
	}
	return i
}

// close frees the image and the mappings of it. No run may have one. A second call does nothing.
func (i *image) close() {
	i.pool.drop(func(m *mapping) bool { return m.image == i })
	if i.file != nil {
		i.unshare()
		i.file = nil
	}
}

// mapping is address space for a linear memory, which is as new: it holds the image, and zeros.
type mapping struct {
	region

	image *image
	most  uint64 // bytes
}

// The bounds of what a pool keeps. Each mapping may have some memory too (mostKept), 32 MiB in all with pages of 4 KiB,
// which count to no run's.
const (
	mostIdle      = 16
	mostIdleBytes = 8 << 30
)

// pool keeps mappings from one run to the next of the same module with the same limit. To clean one is cheaper than to
// unmap it and to map another. No run ever sees what another one wrote.
type pool struct {
	mu   sync.Mutex
	idle []*mapping // the one used last is the last
}

// take returns a clean mapping for at most so many bytes.
func (p *pool) take(i *image, most uint64) (*mapping, error) {
	if m := p.reuse(i, most); m != nil {
		return m, nil
	}
	m := &mapping{image: i, most: most}
	err := m.reserve(i, most)
	if err != nil { // the address space may be bounded, and the pool have all of it
		p.drop(func(*mapping) bool { return true })
		err = m.reserve(i, most)
	}
	return m, err
}

func (p *pool) reuse(i *image, most uint64) *mapping {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, m := range slices.Backward(p.idle) {
		if m.image == i && m.most == most {
			p.idle = slices.Delete(p.idle, at, at+1)
			return m
		}
	}
	return nil
}

// put takes a mapping back whose guest is over. One that cannot be cleaned is freed, and so are the oldest when there are
// too many.
func (p *pool) put(m *mapping) {
	if !m.clean(m.image) {
		m.free()
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, m)
	surplus, bytes := len(p.idle), uint64(0)
	for surplus > 0 && len(p.idle)-surplus < mostIdle && bytes+p.idle[surplus-1].most <= mostIdleBytes {
		surplus--
		bytes += p.idle[surplus].most
	}
	old := slices.Clone(p.idle[:surplus])
	p.idle = slices.Delete(p.idle, 0, surplus)
	p.mu.Unlock()
	for _, m := range old {
		m.free()
	}
}

// drop frees the mappings that nobody uses and that are chosen.
func (p *pool) drop(chosen func(*mapping) bool) {
	p.mu.Lock()
	var dropped []*mapping
	p.idle = slices.DeleteFunc(p.idle, func(m *mapping) bool {
		if !chosen(m) {
			return false
		}
		dropped = append(dropped, m)
		return true
	})
	p.mu.Unlock()
	for _, m := range dropped {
		m.free()
	}
}
