package instrument_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// growing is a module of tables with such limits, and for each an export that grows it and returns what the guest sees.
func growing(limits [][2]uint32) []byte {
	m := w.New()
	for i, l := range limits {
		m.Table([]byte{w.FuncRef, w.ExternRef}[i%2], l[0], l[1])
	}
	for i := range limits {
		m.Export(fmt.Sprint("grow", i), w.KindFunc, m.Func("i32 -> i32", "",
			w.Op(w.RefNull, uint32([]byte{w.FuncRef, w.ExternRef}[i%2])), w.Op(w.LocalGet, 0), w.Bulk(w.TableGrow, uint32(i))))
		m.Export(fmt.Sprint("size", i), w.KindFunc, m.Func("-> i32", "", w.Bulk(w.TableSize, uint32(i))))
	}
	return m.Bytes()
}

func TestTablesTogetherStayBelowTheCap(t *testing.T) {
	const most = 1000
	rapid.Check(t, func(rt *rapid.T) {
		var limits [][2]uint32
		low := uint32(0)
		for range rapid.IntRange(1, 5).Draw(rt, "tables") {
			l := rapid.Uint32Range(0, 300).Draw(rt, "minimum")
			h := rapid.OneOf(rapid.Just[uint32](0), rapid.Uint32Range(max(l, 1), 400), rapid.Just[uint32](1<<32-1)).Draw(rt, "maximum")
			limits = append(limits, [2]uint32{l, h})
			low += l
		}
		r, err := instrument.Instrument(growing(limits), instrument.Config{Tables: most})
		if low > most {
			if e, ok := errors.AsType[*instrument.Error](err); !ok || e.Kind != instrument.TooLarge {
				rt.Fatalf("%d elements at first: %v, want an error", low, err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		g := startPlain(t, r.Module, engines["interpreter"]())
		sum := uint64(0)
		for i := range limits {
			for step := uint64(512); step > 0; step /= 2 {
				for range 2 {
					if _, err := g.call(fmt.Sprint("grow", i), step); err != nil {
						rt.Fatal(err)
					}
				}
			}
			size, err := g.call(fmt.Sprint("size", i))
			if err != nil {
				rt.Fatal(err)
			}
			sum += size[0]
		}
		if sum > most {
			rt.Fatalf("%d elements after growing, want at most %d", sum, most)
		}
		want := uint64(0)
		for _, l := range limits {
			if l[1] == 0 || want+uint64(l[1]) > most {
				want = most
				break
			}
			want += uint64(l[1])
		}
		if sum < want {
			rt.Fatalf("%d elements after growing, want the %d that are asked for or allowed", sum, want)
		}
	})
}

func TestTooLargeTablesAreRefused(t *testing.T) {
	_, err := instrument.Instrument(growing([][2]uint32{{60_000, 0}, {60_000, 0}}), instrument.Config{})
	const want = "table section: the tables have at least 120000 elements together, at most 100000 are allowed (at byte 40)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHugeTableGrowFails(t *testing.T) {
	g := start(t, growing([][2]uint32{{0, 0}}), instrument.Config{})
	for _, n := range []uint64{100_001, 1 << 28, 1<<32 - 1} {
		if got, err := g.call("grow0", n); err != nil || int32(got[0]) != -1 {
			t.Errorf("growing by %d returns %v, %v; want -1", n, got, err)
		}
	}
	if got, err := g.call("grow0", 100_000); err != nil || got[0] != 0 {
		t.Errorf("growing by 100,000 returns %v, %v; want 0", got, err)
	}
}
