package engine

import "time"

// mostOutcomes and mostCommands bound one turn, so that one commit stays short.
const (
	mostOutcomes = 1000
	mostCommands = 1000
)

// A strain is how much of a turn the store has lately refused, and with that what the next turn is made of. At ease a turn
// has everything: outcomes, commands and claims. Of what the store refuses, outcomes are stored first, for they tell of
// work that is done. On a full store the three take turns, each command alone, so that a command that makes room is not
// refused along with what needs it; and no claim is made as long as an outcome waits.
type strain struct {
	room  room
	split int       // outcomes per turn, and nothing else, while one of them cannot be stored; 0: all can
	apart bool      // the store was full, and no run was claimed since: outcomes, a command and claims take turns
	last  kind      // whose turn the last of those was
	retry time.Time // when outcomes that did not fit are tried again; until then commands go first
}

// A kind is what a turn consists of on a full store.
type kind uint8

const (
	claims kind = iota
	outcomes
	oneCommand
	kinds
)

// A room is what there is in the store, as far as the last turns show.
type room uint8

const (
	ample  room = iota
	tight       // the store was full: outcomes are stored, then room is made
	jammed      // not even outcomes could be stored: room is made first
)

// choose says how many of n outcomes and m commands the next turn takes, and whether it may claim if the engine may.
func (s *strain) choose(n, m int, now time.Time, may bool) (ended, asked int, claim bool) {
	n, m = min(n, mostOutcomes), min(m, mostCommands)
	switch {
	case s.room == jammed:
		return 0, 0, false
	case s.split > 0:
		return min(n, s.split), 0, false
	case s.room == tight:
		return n, 0, false
	case !s.apart:
		return n, m, may
	}
	for range kinds {
		s.last = (s.last + 1) % kinds
		switch {
		case s.last == outcomes && n > 0 && (m == 0 || !now.Before(s.retry)):
			return n, 0, false
		case s.last == oneCommand && m > 0:
			return 0, 1, false
		case s.last == claims && n == 0 && may:
			return 0, 0, true
		}
	}
	return 0, 0, false
}

// wantsRoom reports whether the next turn makes room in the store, and does nothing else if it has nothing to store.
func (s *strain) wantsRoom(nothing bool) bool {
	return s.room == jammed || nothing && (s.room == tight || s.split > 0)
}

// madeRoom notes that room was made as far as it could be.
func (s *strain) madeRoom(next time.Time) {
	if s.room == jammed {
		s.retry = next
	}
	s.room, s.split = ample, 0
}

// overflowed notes that a turn with outcomes or without did not fit into the store.
func (s *strain) overflowed(ended bool) {
	if s.room == tight || s.apart && ended {
		s.room = jammed
	} else {
		s.room = tight
	}
	s.apart = true
}

// stored notes what a turn has stored, and how many outcomes are left.
func (s *strain) stored(commands, runs, left int) {
	if left == 0 {
		s.split = 0
	}
	if commands > 0 {
		s.retry = time.Time{} // one may have made room
	}
	if runs > 0 {
		s.apart = false
	}
}

// halves makes the next turn smaller, since one of n outcomes cannot be stored, and reports whether that was possible.
func (s *strain) halves(n int) bool {
	switch {
	case s.split == 0:
		s.split = n
	case n > 1:
		s.split = (n + 1) / 2
	default:
		return false
	}
	return true
}
