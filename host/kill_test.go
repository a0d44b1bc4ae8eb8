package host_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// killed is how long after its limit a run may go on (SPEC W1).
const killed = 250 * time.Millisecond

// allowance is killed, and more on a machine that is so busy that even a plain timer is late: four times its worst.
func allowance(t *testing.T) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range runtime.NumCPU() {
		go func() {
			for n := 0; ctx.Err() == nil; n++ {
			}
		}()
	}
	var worst time.Duration
	for range 10 {
		due := time.Now().Add(5 * time.Millisecond)
		<-time.After(time.Until(due))
		worst = max(worst, time.Since(due))
	}
	return killed + 4*worst
}

// runLimited runs a plugin with a limit that the context has too, as an engine does, and fails the test when it ends late
// three times in a row: once can be the machine's fault.
func runLimited(t *testing.T, h *host.Host, plugin, data string, limit time.Duration) (jobhost.Outcome, *sink) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		within := allowance(t)
		s := &sink{}
		begun := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, &jobhost.Error{Code: jobhost.TimedOut, Msg: "the run exceeded its time limit"})
		out := h.Run(ctx, jobhost.Call{Plugin: plugin, Run: sample(data), Sink: s, Deadline: begun.Add(limit)})
		cancel()
		late := time.Since(begun) - limit
		if late <= within {
			return out, s
		}
		t.Logf("the run ended %v after its limit of %v, at most %v are allowed", late, limit, within)
		if attempt == 3 {
			t.Error("the run ended late each time")
			return out, s
		}
	}
}

func wantTimeout(t *testing.T, out jobhost.Outcome) {
	t.Helper()
	if out.Code != jobhost.TimedOut || out.Message != "the run exceeded its time limit" {
		t.Errorf("got %+v, want a time-out", out)
	}
}

