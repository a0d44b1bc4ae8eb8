package host

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestASlotIsHandedOnInTurnAfterASlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(1)
		var mu sync.Mutex
		var turns []int
		var guests sync.WaitGroup
		for i := range 3 {
			guests.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond) // they come one after the other
				s := slot{all: all}
				if !s.take(t.Context()) {
					t.Error("no slot")
				}
				for range 3 {
					time.Sleep(slice) // computing
					mu.Lock()
					turns = append(turns, i)
					mu.Unlock()
					if !s.handOn(t.Context(), time.Now()) {
						t.Error("no slot again")
					}
				}
				s.give()
			})
		}
		guests.Wait()
		for i, who := range turns {
			if who != i%3 {
				t.Fatalf("the turns were %v", turns)
			}
		}
	})
}

func TestASlotIsKeptWithinItsSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(1)
		s, other := slot{all: all}, slot{all: all}
		s.take(t.Context())
		got := make(chan bool)
		go func() { got <- other.take(t.Context()) }()
		synctest.Wait()
		time.Sleep(slice - 1)
		s.handOn(t.Context(), time.Now())
		synctest.Wait()
		select {
		case <-got:
			t.Error("the slot was handed on before its slice was over")
		default:
		}
		s.give()
		if !<-got {
			t.Error("no slot")
		}
		other.give()
	})
}

func TestWaitingForASlotEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(1)
		s, other := slot{all: all}, slot{all: all}
		s.take(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if other.take(ctx) {
			t.Error("there were two slots")
		}
		other.give() // has none, so nothing happens
		s.give()
		if !other.take(t.Context()) {
			t.Error("the slot is lost")
		}
		other.give()
	})
}

func TestASlotIsLentDuringALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(1)
		s, other := slot{all: all}, slot{all: all}
		s.take(t.Context())

		s.begin()
		time.Sleep(patience - 1)
		if len(all.free) != 1 {
			t.Error("the slot was lent during a short call")
		}
		if !s.end(t.Context()) {
			t.Error("no slot after a short call")
		}

		s.begin()
		time.Sleep(10 * patience)
		if !other.take(t.Context()) {
			t.Fatal("nobody else gets a slot during a long call")
		}
		time.AfterFunc(time.Second, other.give)
		begun := time.Now()
		if !s.end(t.Context()) || time.Since(begun) != time.Second {
			t.Errorf("the slot came back after %v", time.Since(begun))
		}

		s.begin()
		time.Sleep(10 * patience)
		other.take(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s.end(ctx) {
			t.Error("a run that has ended got its slot back")
		}
		s.give()
		other.give()
		if len(all.free) != 0 {
			t.Error("a slot is lost")
		}
	})
}
