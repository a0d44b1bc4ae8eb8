//go:build linux || darwin

package host

import "syscall"

// region is address space that is reserved at once and becomes memory as it grows.
type region struct {
	mapped []byte
	usable uint64
}

func (r *region) grow(size, most uint64) error {
	if r.mapped == nil {
		m, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON) //nolint:gosec // at most 4 GiB
		if err != nil {
			return err
		}
		r.mapped = m
	}
	if err := syscall.Mprotect(r.mapped[:size], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		return err
	}
	r.usable = size
	return nil
}

func (r *region) bytes(size uint64) []byte {
	if r.mapped == nil {
		return []byte{}
	}
	return r.mapped[:size:r.usable]
}

// free unmaps the region. The only error would be that it is no mapping, which cannot be.
func (r *region) free() {
	if r.mapped != nil {
		_ = syscall.Munmap(r.mapped)
		*r = region{}
	}
}
