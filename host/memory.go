package host

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// ceiling bounds the sum of the memory of all runs.
type ceiling struct {
	limit uint64
	used  atomic.Uint64
}

// take reserves n bytes, or returns false when that would pass the limit.
func (c *ceiling) take(n uint64) bool {
	if c.used.Add(n) <= c.limit {
		return true
	}
	c.give(n)
	return false
}

func (c *ceiling) give(n uint64) { c.used.Add(-n) }

// memory gives one run's guest its linear memory, outside the Go heap where the system can do that, and keeps the
// books: the limit, the peak, and what was refused. It belongs to the run's goroutine.
type memory struct {
	limit   uint64
	total   *ceiling
	image   *image // what it holds at first
	used    uint64
	peak    uint64
	refused uint64 // the size that was asked for when the limit was passed first
	short   bool   // it was refused because of the total, not because of this run's limit
	linear  []*linear
}

// Allocate implements experimental.MemoryAllocator. Nothing is mapped before the first Reallocate.
func (m *memory) Allocate(_, most uint64) experimental.LinearMemory {
	l := &linear{m: m, most: min(most, m.limit)}
	m.linear = append(m.linear, l)
	return l
}

// free gives everything back. Another run may have it next, so this one's guest and all its calls must be over.
func (m *memory) free() {
	for _, l := range m.linear {
		if l.mapping != nil {
			m.image.pool.put(l.mapping)
			l.mapping = nil
		}
		m.total.give(l.size)
		m.used -= l.size
		l.size = 0
	}
}

// refuse records why the guest did not get its memory.
func (m *memory) refuse(size uint64, short bool) {
	if m.refused == 0 {
		m.refused, m.short = size, short
	}
}

// linear is one linear memory. Its address stays the same as it grows.
type linear struct {
	m       *memory
	most    uint64
	mapping *mapping // nil: the memory is empty
	size    uint64
}

// Reallocate implements experimental.LinearMemory: nil when the memory cannot grow to size.
func (l *linear) Reallocate(size uint64) []byte {
	if size > l.most || l.m.used-l.size+size > l.m.limit {
		l.m.refuse(size, false)
		return nil
	}
	if size > l.size {
		if !l.m.total.take(size - l.size) {
			l.m.refuse(size, true)
			return nil
		}
		if err := l.grow(size); err != nil {
			l.m.total.give(size - l.size)
			l.m.refuse(size, true)
			return nil
		}
		l.m.used += size - l.size
		l.m.peak = max(l.m.peak, l.m.used)
		l.size = size
	}
	if l.mapping == nil {
		return []byte{}
	}
	return l.mapping.bytes(size)
}

func (l *linear) grow(size uint64) error {
	first := l.mapping == nil
	if first {
		var err error
		if l.mapping, err = l.m.image.pool.take(l.m.image, l.most); err != nil {
			l.mapping = nil
			return err
		}
	}
	err := l.mapping.grow(size)
	if image := l.m.image; err == nil && first && len(image.data) > 0 {
		copy(l.mapping.bytes(size)[image.offset:], image.data)
	}
	return err
}

// Free implements experimental.LinearMemory. It does nothing: wazero calls it when the guest asks to exit, which is then
// still on the stack. The run frees its memory when it is over.
func (*linear) Free() {}
