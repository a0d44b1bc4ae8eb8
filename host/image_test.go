package host

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host/instrument"
)

// TestNoMemoryHoldsAnythingOfAnotherRun has memories that start, grow, are written and end in any order, with mappings
// that go from one to the next.
func TestNoMemoryHoldsAnythingOfAnotherRun(t *testing.T) {
	const page, most = abi.PageSize, 256 * abi.PageSize
	rapid.Check(t, func(rt *rapid.T) {
		all := &pool{}
		total := &ceiling{limit: 20 * most}
		var images []*image
		var starts [][]byte // what memories begin with
		for range rapid.IntRange(1, 3).Draw(rt, "images") {
			offset := rapid.OneOf(rapid.Uint32Range(0, 10), rapid.Uint32Range(0, 100_000)).Draw(rt, "offset")
			data := make([]byte, rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 40*page)).Draw(rt, "length"))
			for i := range data {
				data[i] = byte(i%251 + 1 + len(images))
			}
			start := append(make([]byte, offset), data...)
			starts = append(starts, append(start, make([]byte, -len(start)&(page-1))...))
			i := &image{pool: all, offset: uint64(offset), data: data} // as where the system has no files in memory
			if rapid.Bool().Draw(rt, "file") {
				i = newImage(all, instrument.Image{Offset: offset, Data: data})
			}
			images = append(images, i)
		}
		type live struct {
			memory memory
			linear *linear
			bytes  []byte
			want   []byte
		}
		var runs []*live
		check := func(r *live) {
			if at := difference(r.bytes, r.want); at >= 0 {
				rt.Fatalf("the memory has %d at %d of %d, want %d", r.bytes[at], at, len(r.want), r.want[at])
			}
		}
		end := func(i int) {
			check(runs[i])
			runs[i].memory.free()
			runs = append(runs[:i], runs[i+1:]...)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"start": func(rt *rapid.T) {
				if len(runs) == 20 {
					rt.Skip("enough")
				}
				i := rapid.IntRange(0, len(images)-1).Draw(rt, "image")
				r := &live{memory: memory{limit: most, total: total, image: images[i]}, want: bytes.Clone(starts[i])}
				r.linear = r.memory.Allocate(0, rapid.SampledFrom([]uint64{most, most / 2}).Draw(rt, "most")).(*linear)
				if r.bytes = r.linear.Reallocate(uint64(len(r.want))); r.bytes == nil {
					rt.Fatal("no memory")
				}
				check(r)
				runs = append(runs, r)
			},
			"write": func(rt *rapid.T) {
				r := oneOf(rt, runs)
				if len(r.want) == 0 {
					rt.Skip("it is empty")
				}
				from := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, len(r.want)-1)).Draw(rt, "from")
				length := rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(1, most), rapid.Just(most)).Draw(rt, "length")
				step := rapid.SampledFrom([]int{1, 4096, 9000}).Draw(rt, "step") // many pages, many ranges
				for at := from; at < min(from+length, len(r.want)); at += step {
					r.bytes[at], r.want[at] = 0xee, 0xee
				}
			},
			"grow": func(rt *rapid.T) {
				r := oneOf(rt, runs)
				size := rapid.IntRange(len(r.want)/page, most/page+1).Draw(rt, "pages") * page
				b := r.linear.Reallocate(uint64(size))
				if (b == nil) != (uint64(size) > r.linear.most) {
					rt.Fatalf("%d bytes of at most %d: %t", size, r.linear.most, b != nil)
				}
				if b != nil {
					r.bytes, r.want = b, append(r.want, make([]byte, size-len(r.want))...)
				}
				check(r)
			},
			"end": func(rt *rapid.T) {
				oneOf(rt, runs)
				end(rapid.IntRange(0, len(runs)-1).Draw(rt, "which"))
			},
		})
		for len(runs) > 0 {
			end(0)
		}
		for _, i := range images {
			i.close()
			i.close() // does nothing
		}
		if n := total.used.Load(); n != 0 || len(all.idle) != 0 {
			rt.Errorf("%d bytes are counted and %d mappings kept though nothing lives", n, len(all.idle))
		}
	})
}

func oneOf[T any](rt *rapid.T, list []T) T {
	if len(list) == 0 {
		rt.Skip("there is none")
	}
	return rapid.SampledFrom(list).Draw(rt, "one")
}

// difference is the first place where two lists differ, or -1.
func difference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
