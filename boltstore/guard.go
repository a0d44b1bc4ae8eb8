package boltstore

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// A file can be damaged while it is open: a disk fails, somebody cuts the file. bbolt reads it through memory, where that
// is a fault or a panic. Here it becomes an error, and nothing more is written to that file by this process. What can
// still be read, can be read.

// harm is what is known of the file's damage.
type harm struct {
	found atomic.Pointer[error]
	stuck atomic.Bool // bbolt left its locks behind and cannot be used at all
}

// err is the damage that was found; nil: none.
func (h *harm) err() error {
	if e := h.found.Load(); e != nil {
		return *e
	}
	return nil
}

// guarded calls f. When the file proves damaged on the way that is its error, and the damage is noted.
func (h *harm) guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	over := false
	defer func() {
		if over || !ofFile() {
			return // the panic of a caller's own function goes on
		}
		found := damaged("a page of it cannot be read: %v", recover())
		h.found.CompareAndSwap(nil, &found)
		err = found
	}()
	err = f()
	over = true
	return err
}

// ofFile reports whether the panic that goes on comes from reading the file, and not from the function that was given to
// read it: the first frame that is neither of the runtime nor of the standard library is bbolt's or of this package.
func ofFile() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])]) // above this function and the deferred one
	for {
		f, more := frames.Next()
		pkg := packageOf(f.Function)
		switch {
		case strings.HasPrefix(pkg, "go.etcd.io/bbolt"):
			return true
		case pkg == here:
			return !strings.HasSuffix(f.File, "_test.go")
		case strings.Contains(pkg, "."), pkg == "main", !more: // the standard library has no dots
			return false
		}
	}
}

// here is this package's path.
var here = func() string {
	pc, _, _, _ := runtime.Caller(0)
	return packageOf(runtime.FuncForPC(pc).Name())
}()

// packageOf is the path in front of a function's name.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

// begin begins a transaction of bbolt. A panic in there leaves locks behind that nobody can release.
func (s *Store) begin(writable bool) (*bolt.Tx, error) {
	if s.harm.stuck.Load() {
		return nil, s.harm.err()
	}
	done := false
	defer func() {
		if !done {
			s.harm.stuck.Store(true)
		}
	}()
	b, err := s.db.Begin(writable)
	done = true
	return b, err
}

// reading calls f in a transaction that only reads.
func (s *Store) reading(f func(*bolt.Tx) error) error {
	return s.harm.guarded(func() error {
		b, err := s.begin(false)
		if err != nil {
			return err
		}
		defer b.Rollback() //nolint:errcheck // it only reads
		return f(b)
	})
}

// writing calls f in a transaction and commits it, unless damage of the file is known. bbolt's Update would after a panic
// walk through the whole file, on a goroutine where the next panic ends the process.
func (s *Store) writing(f func(*bolt.Tx) error) error {
	if err := s.harm.err(); err != nil {
		return fmt.Errorf("nothing more is written: %w", err)
	}
	return s.harm.guarded(func() error {
		b, err := s.begin(true)
		if err != nil {
			return err
		}
		defer b.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if err := f(b); err != nil {
			return err
		}
		return b.Commit()
	})
}

// shut closes the file. A bbolt that left its locks behind would wait for them, so only the file's lock is given back.
func (s *Store) shut() error {
	if s.harm.stuck.Load() {
		return s.file.Close()
	}
	return s.db.Close()
}
