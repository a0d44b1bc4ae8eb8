//go:build unix

package main

import (
	"fmt"
	"sync"
	"time"
)

// starts notes when each of a number of jobs started for the first time.
type starts struct {
	mu   sync.Mutex
	of   []time.Time
	left int
	all  chan struct{} // closed once all have started

	again int // starts of jobs that had started before
}

func newStarts(n int) *starts {
	return &starts{of: make([]time.Time, n), left: n, all: make(chan struct{})}
}

func (s *starts) start(i int) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.of[i].IsZero() {
		s.again++
		return
	}
	s.of[i] = now
	if s.left--; s.left == 0 {
		close(s.all)
	}
}

// wait waits until all have started.
func (s *starts) wait() error {
	select {
	case <-s.all:
		return nil
	case <-time.After(patience):
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d of %d jobs did not start within %v", s.left, len(s.of), patience)
	}
}

// firstAndLast are the earliest and the latest start. A job that starts twice would make the figures wrong.
func (s *starts) firstAndLast() (first, last time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.of {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if s.again > 0 {
		err = fmt.Errorf("%d jobs started twice", s.again)
	}
	return first, last, err
}
