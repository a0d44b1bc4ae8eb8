package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	bolt "go.etcd.io/bbolt"
)

// Compaction says what one came to: the size of the file before and after it, in bytes.
type Compaction struct{ Before, After int64 }

// The sizes of a compaction.
const (
	compactMin   = 64 << 20 // of a file that is worth it where nothing else is said
	compactBatch = 4 << 20  // bytes between two commits
)

// compactSuffix is added to a file's name for what is to replace it.
const compactSuffix = ".compact"

// Compact rewrites the file at path, which no process may have open, without the pages that are free. It writes a new
// file beside the old one, brings it to the disk, compares both record by record, and only then puts it in the old one's
// place, in one step: whenever the machine stops, one whole file is there. It needs as much room as the records take.
//
// Progress, which may be nil, is told now and then how many bytes are copied, and about how many there are. The end of
// ctx ends the work, before the files are exchanged. Errors leave the old file as it was; their codes are
// [jobhost.StoreUnreachable], for a file that is in use (see [InUse]) or no store of this or an older format, and
// [jobhost.StoreFull].
func Compact(ctx context.Context, path string, progress func(done, total int64)) (Compaction, error) {
	const op = "boltstore.compact"
	if _, err := os.Stat(path); err != nil { //nolint:gosec // the operator names the file; opening would make it
		return Compaction{}, unreachable(op, path, err, "")
	}
	db, f, err := openFile(path, bolt.Options{Timeout: lockTimeout})
	if err != nil {
		return Compaction{}, unreachable(op, path, err, mend(err))
	}
	s := &Store{db: db, file: f, path: path}
	if err := s.reading(func(b *bolt.Tx) error {
		have, err := today().of(b)
		if err == nil && have == 0 {
			err = errors.New("the file is empty")
		}
		return err
	}); err != nil {
		return Compaction{}, errors.Join(unreachable(op, path, err, mend(err)), s.shut())
	}
	return s.compact(ctx, progress)
}

// wasteful reports whether enough of the file is free for a compaction.
func (s *Store) wasteful(cfg Config) bool {
	info, err := os.Stat(s.path)
	if cfg.CompactMin == 0 {
		cfg.CompactMin = compactMin
	}
	if err != nil || cfg.CompactAbove == 0 || info.Size() < cfg.CompactMin {
		return false
	}
	var free float64
	err = s.reading(func(b *bolt.Tx) error {
		free = 1 - float64(used(s.db, b))/float64(info.Size())
		return nil
	})
	return err == nil && free >= cfg.CompactAbove
}

// compact replaces the file by one without free pages, and closes the store.
func (s *Store) compact(ctx context.Context, progress func(done, total int64)) (c Compaction, err error) {
	err = s.replace(ctx, &c, progress)
	if err = errors.Join(err, s.shut()); err == nil || ctx.Err() != nil {
		return c, err
	}
	return c, s.failure("boltstore.compact", err)
}

