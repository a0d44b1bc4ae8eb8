//go:build linux && !race

// The race detector multiplies the memory that is measured here.

package instrument_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// The environment of a test binary that only compiles one module.
const (
	nastySeed = "NASTY_SEED"
	nastySize = "NASTY_SIZE"
)

// compiled is what such a process reports.
type compiled struct {
	Before, Peak int64 // bytes
	Processor    time.Duration
	Problem      string
}

// TestMain is also the program that compiles one module, so that its memory can be told from that of the tests.
func TestMain(m *testing.M) {
	seed := os.Getenv(nastySeed)
	if seed == "" {
		os.Exit(m.Run())
	}
	s, err := strconv.ParseUint(seed, 10, 64)
	size, err2 := strconv.Atoi(os.Getenv(nastySize))
	if err != nil || err2 != nil {
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(compileNasty(s, size)); err != nil {
		os.Exit(2)
	}
}

func compileNasty(seed uint64, size int) (c compiled) {
	r, err := instrument.Instrument(nasty(seed, size), instrument.Config{Late: 1})
	if err != nil {
		return compiled{Problem: err.Error()}
	}
	c.Before = peak()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features).WithDebugInfoEnabled(false))
	if _, err := rt.CompileModule(ctx, r.Module); err != nil {
		return compiled{Problem: err.Error()}
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return compiled{Problem: err.Error()}
	}
	c.Processor = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	c.Peak = peak()
	return c
}

// peak is the most memory that this process has had, in bytes.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return -1
	}
	return n << 10
}

// TestCompilingTakesNoMoreThanEstimated compiles random nasty modules of a moderate size, each in a process of its own,
// or with JOBHOST_PROOF=1 many that are just allowed.
func TestCompilingTakesNoMoreThanEstimated(t *testing.T) {
	modules, share := 6, int64(16)
	if os.Getenv("JOBHOST_PROOF") != "" {
		modules, share = 100, 1
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(modules) {
		size, stats := justAllowed(t, seed, 768<<20/share, 60*time.Second/time.Duration(share))
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", nastySeed, seed), fmt.Sprintf("%s=%d", nastySize, size))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("module %d of size %d: %v", seed, size, err)
		}
		var got compiled
		if err := json.Unmarshal(out, &got); err != nil || got.Problem != "" {
			t.Fatalf("module %d of size %d: %v, %s", seed, size, err, got.Problem)
		}
		t.Logf("module %d of size %d: %d MiB and %v, estimated %d MiB and %v", seed, size,
			(got.Peak-got.Before)>>20, got.Processor.Round(10*time.Millisecond), stats.CompileMemory>>20, stats.CompileTime.Round(10*time.Millisecond))
		const aside = 32 << 20 // what any process takes
		if took := got.Peak - got.Before; took > stats.CompileMemory*11/10+aside {
			t.Errorf("module %d of size %d took %d MiB, estimated %d MiB", seed, size, took>>20, stats.CompileMemory>>20)
		}
		if got.Processor > 3*stats.CompileTime+2*time.Second { // the machine may be slow, and the collector works beside
			t.Errorf("module %d of size %d took %v, estimated %v", seed, size, got.Processor, stats.CompileTime)
		}
	}
}

