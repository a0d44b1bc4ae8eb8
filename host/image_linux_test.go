package host

import (
	"bytes"
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

// TestACleaningThatKeepsNoPageDropsAll is about each so manieth one, and systems that do not tell which pages were written.
func TestACleaningThatKeepsNoPageDropsAll(t *testing.T) {
	i := newImage(&pool{}, instrument.Image{Offset: 5000, Data: bytes.Repeat([]byte("data"), 5000)})
	defer i.close()
	m, err := i.pool.take(i, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer m.free()
	grown := func() []byte {
		t.Helper()
		if err := m.grow(1 << 20); err != nil {
			t.Fatal(err)
		}
		return m.bytes(1 << 20)
	}
	want := bytes.Clone(grown())
	if !bytes.Equal(want[5000:25_000], bytes.Repeat([]byte("data"), 5000)) {
		t.Fatal("the image is not in the memory")
	}
	for _, cleans := range []int{dropsEvery - 1, 0} {
		m.cleans = cleans
		b := grown()
		for at := range b {
			b[at] = 0xee
		}
		if !m.clean(i) {
			t.Fatal("the mapping cannot be cleaned")
		}
		dirty, told := dirtyPages(m.mapped, m.dirty[:], mostKept)
		if told > 0 && (dirty > 0) != (cleans == 0) {
			t.Errorf("after %d cleanings %d ranges are still the memory's own", cleans, dirty)
		}
		if at := difference(b, want); at >= 0 {
			t.Errorf("after %d cleanings there is %d at %d", cleans, b[at], at)
		}
	}
}
