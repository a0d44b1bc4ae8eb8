package host_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// deepRunaways are further guests that never end: with deep recursion again and again, with all the memory that they can
// get, and one that asks to be told of its end and goes on.
func deepRunaways() map[string][]byte {
	bins := map[string][]byte{}
	op, i32 := wasmtest.Op, wasmtest.I32Const
	g := newGuest()
	again := slices.Concat(op(wasmtest.LocalGet, 0), i32(1), []byte{wasmtest.I32Sub}, op(wasmtest.Call, uint32(len(imports))))
	down := g.Func("i32 ->", "", op(wasmtest.LocalGet, 0), op(wasmtest.If, wasmtest.Void), again, op(wasmtest.End))
	bins["deep-recursion"] = g.reactor(forever(i32(20_000), op(wasmtest.Call, down)), zero)

	g = newGuest()
	grow := slices.Concat(op(wasmtest.Loop, wasmtest.Void), i32(1), op(wasmtest.MemoryGrow, 0), i32(-1), []byte{wasmtest.I32Ne}, op(wasmtest.BrIf, 0), op(wasmtest.End))
	bins["all-memory"] = g.reactor(grow, forever(i32(0), i32(7), i32(64<<20), wasmtest.Bulk(wasmtest.MemoryFill, 0)), zero)

	g = newGuest()
	bins["asks-and-goes-on"] = g.reactor(forever(g.call("cancelled"), drop), zero)

	g = newGuest()
	g.Data(1024, clockSubscription(1, 1, 1e6, false))
	bins["short-polls"] = g.reactor(forever(g.call("poll_oneoff", 1024, 2048, 1, 4), drop), zero)
	return bins
}

func TestNoDeepGuestOutlivesItsLimit(t *testing.T) {
	bins := deepRunaways()
	h := newHost(t, host.Defaults(), bins)
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key := range bins {
		t.Run(key, func(t *testing.T) {
			out, _ := runLimited(t, h, key, "", 300*time.Millisecond)
			wantTimeout(t, out)
		})
	}
}

// TestFiftyOfEachAtOnce has a few of each guest, all at once, or with JOBHOST_PROOF=1 fifty of each after the other and the
// lateness of 99 in 100 as the limit.
func TestFiftyOfEachAtOnce(t *testing.T) {
	bins := runaways()
	maps.Copy(bins, deepRunaways())
	cfg := host.Defaults()
	cfg.MaxTotalMemory = 16 << 30 // address space; the guests touch less
	h := newHost(t, cfg, bins)
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(bins))
	const limit = time.Second
	at := func(keys []string) (late []time.Duration) {
		late = make([]time.Duration, len(keys))
		begun := time.Now()
		var runs sync.WaitGroup
		for i, key := range keys {
			runs.Go(func() {
				out := h.Run(context.Background(), jobhost.Call{Plugin: key, Run: sample(""), Deadline: begun.Add(limit)})
				late[i] = time.Since(begun) - limit
				if out.Code != jobhost.TimedOut {
					t.Errorf("%s: %+v", key, out)
				}
			})
		}
		runs.Wait()
		slices.Sort(late)
		return late
	}
	if !proof() {
		late := at(slices.Concat(keys, keys))
		if worst, within := late[len(late)-1], 2*allowance(t); worst > within {
			t.Errorf("a run ended %v after its limit, at most %v are allowed", worst, within)
		}
		return
	}
	for _, key := range keys {
		var late []time.Duration
		for range 4 {
			late = append(late, at(slices.Repeat([]string{key}, 50))...)
		}
		slices.Sort(late)
		p99 := late[len(late)*99/100]
		t.Logf("FR-33 FR-34 FR-35 %-20s 200 runs, 50 at a time: p50 %v, p99 %v, worst %v", key, late[len(late)/2], p99, late[len(late)-1])
		if p99 > killed {
			t.Errorf("%s: 99 of 100 runs ended within %v after their limit, at most %v are allowed", key, p99, killed)
		}
	}
}
