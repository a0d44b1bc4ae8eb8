package boltstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/jobhost/jobhost"
)

// Config says how a store behaves. Zero means the default.
type Config struct {
	MaxSize     int64         // most bytes of the file, at least 4 MiB; 0: no limit
	LockTimeout time.Duration // how long Open waits for another process to let go of the file; 1s if zero
	Report      func(Damage)  // called once for each record that cannot be read, after the transaction; may be nil
}

// Damage is a record that cannot be read. It is left where it is and left out of every answer.
type Damage struct {
	Bucket string
	Key    []byte
	Err    error // what is wrong with it
}

// Store is a [jobhost.Store] in a file. It is safe for concurrent use.
type Store struct {
	db     *bolt.DB
	path   string
	limits limits
	report func(Damage)
	full   uint32 // how many runs are enough for a segment, see segment.go
	writer tx     // used by the one Update that bbolt lets run, so that its memory is used again

	mu   sync.Mutex
	told map[string]bool // damaged records that were reported
}

var _ jobhost.Store = (*Store)(nil)

// Open opens the store in the file at path and makes one when there is none. The file is readable for its owner only
// and belongs to one process at a time.
//
// Errors have [jobhost.StoreUnreachable]: another process has the file, the file was written by a newer program or is
// no store, or the system refuses it.
func Open(path string, cfg Config) (*Store, error) {
	if cfg.LockTimeout == 0 {
		cfg.LockTimeout = time.Second
	}
	l, err := newLimits(cfg.MaxSize)
	if err != nil {
		return nil, unreachable("boltstore.open", path, err, "")
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: cfg.LockTimeout, FreelistType: bolt.FreelistMapType, NoFreelistSync: true, MaxSize: l.file,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, unreachable("boltstore.open", path, errors.New("another jobhost uses it"),
			"stop that one, or set store.path to a file of this one's own")
	}
	if err != nil {
		return nil, unreachable("boltstore.open", path, err, "")
	}
	db.AllocSize = l.step
	s := &Store{db: db, path: path, limits: l, report: cfg.Report, full: segmentRuns, told: map[string]bool{}}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(unreachable("boltstore.open", path, err, ""), db.Close())
	}
	return s, nil
}

// Shared is false: only this process sees the file.
func (*Store) Shared() bool { return false }

// Close waits for transactions that are under way and lets go of the file. One that begins later fails with
// [jobhost.StoreUnreachable].
func (s *Store) Close() error { return s.db.Close() }

// View calls f with what is committed now. A View that lasts keeps the file from using freed space again, and an
// Update that makes the file grow may have to wait for it.
func (s *Store) View(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var t tx
	var own error
	err := s.db.View(func(b *bolt.Tx) error {
		t.begin(b, s.full)
		own = f(&t)
		return own
	})
	s.tell(t.damaged)
	if own != nil || err == nil {
		return own
	}
	return s.failure("boltstore.view", err)
}

// Update calls f once and returns when the change is on the disk.
func (s *Store) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var damaged []Damage
	var own error
	err := s.db.Update(func(b *bolt.Tx) error {
		t := &s.writer
		t.begin(b, s.full)
		own = f(t)
		damaged = t.damaged
		if own != nil {
			return own
		}
		return s.limits.check(s.db, t)
	})
	s.tell(damaged)
	if own != nil || err == nil {
		return own
	}
	return s.failure("boltstore.update", err)
}

// failure gives an error of bbolt its code. A commit writes the page that makes it count last, so that after any of
// them the store is as it was before, or, when that very write failed, as it was meant to be.
func (s *Store) failure(op string, err error) error {
	if !isFull(err) {
		return unreachable(op, s.path, err, "")
	}
	return &jobhost.Error{
		Code: jobhost.StoreFull, Op: op, Msg: fmt.Sprintf("store %q: %v", s.path, err), Err: err,
		Params: map[string]any{"path": s.path},
		Hint:   "make room on the disk, raise store.max_size, or keep less history",
	}
}

func isFull(err error) bool {
	if errors.Is(err, bolterrors.ErrMaxSizeReached) {
		return true
	}
	for _, no := range []error{syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT} {
		// bbolt keeps only the text of an error when it makes the file larger.
		if errors.Is(err, no) || strings.HasPrefix(err.Error(), "file ") && strings.HasSuffix(err.Error(), no.Error()) {
			return true
		}
	}
	return false
}

func unreachable(op, path string, err error, hint string) error {
	return &jobhost.Error{
		Code: jobhost.StoreUnreachable, Op: op, Msg: fmt.Sprintf("store %q: %v", path, err), Hint: hint, Err: err,
		Params: map[string]any{"path": path},
	}
}

// tell reports what was not reported before.
func (s *Store) tell(damaged []Damage) {
	for _, d := range damaged {
		k := d.Bucket + "/" + string(d.Key)
		s.mu.Lock()
		known := s.told[k]
		s.told[k] = true
		s.mu.Unlock()
		if !known && s.report != nil {
			s.report(d)
		}
	}
}
