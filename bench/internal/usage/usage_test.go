//go:build linux

package usage

import (
	"os"
	"testing"
	"time"
)

func TestAProcessIsTheSameByItsId(t *testing.T) {
	for began := time.Now(); Self.CPU() < 50*time.Millisecond; {
		if time.Since(began) > time.Minute {
			t.Fatal("computing takes no processor time")
		}
	}
	own, other := Self.CPU(), Process(os.Getpid()).CPU()
	if d := own - other; d < -2*tick || d > 2*tick {
		t.Errorf("used %v, and by its id %v", own, other)
	}
	a, err := Self.Resident()
	if err != nil {
		t.Fatal(err)
	}
	if a < 1<<20 {
		t.Errorf("holds %v bytes of memory", a)
	}
}

func TestTheHeapHoldsWhatIsHeld(t *testing.T) {
	before := Heap()
	held := make([]byte, 64<<20)
	if got := Heap() - before; got < 64<<20 {
		t.Errorf("the heap grew by %v bytes", got)
	}
	held[0] = 1
}
