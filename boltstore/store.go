package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	MaxSize     int64         // most bytes of the file, at least 4 MiB; 0: no limit. One that is fuller may grow by what deleting takes
	LockTimeout time.Duration // how long Open waits for another process to let go of the file; 1s if zero
	Report      func(Damage)  // called once for each record that cannot be read, after the transaction; may be nil

	// ReadOnly is for looking: the file must be there and of today's format, several processes may look at the same
	// time, and Update fails.
	ReadOnly bool

	// CompactAbove lets Open rewrite a file of which at least this share is free, as [Compact] does, unless it is smaller
	// than CompactMin. A share is 0 to 1; 0: never. CompactMin is in bytes; 64 MiB if zero.
	CompactAbove float64
	CompactMin   int64
	Compacting   func(done, total int64) // told now and then how far it is, in bytes; may be nil
	Compacted    func(Compaction, error) // told what came of it; one that fails is no failure of Open. May be nil
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
	file   *os.File // that of db
	path   string
	harm   harm
	limits limits
	report func(Damage)
	full   uint32 // how many runs are enough for a segment, see segment.go
	format uint64 // of the file
	writer tx     // used by the one Update that bbolt lets run, so that its memory is used again

	mu   sync.Mutex
	told map[string]bool // damaged records that were reported
}

var _ jobhost.Store = (*Store)(nil)

// Open opens the store in the file at path and makes one when there is none. The file is readable for its owner only
// and belongs to one process at a time. A file of an older format is brought to today's, or stays as it was.
//
// Errors have [jobhost.StoreUnreachable]: another process has the file (see [InUse]), it is damaged or no store (see
// [Damaged]), was written by a newer program, or the system refuses it. A file that is refused is left as it is.
func Open(path string, cfg Config) (*Store, error) { return openAs(path, cfg, today()) }

func openAs(path string, cfg Config, l layout) (*Store, error) {
	s, err := openOnce(path, cfg, l)
	if err != nil {
		return nil, refused("boltstore.open", path, err)
	}
	if cfg.ReadOnly || !s.wasteful(cfg) {
		return s, nil
	}
	c, err := s.compact(context.Background(), cfg.Compacting)
	if cfg.Compacted != nil {
		cfg.Compacted(c, err)
	}
	if s, err = openOnce(path, cfg, l); err != nil {
		return nil, refused("boltstore.open", path, err)
	}
	return s, nil
}

// openOnce opens the file as it is.
func openOnce(path string, cfg Config, l layout) (*Store, error) {
	lim, err := newLimits(cfg.MaxSize)
	if err != nil {
		return nil, err
	}
	if cfg.CompactAbove < 0 || cfg.CompactAbove >= 1 {
		return nil, fmt.Errorf("compact above is %v; want 0 or more and less than 1", cfg.CompactAbove)
	}
	if cfg.LockTimeout == 0 {
		cfg.LockTimeout = lockTimeout
	}
	db, f, err := openFile(path, bolt.Options{Timeout: cfg.LockTimeout, MaxSize: lim.file, ReadOnly: cfg.ReadOnly})
	if err != nil {
		return nil, err
	}
	db.AllocSize = lim.growth(0)
	if err := db.View(func(b *bolt.Tx) error { db.MaxSize = lim.most(used(db, b)); return nil }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{
		db: db, file: f, path: path, limits: lim, report: cfg.Report, full: segmentRuns, format: l.format, told: map[string]bool{},
	}
	err = s.reading(l.check)
	if errors.Is(err, errOlder) && !cfg.ReadOnly {
		err = s.writing(l.prepare)
	}
	if err != nil {
		return nil, errors.Join(err, s.shut())
	}
	if !cfg.ReadOnly {
		forgetCompaction(path)
	}
	return s, nil
}

// refused gives the reason why a file cannot be opened its code.
func refused(op, path string, err error) error {
	return unreachable(op, path, err, mend(err))
}

// mend is what to do about an error of a file.
func mend(err error) string {
	switch {
	case InUse(err):
		return "stop that one, or set store.path to a file of this one's own"
	case Damaged(err):
		return damagedMend
	}
	return ""
}

// Shared is false: only this process sees the file.
func (*Store) Shared() bool { return false }

// Close waits for transactions that are under way and lets go of the file. One that begins later fails with
// [jobhost.StoreUnreachable].
func (s *Store) Close() error { return s.shut() }

// View calls f with what is committed now. A View that lasts keeps the file from using freed space again.
func (s *Store) View(ctx context.Context, f func(jobhost.Tx) error) error {
	return s.read(ctx, "boltstore.view", func(t *tx) error { return f(t) })
}

// read calls f in a transaction that only reads. An error of f is returned as it is.
func (s *Store) read(ctx context.Context, op string, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var t tx
	var own error
	err := s.reading(func(b *bolt.Tx) error {
		t.begin(b, s.full)
		own = f(&t)
		return own
	})
	s.tell(t.damaged)
	if own != nil || err == nil {
		return own
	}
	return s.failure(op, err)
}

// Update calls f once and returns when the change is on the disk.
func (s *Store) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var damaged []Damage
	var own error
	err := s.writing(func(b *bolt.Tx) error {
		t := &s.writer
		t.begin(b, s.full)
		s.db.AllocSize = s.limits.growth(b.Size()) // only a writer looks at it
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
		return unreachable(op, s.path, err, mend(err))
	}
	return &jobhost.Error{
		Code: jobhost.StoreFull, Op: op, Msg: fmt.Sprintf("store %q: %v", s.path, err), Err: err,
		Params: map[string]any{"path": s.path},
		Hint:   "keep less history (history_limit of a job, scheduler.history_retention), delete jobs, raise store.max_size, or make room on the disk",
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