// runaways are guests that never end by themselves, each in its own way.
func runaways() map[string][]byte {
	bins := map[string][]byte{}
	add := func(name string, f func(g *guest) []byte) { bins[name] = f(newGuest()) }
	op, i32, i64 := wasmtest.Op, wasmtest.I32Const, wasmtest.I64Const
	add("loop", func(g *guest) []byte { return g.reactor(forever(), zero) })
	add("loop-in-start", func(g *guest) []byte {
		g.Start(g.Func("->", "", forever()))
		return g.reactor(zero)
	})
	add("loop-in-initialize", func(g *guest) []byte {
		g.Export("_initialize", wasmtest.KindFunc, g.Func("->", "", forever()))
		return g.reactor(zero)
	})
	add("calls", func(g *guest) []byte { // k calls k-1 twice
		self := uint32(len(imports))
		again := append(append(append(op(wasmtest.LocalGet, 0), i32(1)...), wasmtest.I32Sub), op(wasmtest.Call, self)...)
		k := g.Func("i32 ->", "", op(wasmtest.LocalGet, 0), op(wasmtest.If, wasmtest.Void), again, again, op(wasmtest.End))
		return g.reactor(i32(45), op(wasmtest.Call, k), zero)
	})
	add("tail-calls", func(g *guest) []byte {
		self := g.Func("->", "", op(wasmtest.ReturnCall, uint32(len(imports))))
		return g.reactor(op(wasmtest.Call, self), zero)
	})
	add("indirect-calls", func(g *guest) []byte {
		g.Table(wasmtest.FuncRef, 1, 0)
		self := g.Func("->", "", i32(0), op(wasmtest.CallIndirect, g.Type("->"), 0), i32(0), op(wasmtest.CallIndirect, g.Type("->"), 0))
		_ = self
		leaf := g.Func("->", "")
		g.Elements(0, leaf)
		return g.reactor(forever(i32(0), op(wasmtest.CallIndirect, g.Type("->"), 0)), zero)
	})
	grow := append(append(i32(1022), op(wasmtest.MemoryGrow, 0)...), drop...)
	add("fill", func(g *guest) []byte {
		return g.reactor(grow, forever(i32(0), i32(1), i32(1024*page), wasmtest.Bulk(wasmtest.MemoryFill, 0)), zero)
	})
	add("copy", func(g *guest) []byte {
		return g.reactor(grow, forever(i32(8), i32(0), i32(1023*page), wasmtest.Bulk(wasmtest.MemoryCopy, 0, 0)), zero)
	})
	add("grow", func(g *guest) []byte { return g.reactor(forever(i32(1), op(wasmtest.MemoryGrow, 0), drop), zero) })
	add("tables", func(g *guest) []byte {
		g.Table(wasmtest.FuncRef, 0, 0)
		return g.reactor(forever(op(wasmtest.RefNull, uint32(wasmtest.FuncRef)), i32(1_000_000), wasmtest.Bulk(wasmtest.TableGrow, 0), drop), zero)
	})
	add("random", func(g *guest) []byte { return g.reactor(grow, forever(g.call("random_get", 0, 1024*page), drop), zero) })
	add("yield", func(g *guest) []byte { return g.reactor(forever(g.call("sched_yield"), drop), zero) })
	add("log", func(g *guest) []byte { return g.reactor(forever(g.call("log", 0, 0, 100)), zero) })
	add("lines", func(g *guest) []byte { // one call that writes 32 million lines
		g.Data(64, iovec(128, 1024*page-128))
		return g.reactor(grow, i32(128), i32('\n'), i32(1024*page-128), wasmtest.Bulk(wasmtest.MemoryFill, 0),
			forever(g.call("fd_write", 2, 64, 1, 96), drop), zero)
	})
	add("pieces", func(g *guest) []byte { // one call with a thousand pieces of 64 MiB
		g.Data(1024, bytes.Repeat(iovec(0, 1024*page), 1024))
		return g.reactor(grow, forever(g.call("fd_write", 2, 1024, 1024, 96), drop), zero)
	})
	add("output-pieces", func(g *guest) []byte {
		g.Data(1024, bytes.Repeat(iovec(0, 1024*page), 1024))
		return g.reactor(grow, forever(g.call("fd_write", 1, 1024, 1024, 96), drop), zero)
	})
	add("paths", func(g *guest) []byte {
		return g.reactor(grow, i32(0), i32('/'), i32(1024*page), wasmtest.Bulk(wasmtest.MemoryFill, 0),
			forever(pathOpen(3, 1024*page), i32(0), g.call("path_open", 128), drop), zero)
	})
	add("wasi-sleep", func(g *guest) []byte {
		g.Data(1024, clockSubscription(1, 1, 3e9, false))
		return g.reactor(g.call("poll_oneoff", 1024, 2048, 1, 4), drop, zero)
	})
	add("wasi-polls", func(g *guest) []byte {
		g.Data(1024, clockSubscription(1, 1, 0, false))
		return g.reactor(forever(g.call("poll_oneoff", 1024, 2048, 1, 4), drop), zero)
	})
	add("sleep", func(g *guest) []byte { return g.reactor(i64(60_000), g.call("sleep_ms"), drop, zero) })
	add("sleeps", func(g *guest) []byte { return g.reactor(forever(i64(1), g.call("sleep_ms"), drop), zero) })
	return bins
}

func TestNoGuestOutlivesItsLimit(t *testing.T) {
	bins := runaways()
	h := newHost(t, host.Defaults(), bins)
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const limit = 300 * time.Millisecond
	numbered := map[string]string{
		"loop": "S-150 FR-33 endless loop", "calls": "FR-35 exponential call tree without a loop",
		"wasi-sleep": "S-151 WASI sleep", "sleep": "S-151 S-152 FR-34 sleep_ms, then success",
	}
	for key := range bins {
		name := key
		if n, ok := numbered[key]; ok {
			name = n
		}
		t.Run(name, func(t *testing.T) {
			out, _ := runLimited(t, h, key, "", limit)
			wantTimeout(t, out)
		})
	}
	t.Run("S-153 the next attempt has the whole limit", func(t *testing.T) {
		first, _ := runLimited(t, h, "loop", "", limit)
		wantTimeout(t, first)
		g := newGuest()
		bin := g.reactor(wasmtest.I64Const(200), g.call("sleep_ms"))
		next := newHost(t, host.Defaults(), map[string][]byte{"next": bin})
		out, _ := runLimited(t, next, "next", "", 10*limit)
		wantSuccess(t, out)
	})
}

func TestGoGuestsAreEndedToo(t *testing.T) {
	h := goCommand(t)
	for name, data := range map[string]string{
		"S-150 computing": `{"do":"spin"}`, "S-151 FR-34 sleeping": `{"do":"sleep","n":60000}`, "allocating": `{"do":"allocate","n":1000000}`,
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := runLimited(t, h, "command", data, 300*time.Millisecond)
			if name == "allocating" && out.Code == jobhost.Unexpected && strings.HasPrefix(out.Message, "out of memory: ") {
				return // it met its other limit first
			}
			wantTimeout(t, out)
		})
	}
}

