package boltstore

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const minSize = 4 << 20

// limits keeps a part of the file for what makes room again or ends what was begun. Without it a full file could
// record no outcome and delete nothing, since bbolt writes new pages before it frees old ones.
type limits struct {
	file int // most bytes of the file; 0: no limit
	step int // how much the file grows at once; 0: see growth
	soft int // most bytes in use after a transaction that begins something new
}

func newLimits(maxSize int64) (limits, error) {
	if maxSize == 0 {
		return limits{}, nil
	}
	if maxSize < minSize {
		return limits{}, fmt.Errorf("max size is %d bytes; want at least %d, or 0 for no limit", maxSize, minSize)
	}
	n := int(maxSize)
	step := min(n/32, 16<<20)
	return limits{file: n, step: step, soft: n - n/8 - step}, nil
}

// growth is how much a file of some size grows at once: as long as there is no limit little while it is small, and
// 16 MiB in the end.
func (l limits) growth(size int64) int {
	if l.step > 0 {
		return l.step
	}
	return int(min(max(size/4, 64<<10), 16<<20))
}

// used is how many bytes are in use, as a transaction sees the file. Pages that wait for older transactions to end
// count as free.
func used(db *bolt.DB, b *bolt.Tx) int {
	s := db.Stats()
	return int(b.Size()) - (s.FreePageN+s.PendingPageN)*db.Info().PageSize
}

// check refuses a transaction that begins something new while little room is left.
func (l limits) check(db *bolt.DB, t *tx) error {
	if l.file == 0 || !t.begins {
		return nil
	}
	if n := used(db, t.b); n+t.written > l.soft {
		return fmt.Errorf("%d of %d bytes are in use: %w", n, l.file, bolterrors.ErrMaxSizeReached)
	}
	return nil
}