// justAllowed finds the largest size of a nasty module that stays within these estimates.
func justAllowed(t *testing.T, seed uint64, memory int64, within time.Duration) (size int, stats instrument.Stats) {
	t.Helper()
	fits := func(size int) (instrument.Stats, bool) {
		r, err := instrument.Instrument(nasty(seed, size), instrument.Config{Late: 1})
		return r.Stats, err == nil && r.Stats.CompileMemory <= memory && r.Stats.CompileTime <= within
	}
	low, high := 0, 16
	for {
		if _, ok := fits(high); !ok || high > 1<<21 {
			break
		}
		low, high = high, 2*high
	}
	for high-low > 1+low/32 {
		if _, ok := fits((low + high) / 2); ok {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	stats, _ = fits(low)
	return low, stats
}

// nasty makes a function out of few sorts of phrases that each are known to cost much, in turn, so many times.
func nasty(seed uint64, size int) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	m := w.New()
	m.Memory(1, 10)
	m.Table(w.FuncRef, 2, 0)
	m.Global(w.I32, w.I32Const(0))
	values := []int{0, 1, 10, 100, 900}[random.IntN(5)]
	list := strings.Repeat("i32 ", values)
	m.Func("i32 "+list+"-> "+list, "", w.Op(w.Unreachable))
	locals := []int{1, 10, 100, 1000, 5000}[random.IntN(5)]
	opened := []int{1, 2, 20, 200}[random.IntN(4)]
	n := uint32(0)
	local := func(op byte) []byte {
		n++
		return w.Op(op, 1+n*7%uint32(locals))
	}
	zero := func() []byte { return w.Op(w.LocalGet, 0) }
	address := func() []byte { n++; return slices.Concat(zero(), w.I32Const(int32(n)), []byte{w.I32Add}) }
	alive := 0
	phrases := []func() []byte{
		func() []byte {
			return slices.Concat(local(w.LocalGet), local(w.LocalGet), []byte{w.I32Add}, local(w.LocalSet))
		},
		func() []byte { return slices.Concat(local(w.LocalGet), w.Op(w.GlobalSet, 0)) },
		func() []byte { return slices.Concat(address(), w.Op(w.I32Load, 2, 0), local(w.LocalSet)) },
		func() []byte { return slices.Concat(address(), local(w.LocalGet), w.Op(w.I32Store, 2, 0)) },
		func() []byte { return slices.Concat(local(w.LocalGet), zero(), []byte{0x6d}, local(w.LocalSet)) },
		func() []byte { return slices.Concat(zero(), []byte{0xb7, 0xaa}, local(w.LocalSet)) },
		func() []byte {
			return slices.Concat(local(w.LocalGet), w.Op(w.If, w.Void), zero(), local(w.LocalSet), w.Op(w.End))
		},
		func() []byte { return slices.Concat(local(w.LocalGet), w.Op(w.BrIf, uint32(opened))) },
		func() []byte {
			return slices.Concat(local(w.LocalGet), zero(), []byte{w.I32Add}, local(w.LocalTee), w.Op(w.BrIf, 0))
		},
		func() []byte {
			return slices.Concat(w.Op(w.Loop, w.Void), local(w.LocalGet), zero(), []byte{w.I32Add}, local(w.LocalTee), w.Op(w.BrIf, 0), w.Op(w.End))
		},
		func() []byte { return slices.Concat(w.Op(w.Block, w.Void), w.Op(w.End)) },
		func() []byte {
			return slices.Concat(zero(), repeated(values, zero()), w.Op(w.Call, 0), repeated(values, []byte{w.Drop}))
		},
		func() []byte { return slices.Concat(zero(), w.Op(w.CallIndirect, m.Type("->"), 0)) },
		func() []byte { return slices.Concat(zero(), zero(), address(), w.Bulk(w.MemoryFill, 0)) },
		func() []byte { return slices.Concat(zero(), zero(), address(), w.Bulk(w.MemoryCopy, 0, 0)) },
		func() []byte {
			return slices.Concat(zero(), w.Op(w.RefNull, uint32(w.FuncRef)), zero(), w.Bulk(w.TableFill, 0))
		},
		func() []byte {
			return slices.Concat(w.Op(w.Block, w.Void), local(w.LocalGet), []byte{w.BrTable}, w.U32(8),
				[]byte{0, 1, 0, 1, 0, 1, 0, 1, 0}, w.Op(w.End))
		},
		func() []byte { alive++; return slices.Concat(zero(), w.I32Const(int32(alive)), []byte{w.I32Add}) },
	}
	if seed%2 == 0 { // the table is late, unless its functions are of other types
		m.Elements(0, m.Func("->", ""))
	}
	kinds := make([]func() []byte, 1+random.IntN(4))
	for i := range kinds {
		kinds[i] = phrases[random.IntN(len(phrases))]
	}
	code := slices.Concat([]byte{1}, w.U32(uint32(locals)), []byte{w.I32}, w.Op(w.Block, w.Void), repeated(opened, w.Op(w.Loop, w.Void)))
	for i := range size {
		code = append(code, kinds[i%len(kinds)]()...)
	}
	code = append(code, repeated(alive, []byte{w.Drop})...)
	code = append(code, repeated(opened+1, w.Op(w.End))...)
	m.RawFunc(m.Type("i32 ->"), append(code, w.End))
	return m.Bytes()
}
