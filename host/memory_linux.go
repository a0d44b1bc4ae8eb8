package host

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// region is address space that is reserved at once and becomes memory as it grows.
type region struct {
	mapped []byte
	usable uint64 // bytes that can be read and written
	used   uint64 // of those, what the guest has had
	cleans int
	dirty  [64]pageRange // where clean puts what it finds
}

// share puts the image into a file that nobody can change any more.
func (i *image) share() error {
	const name, flags = "jobhost-image", unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return err
	}
	page := uint64(os.Getpagesize()) //nolint:gosec // positive
	i.file = os.NewFile(uintptr(fd), name)
	i.start = i.offset / page * page
	length := (i.offset - i.start + uint64(len(i.data)) + page - 1) / page * page
	_, err = i.file.WriteAt(i.data, int64(i.offset-i.start)) //nolint:gosec // less than a page
	if err == nil {
		err = i.file.Truncate(int64(length)) //nolint:gosec // at most 4 GiB
	}
	if err == nil {
		_, err = unix.FcntlInt(i.file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err == nil {
		i.view, err = unix.Mmap(int(i.file.Fd()), 0, int(length), unix.PROT_READ, unix.MAP_PRIVATE) //nolint:gosec // at most 4 GiB
	}
	if err != nil {
		err = errors.Join(err, i.file.Close())
		i.file = nil
	}
	return err
}

// unshare is the reverse of share. It has no errors to give: nothing was written since, and the view is a mapping.
func (i *image) unshare() {
	_ = i.file.Close()
	_ = unix.Munmap(i.view)
}

// reserve maps the image in its place. Nothing can be used yet.
func (r *region) reserve(i *image, most uint64) error {
	mapped, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON) //nolint:gosec // at most 4 GiB
	if err != nil {
		return err
	}
	if i.file != nil {
		place := mapped[i.start:][:len(i.view)]
		_, err = unix.MmapPtr(int(i.file.Fd()), 0, unsafe.Pointer(&place[0]), uintptr(len(place)), //nolint:gosec // the place is ours
			unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	}
	if err != nil {
		return errors.Join(err, unix.Munmap(mapped))
	}
	r.mapped = mapped
	return nil
}

func (r *region) grow(size uint64) error {
	if size > r.usable {
		if err := unix.Mprotect(r.mapped[r.usable:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return err
		}
		r.usable = size
	}
	r.used = size
	return nil
}

func (r *region) bytes(size uint64) []byte { return r.mapped[:size:size] }

const (
	mostKept   = 512 // pages that stay in memory when a region is cleaned
	dropsEvery = 256 // cleanings after which none does, since guests may have stopped to use what a former one did
)

// clean brings back the image and zeros. The first pages that were written stay and are written again: a guest in Go
// writes about 190, mostly the same each time, and for the system to drop them and to make them again costs five times as
// much. The others are dropped.
func (r *region) clean(i *image) bool {
	kept := uint64(0)
	if r.cleans++; r.cleans%dropsEvery != 0 {
		var n int
		n, kept = dirtyPages(r.mapped[:r.used], r.dirty[:], mostKept)
		for _, d := range r.dirty[:n] {
			i.restore(r.mapped, d.start, d.end)
		}
	}
	if kept < r.used && unix.Madvise(r.mapped[kept:r.used], unix.MADV_DONTNEED) != nil {
		return false // for example since all memory of the process is locked
	}
	r.used = 0
	return true
}

// restore writes into a part of a memory what it held at first.
func (i *image) restore(memory []byte, from, to uint64) {
	first, last := min(max(from, i.start), to), max(min(to, i.start+uint64(len(i.view))), from)
	if first >= last {
		clear(memory[from:to])
		return
	}
	clear(memory[from:first])
	copy(memory[first:last], i.view[first-i.start:])
	clear(memory[last:to])
}

// free unmaps the region. The only error would be that it is no mapping, which cannot be.
func (r *region) free() {
	_ = unix.Munmap(r.mapped)
	*r = region{}
}
