package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// scribbler is a guest with enough data for an image. It grows its memory, returns 77 if anything in it is not as it must be
// at first, writes over all of it, and ends as the first letter of a key in its input says.
func scribbler(data []byte) []byte {
	const place, grown, size = 1000, 3, 5 << 16
	memory := make([]byte, size)
	copy(memory[place:], data)
	sum := uint64(0)
	for b := range slices.Chunk(memory, 8) {
		sum = sum*31 + binary.LittleEndian.Uint64(b)
	}
	const i64Ne, i64Mul = 0x52, 0x7e
	g := newGuest()
	g.Data(place, data)
	letter := func(c byte, code ...[]byte) []byte {
		return slices.Concat(zero, wasmtest.Op(wasmtest.I32Load8U, 0, 2), wasmtest.I32Const(int32(c)), wasmtest.Op(wasmtest.I32Eq),
			wasmtest.Op(wasmtest.If, wasmtest.Void), slices.Concat(code...), []byte{wasmtest.End})
	}
	return g.reactor(
		wasmtest.I32Const(grown), wasmtest.Op(wasmtest.MemoryGrow, 0), drop,
		wasmtest.Op(wasmtest.Loop, wasmtest.Void), // local 3 becomes the sum, local 0 goes through the memory
		wasmtest.Op(wasmtest.LocalGet, 3), wasmtest.I64Const(31), []byte{i64Mul},
		wasmtest.Op(wasmtest.LocalGet, 0), wasmtest.Op(wasmtest.I64Load, 0, 0), []byte{wasmtest.I64Add}, wasmtest.Op(wasmtest.LocalSet, 3),
		wasmtest.Op(wasmtest.LocalGet, 0), wasmtest.I32Const(8), []byte{wasmtest.I32Add}, wasmtest.Op(wasmtest.LocalTee, 0),
		wasmtest.I32Const(size), []byte{wasmtest.I32LtU}, wasmtest.Op(wasmtest.BrIf, 0), []byte{wasmtest.End},
		wasmtest.Op(wasmtest.LocalGet, 3), wasmtest.I64Const(int64(sum)), []byte{i64Ne},
		wasmtest.Op(wasmtest.If, wasmtest.Void), wasmtest.I32Const(77), []byte{wasmtest.Return, wasmtest.End},
		zero, wasmtest.I32Const(0xee), wasmtest.I32Const(size), wasmtest.Bulk(wasmtest.MemoryFill, 0),
		g.call("input", 0, 100), drop,
		letter('t', []byte{wasmtest.Unreachable}),
		letter('l', forever()),
		letter('e', g.call("proc_exit", 3)),
		letter('x', g.call("proc_exit", 0)),
		zero,
	)
}

func TestARunFindsItsMemoryAsNewHoweverOthersEnded(t *testing.T) {
	h := newHost(t, host.Defaults(), map[string][]byte{
		"a": scribbler(bytes.Repeat([]byte("left"), 20_000)), "b": scribbler(bytes.Repeat([]byte("right"), 15_000)),
		"c": scribbler([]byte("too little for an image")),
	})
	endings := []string{"return", "trap", "exit", "loop", "xit"}
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			for i := range 3 * 5 * 6 {
				plugin, ending := string(rune('a'+i%3)), endings[(i/3+k)%5]
				call := jobhost.Call{Plugin: plugin, Run: sample(fmt.Sprintf("{%q:1}", ending)), Deadline: time.Now().Add(time.Minute)}
				if ending == "loop" {
					call.Deadline = time.Now().Add(20 * time.Millisecond)
				}
				out := h.Run(context.Background(), call)
				want := map[string]jobhost.Code{
					"trap": jobhost.Unexpected, "exit": jobhost.Unexpected, "loop": jobhost.TimedOut,
				}[ending]
				if out.Code != want || strings.Contains(out.Message, "77") {
					t.Errorf("run %d of plugin %s, which is to %s: %+v", i, plugin, ending, out)
				}
			}
		})
	}
	all.Wait()
}

// saysFromImage is says with enough data for an image.
func saysFromImage(s string) []byte {
	g := newGuest()
	g.Data(16, append(bytes.Repeat([]byte("-"), 70_000), s...))
	return g.reactor(g.dump(16+70_000, int32(len(s))))
}

// TestModulesThatDifferOnlyInDataKeepTheirOwn is about modules that are the same to the runtime once their data is out.
func TestModulesThatDifferOnlyInDataKeepTheirOwn(t *testing.T) {
	cfg := host.Defaults()
	cfg.Dir, cfg.Cache = t.TempDir(), filepath.Join(t.TempDir(), "cache")
	texts := map[string]string{"a": "the text of one", "b": "the text of two"}
	for key, text := range texts {
		write(t, filepath.Join(cfg.Dir, key+".wasm"), saysFromImage(text))
	}
	for _, from := range []string{"built", "from the cache"} {
		t.Run(from, func(t *testing.T) {
			h := openHost(t, cfg)
			for range 3 {
				for key, text := range texts {
					wantOutput(t, h, key, text)
				}
			}
		})
	}
	h := openHost(t, cfg)
	if err := os.Remove(filepath.Join(cfg.Dir, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	rescan(t, h)
	wantOutput(t, h, "b", texts["b"])
}
