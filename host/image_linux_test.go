package host

import (
	"testing"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host/instrument"
)

func TestThePoolIsBounded(t *testing.T) {
	all := &pool{}
	ours, theirs := newImage(all, instrument.Image{}), newImage(all, instrument.Image{Data: []byte("data")})
	use := func(i *image, most uint64, n int) {
		var taken []*mapping
		for range n {
			m, err := all.take(i, most)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.grow(abi.PageSize); err != nil {
				t.Fatal(err)
			}
			taken = append(taken, m)
		}
		for _, m := range taken {
			all.put(m)
		}
	}
	use(ours, 1<<20, mostIdle+5)
	if n := len(all.idle); n != mostIdle {
		t.Errorf("%d mappings are kept, want %d", n, mostIdle)
	}
	use(theirs, 4<<30, 3)
	if n := len(all.idle); n != mostIdleBytes>>32 {
		t.Errorf("%d mappings of 4 GiB are kept, want %d", n, mostIdleBytes>>32)
	}
	use(ours, 1<<20, 1)
	theirs.close()
	if n := len(all.idle); n != 1 || all.idle[0].image != ours {
		t.Errorf("%d mappings are kept, want the one of the module that is left", n)
	}
	ours.close()
	if n := len(all.idle); n != 0 {
		t.Errorf("%d mappings are kept of modules that are gone", n)
	}
}
