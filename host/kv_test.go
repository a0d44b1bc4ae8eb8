package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestDurableValuesAreKeptBetweenRuns(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{KV: true})
	kv := &values{}
	got, _ := makeCalls(t, h, jobhost.Call{KV: kv},
		call{F: "kv_get", A: "page"}, call{F: "kv_list"}, call{F: "kv_set", A: "page", B: "7"}, call{F: "kv_set", A: "page/é", B: ""},
		call{F: "kv_set", A: "<other>", B: "x"}, call{F: "kv_get", A: "page"}, call{F: "kv_get", A: "page/é"})
	want := []result{{N: -1}, {2, "[]"}, {}, {}, {}, {1, "7"}, {}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	got, _ = makeCalls(t, h, jobhost.Call{KV: kv},
		call{F: "kv_list"}, call{F: "kv_list", A: "page"}, call{F: "kv_delete", A: "page"}, call{F: "kv_delete", A: "page"},
		call{F: "kv_get", A: "page"}, call{F: "kv_list", A: "page"})
	const all, pages, left = `["<other>","page","page/é"]`, `["page","page/é"]`, `["page/é"]`
	want = []result{{int64(len(all)), all}, {int64(len(pages)), pages}, {}, {}, {N: -1}, {int64(len(left)), left}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

func TestDurableValuesHaveLimits(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{KV: true})
	got, s := makeCalls(t, h, jobhost.Call{KV: &values{}},
		call{F: "kv_set", A: "k", Grow: abi.MaxKey}, call{F: "kv_set", A: "k", Grow: abi.MaxKey + 1},
		call{F: "kv_get", A: "k", Grow: abi.MaxKey + 1}, call{F: "kv_delete", A: "k", Grow: abi.MaxKey + 1}, call{F: "kv_list", A: "k", Grow: abi.MaxKey + 1},
		call{F: "kv_set"}, call{F: "kv_get"}, call{F: "kv_delete"})
	if diff := cmp.Diff(numbers(got), []int64{0, -3, -3, -3, -3, -4, -4, -4}); diff != "" {
		t.Error(diff)
	}
	if s.text() != "" {
		t.Errorf("log is %q", s.text())
	}
	var calls []call
	for i := range 16 { // a value of the full length that fits 15 times with the keys
		calls = append(calls, call{F: "kv_set", A: "", B: "v", Grow: abi.MaxValue})
		calls[i].A = string(rune('a' + i))
		calls[i].Grow = 1
		calls[i].B = strings.Repeat("v", abi.MaxValue)
	}
	data := make([]int64, 15, 16)
	h2 := caller(t, host.Defaults(), host.Grant{KV: true})
	kv := &values{}
	for i, c := range calls { // the data of one run is limited, too
		got, _ := makeCalls(t, h2, jobhost.Call{KV: kv}, c)
		if want := append(data, -7)[i]; got[0].N != want {
			t.Errorf("value %d: got %d, want %d", i, got[0].N, want)
		}
	}
}

// Pointers, lengths and text that only a hand-made guest gives.
func TestKeysAndValuesAreChecked(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("k\xff"))
	const over = abi.MaxValue + 1
	calls := [][]byte{
		g.call("kv_set", 16, 2, 0, 0), g.call("kv_set", outside, 32, 0, 0), g.call("kv_set", 16, 1, 2*page-1, 2), g.call("kv_set", 16, 1, 0, over),
		g.call("kv_get", 17, 1, 0, 0), g.call("kv_get", 16, 1, outside, 32), g.call("kv_get", 16, 1, outside, 0),
		g.call("kv_delete", 17, 1), g.call("kv_list", 17, 1, 0, 0), g.call("kv_list", outside, 0, 0, 0), g.call("kv_list", 16, 1, outside, 32),
	}
	var code []byte
	for i, c := range calls {
		code = append(code, store(int32(1024+4*i), c)...)
	}
	cfg := host.Defaults()
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "guest", KV: true}}
	g.Data(512, iovec(1024, uint32(4*len(calls))))
	h := newHost(t, cfg, map[string][]byte{"guest": g.reactor(code, g.call("fd_write", 2, 512, 1, 520), drop, g.nibbles(1024, len(calls)))})
	kv := &values{m: map[string]string{"k": "value"}}
	out := h.Run(t.Context(), jobhost.Call{Plugin: "guest", Run: sample(""), KV: kv})
	wantSuccess(t, out)
	want := []int32{-4, -4, -4, -3, -4, -4, 5, -4, -4, -4, -4}
	if diff := cmp.Diff(fromNibbles(out.Output), want); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(kv.m, map[string]string{"k": "value"}); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotGrantedIsSaidOnceInTheLog(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{})
	kv := &values{hook: func(context.Context) error { t.Error("the store was asked"); return nil }}
	got, s := makeCalls(t, h, jobhost.Call{KV: kv},
		call{F: "kv_set", A: "k", B: "v", Times: 100}, call{F: "kv_get", A: "k"}, call{F: "kv_delete", A: "k"}, call{F: "kv_list"})
	for i, n := range numbers(got) {
		if n != int64(abi.Denied) {
			t.Errorf("call %d: got %d", i, n)
		}
	}
	if diff := cmp.Diff(s.text(), "capability_denied: kv_set: durable values are not granted; the grant `kv: true` would do it"); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s.levels, []int{abi.Warn}); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresOfTheStoreAreNumbersToTheGuestAndWordsInTheLog(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{KV: true})
	for name, test := range map[string]struct {
		err  error
		want int64
		log  string
	}{
		"the run is over": {fmt.Errorf("set: %w", jobhost.ErrRunOver), -5, ""},
		"full":            {jobhost.ErrFull, -7, ""},
		"anything else":   {errors.New("disk: no space left"), -6, "kv_set failed: disk: no space left"},
	} {
		t.Run(name, func(t *testing.T) {
			kv := &values{hook: func(context.Context) error { return test.err }}
			got, s := makeCalls(t, h, jobhost.Call{KV: kv}, call{F: "kv_set", A: "k", B: "v", Times: 3})
			if diff := cmp.Diff(numbers(got), []int64{test.want, test.want, test.want}); diff != "" {
				t.Error(diff)
			}
			if s.text() != test.log {
				t.Errorf("log is %q", s.text())
			}
		})
	}
	t.Run("no store", func(t *testing.T) {
		got, s := makeCalls(t, h, jobhost.Call{}, call{F: "kv_get", A: "k"})
		if got[0].N != -6 || s.text() != "kv_get failed: there is no store for durable values here" {
			t.Errorf("got %v, log %q", got, s.text())
		}
	})
}

