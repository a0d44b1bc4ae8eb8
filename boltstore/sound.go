package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// bbolt trusts its file: a page that is not what it should be ends the process, in part on goroutines of its own where
// nobody can recover. So a file is read as a whole before bbolt gets to write to it or walks through it. That takes about
// as long as bbolt's own walk for the free pages, for which it leaves everything in memory.

var errDamaged = errors.New("the file is damaged")

// Damaged reports whether an error of [Open], [Compact] or a [Store] says that the file itself is damaged, or is no store
// at all, so that only another file helps.
func Damaged(err error) bool { return errors.Is(err, errDamaged) }

// damagedMend is what can be done about such a file.
const damagedMend = "put a backup in its place (see jobhost db backup), or move it away to begin with an empty store"

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// sound locks a file as a reader does and reads it as a whole. It returns which file that was, and nil without an error
// if there is none.
func sound(path string, o bolt.Options) (os.FileInfo, error) {
	var f *os.File
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		ReadOnly: true, Timeout: o.Timeout,
		OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			if f, err = os.OpenFile(name, flag, mode); err != nil {
				return nil, err
			}
			info, err := f.Stat()
			switch {
			case err != nil:
			case info.IsDir():
				err = errors.New("it is a directory")
			case info.Size() == 0:
				err = damaged("it is empty")
			default:
				return f, nil
			}
			return nil, errors.Join(err, f.Close())
		},
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // as said above
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, errInUse
	case f == nil, Damaged(err):
		return nil, err
	case err != nil:
		return nil, noBolt(f.Name(), err)
	}
	info, err := f.Stat()
	if err == nil {
		err = inspect(f, info.Size())
	}
	return info, errors.Join(err, db.Close())
}

// noBolt says what bbolt, which opens no such file, means.
func noBolt(path string, err error) error {
	f, e := os.Open(path)
	if e != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read only
	if info, e := f.Stat(); e == nil && !info.IsDir() {
		if e := inspect(f, info.Size()); e != nil {
			return e
		}
	}
	return err
}

// The form of a bbolt file, in the byte order of the machine.
const (
	pageHead = 16 // id, flags, count, overflow
	element  = 16 // of a branch: pos, key size, page; of a leaf: flags, pos, key size, value size
	metaLen  = 64 // magic, version, page size, flags, root, sequence, freelist, pages, transaction, checksum

	branchPage, leafPage, freelistPage = 1, 2, 16

	isBucket = 1 // flag of an element of a leaf
	magic    = 0xED0CDAED
	deepest  = 64 // a tree of pages that is deeper has a loop
)

var order = binary.NativeEndian

// header is what one of the two meta pages says.
type header struct {
	page                  int64 // size of a page in bytes
	root, freelist, pages uint64
	transaction           uint64
}

// headerAt reads a meta page. Known means that it looks like one, whether it is whole or not.
func headerAt(f io.ReaderAt, at int64) (h header, known, ok bool) {
	b := make([]byte, metaLen)
	if _, err := f.ReadAt(b, at+pageHead); err != nil {
		return h, false, false
	}
	known = order.Uint32(b) == magic
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaLen-8]) // it never fails
	if !known || sum.Sum64() != order.Uint64(b[56:]) {
		return h, known, false
	}
	return header{
		page: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), pages: order.Uint64(b[40:]),
		transaction: order.Uint64(b[48:]),
	}, true, true
}

// current is the header that counts: the newer one of those that are whole. The other one is that of the commit before, and
// may be half written.
func current(f io.ReaderAt) (header, error) {
	h, known, ok := headerAt(f, 0)
	second := h.page
	for size := int64(1 << 10); !ok && size <= 16<<20; size <<= 1 { // bbolt looks there too
		_, knownHere, okHere := headerAt(f, size)
		known = known || knownHere
		if okHere {
			second = size
			break
		}
	}
	other, _, okOther := headerAt(f, second)
	switch {
	case okOther && second > 0 && (!ok || other.transaction > h.transaction):
		h = other
	case !ok && known:
		return h, damaged("its header cannot be read")
	case !ok:
		return h, damaged("it is no store of jobhost, or its beginning is overwritten")
	}
	if h.page < 1<<10 || h.page > 16<<20 || h.page&(h.page-1) != 0 {
		return h, damaged("its header gives pages of %d bytes", h.page)
	}
	return h, nil
}

// inspect reads every page that is in use.
func inspect(f io.ReaderAt, size int64) error {
	h, err := current(f)
	if err != nil {
		return err
	}
	if h.pages > uint64(size/h.page) { //nolint:gosec // sizes of files are positive
		return damaged("it has %d bytes and has to have %d; its end is missing", size, h.pages*uint64(h.page)) //nolint:gosec // checked above
	}
	w := &walk{f: f, page: int(h.page), pages: h.pages, seen: make([]uint64, h.pages/64+1)}
	if err := w.tree(h.root, span{}, 0); err != nil {
		return err
	}
	const none = ^uint64(0)
	if h.freelist != none {
		return w.freelist(h.freelist)
	}
	return nil
}

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
