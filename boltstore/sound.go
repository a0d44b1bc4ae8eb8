package boltstore

import (
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