func TestASuccessAfterTheDeadlineIsATimeout(t *testing.T) {
	t.Run("S-152 the guest returns success after its limit", func(t *testing.T) {
		g := newGuest()
		h := newHost(t, host.Defaults(), map[string][]byte{"p": g.reactor(g.call("log", 0, 0, 0), zero)})
		// The sink holds the guest up past its deadline, in a host function that does not look at the clock.
		out := h.Run(t.Context(), jobhost.Call{Plugin: "p", Run: sample(""), Sink: slow{30 * time.Millisecond}, Deadline: time.Now().Add(10 * time.Millisecond)})
		wantTimeout(t, out)
	})
}

type slow struct{ by time.Duration }

func (s slow) Log(int, string) { <-time.After(s.by) }

func (slow) Progress(int64, int64, string) {}

func TestTheCauseOfTheEndIsTheOutcome(t *testing.T) {
	h := newHost(t, host.Defaults(), map[string][]byte{"loop": runaways()["loop"]})
	for name, test := range map[string]struct {
		cause error
		want  jobhost.Outcome
	}{
		"cancelled":      {&jobhost.Error{Code: jobhost.Canceled, Msg: "the run was cancelled"}, jobhost.Outcome{Code: jobhost.Canceled, Message: "the run was cancelled"}},
		"another code":   {&jobhost.Error{Code: "OTHER", Msg: "because"}, jobhost.Outcome{Code: "OTHER", Message: "because"}},
		"without a code": {context.Canceled, jobhost.Outcome{Code: jobhost.Canceled, Message: "the run was ended: context canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(test.cause) })
			out := h.Run(ctx, jobhost.Call{Plugin: "loop", Run: sample("")})
			if out.Code != test.want.Code || out.Message != test.want.Message {
				t.Errorf("got %+v, want %+v", out, test.want)
			}
		})
	}
}

func TestSleepingGuestsLeaveTheirComputeSlots(t *testing.T) {
	g := newGuest()
	bin := g.reactor(g.call("log", 0, 0, 0), wasmtest.I64Const(3_600_000), g.call("sleep_ms"), drop, zero)
	h := newHost(t, host.Defaults(), map[string][]byte{"sleeper": bin, "quick": says("done")})
	ctx, wake := context.WithCancel(t.Context())
	var sleepers sync.WaitGroup
	for range runtime.NumCPU() + 1 {
		b := &blocker{make(chan struct{}), make(chan struct{})}
		close(b.leave)
		sleepers.Go(func() { h.Run(ctx, jobhost.Call{Plugin: "sleeper", Run: sample(""), Sink: b}) })
		<-b.reached
	}
	out, _ := runLimited(t, h, "quick", "", 10*time.Second)
	wantSuccess(t, out)
	wake()
	sleepers.Wait()
}

func TestFiftyRunawaysAtOnce(t *testing.T) {
	t.Run("FR-33 all of them end, and the host stays awake", func(t *testing.T) {
		h := newHost(t, host.Defaults(), map[string][]byte{"loop": runaways()["loop"], "calls": runaways()["calls"], "fill": runaways()["fill"]})
		within := allowance(t)
		const limit = time.Second
		var runs sync.WaitGroup
		begun := time.Now()
		for i := range 50 {
			runs.Go(func() {
				out := h.Run(context.Background(), jobhost.Call{Plugin: []string{"loop", "calls", "fill"}[i%3], Run: sample(""), Deadline: begun.Add(limit)})
				if late := time.Since(begun) - limit; late > within {
					t.Errorf("run %d ended %v after its limit, at most %v are allowed", i, late, within)
				}
				wantTimeout(t, out)
			})
		}
		var worst, collection time.Duration
		for time.Since(begun) < limit-100*time.Millisecond {
			due := time.Now().Add(10 * time.Millisecond)
			<-time.After(time.Until(due))
			worst = max(worst, time.Since(due))
			if collection == 0 && time.Since(begun) > limit/2 {
				gc := time.Now()
				runtime.GC()
				collection = time.Since(gc)
			}
		}
		runs.Wait()
		t.Logf("a ticker was late by %v at most, a collection took %v", worst, collection)
		if worst > within {
			t.Errorf("a ticker was late by %v, at most %v are allowed", worst, within)
		}
		if collection > 4*within {
			t.Errorf("a garbage collection took %v", collection)
		}
	})
}
