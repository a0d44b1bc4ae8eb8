package host

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// slice is how long a computing guest keeps its compute slot while others wait for one.
const slice = time.Millisecond

// patience is how long a call to the operating system may take before the run's slot is lent to others.
const patience = time.Millisecond

// slots are the compute slots: as many guests as there are slots compute at the same time, the others wait in the
// order in which they came (ABI 6, "Fair to the host"). Yielding to the Go scheduler alone is not enough: with 32
// spinning guests a ticker would be late by tens of milliseconds.
type slots struct {
	free    chan struct{} // holds a token for each slot in use, so sending takes a slot and receiving gives it back
	waiting atomic.Int32
}

func newSlots(n int) *slots { return &slots{free: make(chan struct{}, n)} }

// slot is one run's place among the slots. All methods but lend's timer are called by the run's goroutine.
type slot struct {
	all   *slots
	since time.Time

	mu     sync.Mutex
	held   bool
	inCall bool // a call of lend is going on
	timer  *time.Timer
}

// take waits for a slot. It returns false, without a slot, when ctx ends first.
func (s *slot) take(ctx context.Context) bool {
	select {
	case s.all.free <- struct{}{}:
	default:
		s.all.waiting.Add(1)
		defer s.all.waiting.Add(-1)
		select {
		case s.all.free <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	s.since = time.Now()
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
	return true
}

// give gives the slot back. It may be called without one.
func (s *slot) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveLocked()
}

func (s *slot) giveLocked() {
	if s.held {
		<-s.all.free // never blocks: our own token is in there
		s.held = false
	}
}

// handOn lets another run compute if one waits and this one has had its slice. It returns false when ctx ended.
func (s *slot) handOn(ctx context.Context, now time.Time) bool {
	if now.Sub(s.since) < slice {
		return true
	}
	if s.all.waiting.Load() == 0 {
		s.since = now
		runtime.Gosched()
		return true
	}
	s.give()
	runtime.Gosched()
	return s.take(ctx)
}

// lend surrounds a call to the operating system: begin before it, end after it. When the call takes long the slot
// goes to others meanwhile, so that a hung network mount does not stop every other guest.
func (s *slot) begin() {
	s.mu.Lock()
	s.inCall = true
	s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(patience, s.overdue)
	} else {
		s.timer.Reset(patience)
	}
}

func (s *slot) overdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inCall {
		s.giveLocked()
	}
}

// end returns false when the slot was lent and ctx ended before there was one again.
func (s *slot) end(ctx context.Context) bool {
	s.timer.Stop()
	s.mu.Lock()
	s.inCall = false
	held := s.held
	s.mu.Unlock()
	return held || s.take(ctx)
}
