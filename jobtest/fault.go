package jobtest

import (
	"context"
	"errors"
	"time"

	"github.com/jobhost/jobhost"
)

// Twice calls every closure of an Update twice, as a store may: what it wrote the first time is rolled back.
func Twice(s jobhost.Store) jobhost.Store { return twice{s} }

type twice struct{ jobhost.Store }

var errAgain = errors.New("once more")

func (s twice) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	err := s.Store.Update(ctx, func(tx jobhost.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	return s.Store.Update(ctx, f)
}

// When says on which side of a commit a crash happens.
type When bool

// The two sides of a commit.
const (
	Before When = false // what was to be committed is lost
	After  When = true  // it was committed, and the caller does not learn it
)

// CrashAt returns a store that fails at its n-th commit, counted from 1, and at every transaction from then on, as if
// the process were gone. An Update whose closure fails is no commit. The store itself stays open; take what it keeps
// to go on with. Updates wait for each other.
func CrashAt(s jobhost.Store, n int, when When) *Crash {
	return &Crash{Store: s, at: n, when: when, turn: make(chan struct{}, 1), crashed: make(chan struct{})}
}

// Crash is a store that crashes, see [CrashAt].
type Crash struct {
	jobhost.Store
	at      int
	when    When
	turn    chan struct{} // holds a token while an Update runs; not a mutex, on which a synctest bubble cannot idle
	commits int           // guarded by turn
	crashed chan struct{}
}

// Crashed is closed when the store has crashed.
func (s *Crash) Crashed() <-chan struct{} { return s.crashed }

// Crash makes the store crash now, unless it has already. It waits for an Update that is under way.
func (s *Crash) Crash() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.over() {
		close(s.crashed)
	}
}

// Commits is how many commits there were. It waits for an Update that is under way.
func (s *Crash) Commits() int {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.commits
}

// View fails once the store has crashed.
func (s *Crash) View(ctx context.Context, f func(jobhost.Tx) error) error {
	if s.over() {
		return errCrashed()
	}
	return s.Store.View(ctx, f)
}

// Update fails at the n-th commit and once the store has crashed.
func (s *Crash) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.over() {
		return errCrashed()
	}
	last := s.commits+1 == s.at
	var crash error
	err := s.Store.Update(ctx, func(tx jobhost.Tx) error {
		crash = nil
		if err := f(tx); err != nil {
			return err
		}
		if last && s.when == Before {
			crash = errCrashed()
		}
		return crash
	})
	if crash == nil && err != nil {
		return err
	}
	if last {
		close(s.crashed)
		return errCrashed()
	}
	s.commits++
	return nil
}

func (s *Crash) over() bool {
	select {
	case <-s.crashed:
		return true
	default:
		return false
	}
}

func errCrashed() error {
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "jobtest.crash", Msg: "the store has crashed"}
}

// Slow returns a store whose commits take d longer, one after the other, like those on a slow disk.
func Slow(s jobhost.Store, d time.Duration) jobhost.Store {
	return slow{s, d, make(chan struct{}, 1)}
}

type slow struct {
	jobhost.Store
	d    time.Duration
	turn chan struct{}
}

func (s slow) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := s.Store.Update(ctx, f); err != nil {
		return err
	}
	time.Sleep(s.d) // the change is not known to be durable before
	return nil
}

// Flaky returns a store that commits every n-th Update and then says that it was unreachable, so that the caller does
// not know what came of it. Updates wait for each other.
func Flaky(s jobhost.Store, n int) jobhost.Store {
	return &flaky{Store: s, every: n, turn: make(chan struct{}, 1)}
}

type flaky struct {
	jobhost.Store
	every   int
	turn    chan struct{}
	commits int // guarded by turn
}

func (s *flaky) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if err := s.Store.Update(ctx, f); err != nil {
		return err
	}
	if s.commits++; s.commits%s.every != 0 {
		return nil
	}
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "jobtest.flaky", Msg: "the connection was lost after the commit"}
}
