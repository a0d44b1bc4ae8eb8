package host

import (
	"errors"
	"syscall"
)

// region is address space that is reserved at once and becomes memory as it grows.
type region struct{ mapped []byte }

// share is for systems on which a mapping can be cleaned.
func (*image) share() error { return errors.ErrUnsupported }

func (r *region) reserve(_ *image, most uint64) (err error) {
	r.mapped, err = syscall.Mmap(-1, 0, int(most), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON) //nolint:gosec // at most 4 GiB
	return err
}

func (r *region) grow(size uint64) error {
	return syscall.Mprotect(r.mapped[:size], syscall.PROT_READ|syscall.PROT_WRITE)
}

func (r *region) bytes(size uint64) []byte { return r.mapped[:size:size] }

func (*image) unshare() {}

func (*region) clean(*image) bool { return false }

// free unmaps the region. The only error would be that it is no mapping, which cannot be.
func (r *region) free() {
	_ = syscall.Munmap(r.mapped)
	r.mapped = nil
}
