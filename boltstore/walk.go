package boltstore

import (
	"bytes"
	"fmt"
	"io"
)

// walk goes through the pages of a file, each once.
type walk struct {
	f     io.ReaderAt
	page  int
	pages uint64
	seen  []uint64 // a bit a page
	bufs  [deepest + 1][]byte
}

// span is between which keys those of a page have to be: from low on, below high. Nil is no bound.
type span struct{ low, high []byte }

// load reads a page with those that belong to it, into the memory of its depth.
func (w *walk) load(id uint64, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, damaged("page %d is deeper than any tree", id)
	}
	if id < 2 || id >= w.pages {
		return nil, damaged("a page refers to page %d of %d", id, w.pages)
	}
	b := w.bufs[depth]
	if len(b) < w.page {
		b = make([]byte, w.page)
	}
	at := int64(id) * int64(w.page) //nolint:gosec // it is in the file
	if _, err := w.f.ReadAt(b[:w.page], at); err != nil {
		return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	more := uint64(order.Uint32(b[12:]))
	if order.Uint64(b) != id || more >= w.pages-id {
		return nil, damaged("page %d is overwritten", id)
	}
	for i := id; i <= id+more; i++ {
		if w.seen[i/64]&(1<<(i%64)) != 0 {
			return nil, damaged("page %d belongs to two places", i)
		}
		w.seen[i/64] |= 1 << (i % 64)
	}
	if n := (int(more) + 1) * w.page; n > len(b) { //nolint:gosec // less than the file has
		b = make([]byte, n)
	}
	w.bufs[depth] = b
	b = b[:(int(more)+1)*w.page] //nolint:gosec // less than the file has
	if more > 0 {
		if _, err := w.f.ReadAt(b, at); err != nil {
			return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
		}
	}
	return b, nil
}

// tree reads a page and what is below it.
func (w *walk) tree(id uint64, s span, depth int) error {
	b, err := w.load(id, depth)
	if err != nil {
		return err
	}
	switch order.Uint16(b[8:]) {
	case branchPage:
		return w.branch(id, b, s, depth)
	case leafPage:
		return w.leaf(id, b, s, depth)
	}
	return damaged("page %d is overwritten", id)
}

func (w *walk) branch(id uint64, b []byte, s span, depth int) error {
	n := int(order.Uint16(b[10:]))
	if n == 0 {
		return damaged("page %d leads nowhere", id)
	}
	key := func(i int) []byte {
		at := pageHead + i*element
		if at+element > len(b) {
			return nil
		}
		return cut(b, at, order.Uint32(b[at:]), order.Uint32(b[at+4:]))
	}
	at := s
	for i := range n {
		k := key(i)
		if k == nil || !at.has(k) {
			return damaged("page %d is out of order", id)
		}
		below := span{k, s.high}
		if i+1 < n {
			if below.high = key(i + 1); bytes.Compare(below.high, k) <= 0 {
				return damaged("page %d is out of order", id)
			}
		}
		if err := w.tree(order.Uint64(b[pageHead+i*element+8:]), below, depth+1); err != nil {
			return err
		}
		at.low = k
	}
	return nil
}

func (w *walk) leaf(id uint64, b []byte, s span, depth int) error {
	var last []byte
	for i := range int(order.Uint16(b[10:])) {
		at := pageHead + i*element
		if at+element > len(b) {
			return damaged("page %d is overwritten", id)
		}
		flags, pos, ksize, vsize := order.Uint32(b[at:]), order.Uint32(b[at+4:]), order.Uint32(b[at+8:]), order.Uint32(b[at+12:])
		k := cut(b, at, pos, ksize)
		if k == nil || !s.has(k) || last != nil && bytes.Compare(k, last) <= 0 {
			return damaged("page %d is out of order", id)
		}
		v := b[:0]
		if vsize > 0 {
			v = cut(b, at, pos+ksize, vsize)
		}
		if v == nil || flags > isBucket {
			return damaged("page %d is overwritten", id)
		}
		if flags == isBucket {
			if err := w.bucket(id, v, depth); err != nil {
				return err
			}
		}
		last = k
	}
	return nil
}

// bucket reads what a bucket's entry leads to: a tree of its own, or when it is small a leaf in the entry itself.
func (w *walk) bucket(id uint64, v []byte, depth int) error {
	const head = 16 // root page and sequence
	if len(v) < head {
		return damaged("page %d is overwritten", id)
	}
	if root := order.Uint64(v); root != 0 {
		return w.tree(root, span{}, depth+1)
	}
	if v = v[head:]; len(v) < pageHead || order.Uint16(v[8:]) != leafPage || depth >= deepest {
		return damaged("page %d is overwritten", id)
	}
	return w.leaf(id, v, span{}, depth+1)
}

// freelist reads the list of free pages, which only other programs write.
func (w *walk) freelist(id uint64) error {
	b, err := w.load(id, 0)
	if err != nil {
		return err
	}
	n, at := uint64(order.Uint16(b[10:])), uint64(pageHead)
	if n == 0xffff {
		n, at = order.Uint64(b[at:]), at+8
	}
	if order.Uint16(b[8:]) != freelistPage || n > (uint64(len(b))-at)/8 {
		return damaged("page %d is overwritten", id)
	}
	for i := range n {
		free := order.Uint64(b[at+8*i:])
		if free < 2 || free >= w.pages || w.seen[free/64]&(1<<(free%64)) != 0 {
			return damaged("page %d gives page %d of %d for free", id, free, w.pages)
		}
		w.seen[free/64] |= 1 << (free % 64)
	}
	return nil
}

// has reports whether a key may stand there.
func (s span) has(k []byte) bool {
	return bytes.Compare(k, s.low) >= 0 && (s.high == nil || bytes.Compare(k, s.high) < 0)
}

// cut returns the bytes that an element at some place refers to, which are never none; nil if they are not in the page.
func cut(b []byte, at int, pos, size uint32) []byte {
	from := uint64(at) + uint64(pos) //nolint:gosec // it is in the page
	if size == 0 || from+uint64(size) > uint64(len(b)) {
		return nil
	}
	return b[from : from+uint64(size)]
}