// A store that waits must not keep other guests from computing: while every slot's guest waits for it, one more computes.
func TestAGuestThatWaitsForTheStoreHoldsNoComputeSlot(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("k"))
	cfg := host.Defaults()
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "waits", KV: true}}
	h := newHost(t, cfg, map[string][]byte{
		"waits": g.reactor(g.call("kv_delete", 16, 1)), "computes": newGuest().reactor(zero),
	})
	const many = 64 // more than there are processors
	arrived, leave := make(chan struct{}, many), make(chan struct{})
	kv := &values{hook: func(context.Context) error { arrived <- struct{}{}; <-leave; return nil }}
	outs := make(chan jobhost.Outcome, many)
	for range many {
		go func() { outs <- h.Run(t.Context(), jobhost.Call{Plugin: "waits", Run: sample(""), KV: kv}) }()
	}
	for range many {
		<-arrived
	}
	out, _ := run(t, h, "computes", "")
	wantSuccess(t, out)
	close(leave)
	for range many {
		wantSuccess(t, <-outs)
	}
}

func TestWaitingForTheStoreEndsWithTheRun(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("k"))
	cfg := host.Defaults()
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "guest", KV: true}}
	h := newHost(t, cfg, map[string][]byte{"guest": g.reactor(g.call("kv_delete", 16, 1), drop, forever(), zero)})
	kv := &values{hook: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }}
	begun, limit := time.Now(), 50*time.Millisecond
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, &jobhost.Error{Code: jobhost.TimedOut, Msg: "the run exceeded its time limit"})
	defer cancel()
	out := h.Run(ctx, jobhost.Call{Plugin: "guest", Run: sample(""), KV: kv})
	wantTimeout(t, out)
	if late := time.Since(begun) - limit; late > allowance(t) {
		t.Errorf("the run ended %v after its limit", late)
	}
}

func TestDurableValuesCanBeSetAfterTheRequestToStop(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("k"))
	cfg := host.Defaults()
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "guest", KV: true}}
	h := newHost(t, cfg, map[string][]byte{"guest": g.reactor(g.call("cancelled"), wasmtest.Op(wasmtest.I32Eqz), g.call("kv_set", 16, 1, 16, 1), wasmtest.Op(0x72))})
	stop := make(chan struct{})
	close(stop)
	kv := &values{}
	wantSuccess(t, h.Run(t.Context(), jobhost.Call{Plugin: "guest", Run: sample(""), KV: kv, Stop: stop}))
	if diff := cmp.Diff(kv.m, map[string]string{"k": "k"}); diff != "" {
		t.Error(diff)
	}
}

func TestProgressIsToldToTheSink(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{})
	_, s := makeCalls(t, h, jobhost.Call{}, call{F: "progress", N: 3, M: 10, A: "pages"}, call{F: "progress", N: -1, M: -1},
		call{F: "progress", N: 1 << 60, A: "é", Grow: abi.MaxProgress})
	want := []string{"3/10 pages", "0/0 ", "1152921504606846976/0 " + strings.Repeat("é", abi.MaxProgress/2)}
	if diff := cmp.Diff(s.progress, want); diff != "" {
		t.Error(diff)
	}
}
