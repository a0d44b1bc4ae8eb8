package host

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// nameCost is what a new name in a folder is taken for. Without it a run could fill a disk with empty files.
const nameCost = 4 << 10

var errSpent = errors.New("the run may write no more")

// budget is how many bytes a run may still write in a folder. It is counted up and never down, so that it does not depend on
// what others do there.
type budget struct {
	limit, spent int64 // of no limit, 0
}

// left is how much of n bytes may be written.
func (b *budget) left(n int64) int64 {
	if b.limit == 0 {
		return n
	}
	return min(n, b.limit-b.spent)
}

// spend takes n bytes, which are not more than are left.
func (b *budget) spend(n int64) {
	if b.limit > 0 {
		b.spent += n
	}
}

// pay makes a change that takes n bytes, if they are left.
func (j *jail) pay(n int64, change func() error) error {
	if j.budget.left(n) < n {
		return errSpent
	}
	err := change()
	if err == nil {
		j.budget.spend(n)
	}
	return err
}

// write writes as much of b as may be written, at least a byte. The gap is what lies between the end of the file and the place
// that is written to.
func (f *jailFile) write(b []byte, at func() (int64, error), write func([]byte) (int, error)) (int, sys.Errno) {
	return f.transfer(b, true, func(b []byte) (int, error) {
		if f.j.budget.limit == 0 || len(b) == 0 {
			return write(b)
		}
		offset, err := at()
		if err != nil {
			return 0, err
		}
		st, err := f.f.Stat()
		if err != nil {
			return 0, err
		}
		gap := max(0, offset-st.Size())
		room := f.j.budget.left(gap+int64(len(b))) - gap
		if room <= 0 {
			return 0, errSpent
		}
		n, err := write(b[:room])
		if n > 0 {
			f.j.budget.spend(gap + int64(n))
		}
		return n, err
	})
}

// errno translates an error of the os package, or of the budget, and notes that there is no space: the runtime knows no number
// for that.
func (j *jail) errno(err error) sys.Errno {
	switch {
	case escapes(err):
		return sys.EPERM
	case errors.Is(err, errSpent):
		j.r.denied("max_written of "+j.guest, fmt.Sprintf("%s: the run has used up its max_written, which is %s", j.guest, size(uint64(j.budget.limit)))) //nolint:gosec // more than 0
		j.r.noSpace = true
		return sys.EIO
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		j.r.noSpace = true
	}
	return sys.UnwrapOSError(err)
}
