package boltstore

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const minSize = 4 << 20

// limits keeps a part of the file for what ends what was begun, and of that a part for what makes room again. Without
// them a full file could record no outcome and delete nothing, since bbolt writes new pages before it frees old ones.
type limits struct {
	file int // most bytes of the file; 0: no limit
	step int // how much the file grows at once; 0: see growth
	soft int // most bytes in use after a transaction that begins something new
	hard int // the same after one that adds to what was begun: logs and outputs
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
	hard := n - n/16 - step
	return limits{file: n, step: step, soft: hard - n/8, hard: hard}, nil
}

// last is what is left to transactions that make room.
func (l limits) last() int { return l.file - l.hard }

// most is how large the file may get, of which n bytes are in use. One that was filled under a larger limit, or before
// there was a reserve, may grow by as much as makes room in it.
func (l limits) most(n int) int {
	if l.file == 0 {
		return 0
	}
	return max(l.file, n+l.last())
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

// check refuses a transaction that begins something new, or adds to it, while little room is left.
func (l limits) check(db *bolt.DB, t *tx) error {
	most := l.soft
	switch {
	case l.file == 0 || !t.begins && !t.adds:
		return nil
	case !t.begins:
		most = l.hard
	}
	if n := used(db, t.b); n+t.written > most {
		return fmt.Errorf("its records take %s, its file %s of at most %s, of which the last %s are kept for what makes room: %w",
			mebibytes(n), mebibytes(int(t.b.Size())), mebibytes(l.file), mebibytes(l.file-most), bolterrors.ErrMaxSizeReached)
	}
	return nil
}

func mebibytes(n int) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
