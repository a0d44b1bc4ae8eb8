//go:build !(linux || darwin)

package host

// region is memory on the Go heap, which moves as it grows.
type region struct{ heap []byte }

func (r *region) grow(size, most uint64) error {
	if uint64(cap(r.heap)) < size {
		bigger := make([]byte, size, min(most, size+size/4))
		copy(bigger, r.heap)
		r.heap = bigger
	}
	r.heap = r.heap[:size]
	return nil
}

func (r *region) bytes(size uint64) []byte {
	if r.heap == nil {
		return []byte{}
	}
	return r.heap[:size]
}

func (r *region) free() { r.heap = nil }
