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
	step int // how much the file grows at once
	soft int // most bytes in use after a transaction that begins something new
}

func newLimits(maxSize int64) (limits, error) {
	if maxSize == 0 {
		return limits{step: 16 << 20}, nil
	}
	if maxSize < minSize {
		return limits{}, fmt.Errorf("max size is %d bytes; want at least %d, or 0 for no limit", maxSize, minSize)
	}
	n := int(maxSize)
	step := min(n/32, 16<<20)
	return limits{file: n, step: step, soft: n - n/8 - step}, nil
}

// check refuses a transaction that begins something new while little room is left.
func (l limits) check(db *bolt.DB, t *tx) error {
	if l.file == 0 || !t.begins {
		return nil
	}
	s := db.Stats()
	used := int(t.b.Size()) - (s.FreePageN+s.PendingPageN)*db.Info().PageSize
	if used+t.written > l.soft {
		return fmt.Errorf("%d of %d bytes are in use: %w", used, l.file, bolterrors.ErrMaxSizeReached)
	}
	return nil
}
