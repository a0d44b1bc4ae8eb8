package memstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jobhost/jobhost"
)

// Config says how a store behaves.
type Config struct {
	Shared bool // several engines use this value at the same time
}

// Store is a [jobhost.Store] in memory. It is safe for concurrent use.
type Store struct {
	shared bool
	now    atomic.Pointer[state] // the last version that was committed; nil once closed

	mu sync.Mutex // held by the one Update that works on the next version
}

var _ jobhost.Store = (*Store)(nil)

// New returns an empty store.
func New(cfg Config) *Store {
	s := &Store{shared: cfg.Shared}
	s.now.Store(newState())
	return s
}

// Shared reports whether the store was made for several engines.
func (s *Store) Shared() bool { return s.shared }

// Close drops everything. A transaction that begins later fails with [jobhost.StoreUnreachable].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Store(nil)
	return nil
}

// View calls f with the last committed version, whatever is committed meanwhile.
func (s *Store) View(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := s.now.Load()
	if now == nil {
		return closed("memstore.view")
	}
	return f(&tx{state: now})
}

// Update calls f once. It waits for an Update that is under way, however ctx fares meanwhile.
func (s *Store) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	if now == nil {
		return closed("memstore.update")
	}
	t := &tx{state: now.next(), writable: true}
	if err := f(t); err != nil {
		return err
	}
	s.now.Store(t.state)
	return nil
}

func closed(op string) error {
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: op, Msg: "the store in memory is closed"}
}

// tx is one transaction. Records in its trees are shared with other versions and never change.
type tx struct {
	*state
	writable bool
}

var _ jobhost.Tx = (*tx)(nil)

var errReadOnly = errors.New("memstore: a View cannot write; use Update")

// writeOf is write for something about a run.
func (t *tx) writeOf(id jobhost.RunID) error {
	if _, err := jobhost.ParseRunID(string(id)); err != nil {
		return err
	}
	return t.write()
}

func (t *tx) write() error {
	if !t.writable {
		return errReadOnly
	}
	return nil
}