func (s *Store) replace(ctx context.Context, c *Compaction, progress func(done, total int64)) (err error) {
	path, err := realPath(s.path)
	if err != nil {
		return err
	}
	old, err := os.Stat(path)
	if err != nil {
		return err
	}
	c.Before = old.Size()
	fresh := path + compactSuffix
	forgetCompaction(path)
	defer func() {
		if err != nil {
			_ = os.Remove(fresh) // it is of no use, and the error has been found
		}
	}()
	if err := s.reading(func(b *bolt.Tx) error {
		w := copier{total: int64(used(s.db, b)), progress: progress}
		if err := w.copy(ctx, fresh, b); err != nil {
			return err
		}
		return compare(ctx, fresh, b)
	}); err != nil {
		return err
	}
	if err := keepOwner(fresh, old); err != nil {
		return err
	}
	now, err := os.Stat(fresh)
	if err != nil {
		return err
	}
	c.After = now.Size()
	if runtime.GOOS == "windows" { // where a file that is open cannot be replaced; elsewhere it stays locked
		if err := s.shut(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// forgetCompaction removes what a compaction that was killed has left. The caller has the lock.
func forgetCompaction(path string) {
	if target, err := realPath(path); err == nil {
		_ = os.Remove(target + compactSuffix) //nolint:gosec // the operator names the file; mostly it is not there
	}
}

// copier copies all records to a new file.
type copier struct {
	progress func(done, total int64)
	total    int64
	done     int64
	dst      *bolt.DB
	to       *bolt.Tx
	since    int // bytes since the last commit
}

func (w *copier) copy(ctx context.Context, path string, from *bolt.Tx) (err error) {
	w.dst, err = bolt.Open(path, 0o600, &bolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
		PageSize: from.DB().Info().PageSize, InitialMmapSize: reserve(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.dst.Close()) }()
	if w.to, err = w.dst.Begin(true); err != nil {
		return err
	}
	defer func() {
		if w.to != nil {
			_ = w.to.Rollback() // after a commit there is nothing to roll back, else the file is thrown away
		}
	}()
	if err := from.ForEach(func(name []byte, b *bolt.Bucket) error { return w.bucket(ctx, name, b) }); err != nil {
		return err
	}
	if err := w.to.Commit(); err != nil {
		return err
	}
	return w.dst.Sync()
}

func (w *copier) bucket(ctx context.Context, name []byte, from *bolt.Bucket) error {
	to, err := w.to.CreateBucket(name)
	if err != nil {
		return err
	}
	if err := to.SetSequence(from.Sequence()); err != nil {
		return err
	}
	c := from.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			return fmt.Errorf("bucket %q has a bucket in it; no format has that", name)
		}
		if w.since > compactBatch {
			if err := w.commit(ctx); err != nil {
				return err
			}
			to = w.to.Bucket(name)
		}
		to.FillPercent = filled(name)
		if err := to.Put(k, v); err != nil {
			return err
		}
		w.since += len(k) + len(v)
	}
	return nil
}

// filled is how full the pages of a bucket are left. A full page is split by the next firing that changes it, unless
// what comes goes to the end.
func filled(name []byte) float64 {
	switch string(name) {
	case buckets[bRuns], buckets[bJobRuns], buckets[bLogs], buckets[bOutputs], buckets[bParts]:
		return 1
	}
	return 0.9
}

func (w *copier) commit(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.to.Commit(); err != nil {
		return err
	}
	w.done, w.since = w.done+int64(w.since), 0
	if w.progress != nil {
		w.progress(w.done, max(w.done, w.total))
	}
	w.to, err = w.dst.Begin(true)
	return err
}

// compare opens the new file and wants the very records of the old one in it.
func compare(ctx context.Context, path string, old *bolt.Tx) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, InitialMmapSize: reserve()})
	if err != nil {
		return err
	}
	return errors.Join(db.View(func(fresh *bolt.Tx) error {
		a, b := old.Cursor(), fresh.Cursor()
		n, _ := a.First()
		m, _ := b.First()
		for ; n != nil || m != nil; n, _ = a.Next() {
			if !bytes.Equal(n, m) {
				return errDiffers(n)
			}
			if err := compareBucket(ctx, n, old.Bucket(n), fresh.Bucket(n)); err != nil {
				return err
			}
			m, _ = b.Next()
		}
		return nil
	}), db.Close())
}

func compareBucket(ctx context.Context, name []byte, old, fresh *bolt.Bucket) error {
	if old.Sequence() != fresh.Sequence() {
		return errDiffers(name)
	}
	a, b := old.Cursor(), fresh.Cursor()
	k, v := a.First()
	l, w := b.First()
	for i := 0; k != nil || l != nil; i++ {
		if !bytes.Equal(k, l) || !bytes.Equal(v, w) || (k == nil) != (l == nil) {
			return errDiffers(name)
		}
		if i%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k, v = a.Next()
		l, w = b.Next()
	}
	return nil
}

func errDiffers(bucket []byte) error {
	return fmt.Errorf("the new file differs from the old one in bucket %q; is the disk sound?", bucket)
}
