//go:build !(linux || darwin)

package host

import "errors"

// region is memory on the Go heap, which moves as it grows.
type region struct {
	heap []byte
	most uint64
}

// share is for systems on which a mapping can be cleaned.
func (*image) share() error { return errors.ErrUnsupported }

func (r *region) reserve(_ *image, most uint64) error {
	r.most = most
	return nil
}

func (r *region) grow(size uint64) error {
	if uint64(cap(r.heap)) < size {
		bigger := make([]byte, size, min(r.most, size+size/4))
		copy(bigger, r.heap)
		r.heap = bigger
	}
	r.heap = r.heap[:size]
	return nil
}

func (r *region) bytes(size uint64) []byte { return r.heap[:size] }

func (*image) unshare() {}

func (*region) clean(*image) bool { return false }

func (r *region) free() { r.heap = nil }
