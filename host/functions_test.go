package host_test

import (
	"encoding/binary"
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

const (
	outside = -16 // a pointer near the end of the address space
	page    = 64 << 10
)

// dump puts the memory from a place on into the output and succeeds.
func (g *guest) dump(at, size int32) []byte { return append(g.call("output", at, size), zero...) }

// store stores the i32 on the stack at a place; its address comes first, so it is used as store(at, value...).
func store(at int32, value []byte) []byte {
	code := append(wasmtest.I32Const(at), value...)
	return append(code, wasmtest.Op(wasmtest.I32Store, 2, 0)...)
}

func words(b []byte) (out []int32) {
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, int32(binary.LittleEndian.Uint32(b)))
	}
	return out
}

// nibbles puts n numbers that lie from a place on into the output and succeeds. Bytes above 127 would not survive in an
// output, so each number is split into nibbles.
func (g *guest) nibbles(at int32, n int) []byte {
	const text = 2048
	var body []byte
	for i := range n {
		for k := range 8 {
			nibble := wasmtest.Op(wasmtest.I32Load, 2, uint32(at)+uint32(4*i))
			nibble = append(append([]byte{}, wasmtest.I32Const(0)...), nibble...)
			nibble = append(append(nibble, wasmtest.I32Const(int32(4*k))...), 0x76) // i32.shr_u
			nibble = append(append(nibble, wasmtest.I32Const(15)...), 0x71)         // i32.and
			nibble = append(append(nibble, wasmtest.I32Const('A')...), wasmtest.I32Add)
			body = append(body, wasmtest.I32Const(int32(text+8*i+k))...)
			body = append(append(body, nibble...), wasmtest.Op(wasmtest.I32Store8, 0, 0)...)
		}
	}
	return append(body, g.dump(text, int32(8*n))...)
}

// fromNibbles reads what nibbles wrote.
func fromNibbles(text []byte) []int32 {
	bin := make([]byte, len(text)/2)
	for i, c := range text {
		bin[i/2] |= (c - 'A') << (4 * (i % 2))
	}
	return words(bin)
}

// results calls a guest's code that leaves n results of type i32 one after the other at 0, and returns them.
func results(t *testing.T, n int, code func(g *guest) []byte) []int32 {
	t.Helper()
	g := newGuest()
	out, _ := runOnce(t, g.reactor(code(g), g.nibbles(0, n)))
	wantSuccess(t, out)
	return fromNibbles(out.Output)
}

func TestInputIsCopiedOnlyIfItFits(t *testing.T) {
	data := int32(len(`{"name":"world"}`))
	got := results(t, 5, func(g *guest) []byte {
		var code []byte
		for i, args := range [][2]int32{{1024, data}, {1024, data - 1}, {outside, 0}, {outside, data}, {2*page - data + 1, data}} {
			code = append(code, store(int32(4*i), g.call("input", args[0], args[1]))...)
		}
		return code
	})
	if diff := cmp.Diff(got, []int32{data, data, data, int32(abi.BadArgument), int32(abi.BadArgument)}); diff != "" {
		t.Error(diff)
	}
	g := newGuest()
	out, _ := runOnce(t, g.reactor(g.call("input", 1024, 15), drop, g.call("input", 2048, 16), drop, g.dump(1024, 1040)))
	wantSuccess(t, out)
	if got := strings.Trim(string(out.Output), "\x00"); got != `{"name":"world"}` {
		t.Errorf("memory is %q", got)
	}
}

func TestRunDocumentSaysWhatTheRunIs(t *testing.T) {
	g := newGuest()
	h := newHost(t, host.Defaults(), map[string][]byte{"guest": g.reactor(
		g.call("run", 1024, 4096), wasmtest.Op(wasmtest.LocalSet, 0),
		wasmtest.I32Const(1024), wasmtest.Op(wasmtest.LocalGet, 0), g.call("output"), zero,
	)})
	call := jobhost.Call{
		Plugin: "guest", Run: sample(`{"a":1}`), Sink: &sink{}, Traceparent: "00-abc-01",
		Deadline: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond),
	}
	out := h.Run(t.Context(), call)
	wantSuccess(t, out)
	got, err := abi.DecodeRun(out.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := abi.Run{
		ID: string(call.Run.ID), Job: "reports.nightly", Trigger: "workdays", Kind: "Schedule", ScheduledAt: call.Run.ScheduledAt,
		Attempt: 1, Data: call.Run.Data, Deadline: call.Deadline, Node: "n1", Traceparent: "00-abc-01",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

func TestInputWithoutDataIsAnEmptyObject(t *testing.T) {
	g := newGuest()
	h := newHost(t, host.Defaults(), map[string][]byte{"guest": g.reactor(g.call("input", 16, 2), drop, g.dump(16, 2))})
	if out, _ := run(t, h, "guest", ""); string(out.Output) != "{}" {
		t.Errorf("got %+v", out)
	}
}

func TestTheLastOutputWins(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("first second"))
	g.Data(64, iovec(16, 5))
	out, _ := runOnce(t, g.reactor(
		g.call("output", 16, 5), g.call("fd_write", 1, 64, 1, 128), drop, g.call("output", 22, 6), zero,
	))
	if string(out.Output) != "second" {
		t.Errorf("output is %q", out.Output)
	}
}

// iovec is a pointer and a length, as WASI wants them.
func iovec(ptr, size uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, ptr), size)
}

func TestStdoutIsTheOutputOfAReactorToo(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("plain \xff text"))
	g.Data(64, iovec(16, 12))
	out, _ := runOnce(t, g.reactor(g.call("fd_write", 1, 64, 1, 128), drop, zero))
	wantSuccess(t, out)
	if string(out.Output) != "plain \xff text" {
		t.Errorf("output is %q", out.Output)
	}
}

func TestAnOutputOverItsLimitIsCutAndSaysSo(t *testing.T) {
	t.Run("set by output", func(t *testing.T) {
		g := newGuest()
		g.Data(0, []byte("head"))
		g.Data(2*page-4, []byte("tail"))
		out, s := runOnce(t, g.reactor(g.call("output", 0, 2*page), zero))
		wantSuccess(t, out)
		got := string(out.Output)
		if len(got) > abi.MaxOutput || !strings.HasPrefix(got, "head") || !strings.HasSuffix(got, "tail") || !strings.Contains(got, "\n… 65536 bytes cut …\n") {
			t.Errorf("output has %d bytes, %q at the cut", len(got), strings.ReplaceAll(got, "\x00", ""))
		}
		want := fmt.Sprintf("output of 131072 bytes was cut to %d, its head and its tail; max_output is 64 KiB", len(got))
		if s.text() != want || s.levels[0] != abi.Warn {
			t.Errorf("log is %q at %v, want %q", s.text(), s.levels, want)
		}
	})
	t.Run("written to stdout", func(t *testing.T) {
		g := newGuest()
		g.Data(16, iovec(0, 2*page))
		out, s := runOnce(t, g.reactor(g.call("fd_write", 1, 16, 1, 128), drop, zero))
		if want := fmt.Sprintf("output of 131072 bytes was cut to %d, its head and its tail; max_output is 64 KiB", len(out.Output)); s.text() != want {
			t.Errorf("log is %q, want %q", s.text(), want)
		}
	})
	t.Run("just at the limit it is whole", func(t *testing.T) {
		g := newGuest()
		out, s := runOnce(t, g.reactor(g.call("output", 0, abi.MaxOutput), zero))
		if len(out.Output) != abi.MaxOutput || s.text() != "" {
			t.Errorf("output has %d bytes, log is %q", len(out.Output), s.text())
		}
	})
}

func TestFailSaysWhatTheFailureWas(t *testing.T) {
	type args struct{ code, codeLen, msg, msgLen, permanent int32 }
	tests := []struct {
		name string
		args args
		want jobhost.Outcome
	}{
		{"code and message", args{16, 9, 32, 12, 0}, jobhost.Outcome{Code: "DISK_FULL", Message: "no room left"}},
		{"FR-42 permanent", args{16, 9, 32, 12, 1}, jobhost.Outcome{Code: "DISK_FULL", Message: "no room left", Permanent: true}},
		{"without a code", args{0, 0, 32, 12, 0}, jobhost.Outcome{Code: jobhost.Unexpected, Message: "no room left"}},
		{"without a message", args{16, 9, 0, 0, 0}, jobhost.Outcome{Code: "DISK_FULL", Message: "the plugin failed without a message"}},
		{"a code of the host's own", args{48, 23, 32, 12, 0}, jobhost.Outcome{Code: jobhost.Unexpected, Message: "no room left"}},
		{"bytes that are no text", args{16, 9, 80, 3, 0}, jobhost.Outcome{Code: "DISK_FULL", Message: "a\uFFFDb"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := newGuest()
			g.Data(16, []byte("DISK_FULL"))
			g.Data(32, []byte("no room left"))
			g.Data(48, []byte("SCHEDULING_CONFLICT_003"))
			g.Data(80, []byte("a\xffb"))
			a := test.args
			out, _ := runOnce(t, g.reactor(g.call("fail", a.code, a.codeLen, a.msg, a.msgLen, a.permanent), zero))
			got := jobhost.Outcome{Code: out.Code, Message: out.Message, Permanent: out.Permanent}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextIsCutToItsLimit(t *testing.T) {
	g := newGuest()
	g.Data(0, []byte(strings.Repeat("é", page/2)))
	out, s := runOnce(t, g.reactor(
		g.call("log", 0, 0, page), g.call("log", 8, 1, 3), g.call("fail", 0, page, 0, page, 0), zero,
	))
	if len(out.Code) != abi.MaxCode || len(out.Message) != abi.MaxMessage || strings.ContainsRune(out.Message, '\uFFFD') {
		t.Errorf("code has %d bytes, message %d", len(out.Code), len(out.Message))
	}
	if len(s.lines) != 2 || len(s.lines[0]) != abi.MaxLine || s.lines[1] != "\uFFFDé" {
		t.Errorf("log is %.40q", s.lines)
	}
}

func TestAPointerOutsideMemoryTrapsWhereThereIsNoResult(t *testing.T) {
	for name, args := range map[string][]int32{
		"output": {outside, 32}, "log": {0, 2 * page, 1}, "fail": {0, 4, 2*page - 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest()
			out, _ := runOnce(t, g.reactor(g.call(name, args...), zero))
			if want := "trap: pointer outside memory in a call of jobhost_v1." + name; out.Code != jobhost.Unexpected || out.Message != want {
				t.Errorf("got %+v, want message %q", out, want)
			}
		})
	}
}

func TestAGuestThatIsAskedToStop(t *testing.T) {
	g := newGuest()
	// Waits a minute; succeeds if the wait was cut short with -5 and cancelled says 1.
	obeys := g.reactor(
		wasmtest.I64Const(60_000), g.call("sleep_ms"), wasmtest.I32Const(int32(abi.Ending)), wasmtest.Op(wasmtest.I32Ne),
		g.call("cancelled"), wasmtest.Op(wasmtest.I32Eqz), wasmtest.Op(0x72),
	)
	g = newGuest()
	gives := g.reactor(wasmtest.I64Const(60_000), g.call("sleep_ms"))
	h := newHost(t, host.Defaults(), map[string][]byte{"obeys": obeys, "gives": gives})
	stop := make(chan struct{})
	close(stop)
	if out := h.Run(t.Context(), jobhost.Call{Plugin: "obeys", Run: sample(""), Stop: stop}); out.Code != "" {
		t.Errorf("one that obeys and succeeds: %+v", out)
	}
	out := h.Run(t.Context(), jobhost.Call{Plugin: "gives", Run: sample(""), Stop: stop})
	if out.Code != jobhost.Canceled || out.Message != "cancelled; the plugin answered: jobhost_run returned -5" {
		t.Errorf("one that gives up: %+v", out)
	}
}

func TestDeadlineIsToldInMilliseconds(t *testing.T) {
	g := newGuest()
	// 0 without a limit, 1 with one of an hour, 2 otherwise.
	bin := g.reactor(
		g.call("deadline_ms"), wasmtest.Op(wasmtest.LocalSet, 3),
		wasmtest.I32Const(1), wasmtest.I32Const(2),
		wasmtest.Op(wasmtest.LocalGet, 3), wasmtest.I64Const(3_590_000), wasmtest.Op(0x55), // i64.gt_s
		wasmtest.Op(wasmtest.LocalGet, 3), wasmtest.I64Const(3_600_000), wasmtest.Op(0x57), // i64.le_s
		wasmtest.Op(0x71), wasmtest.Op(wasmtest.Select),
		wasmtest.I32Const(0),
		wasmtest.Op(wasmtest.LocalGet, 3), wasmtest.I64Const(-1), wasmtest.Op(0x52), // i64.ne
		wasmtest.Op(wasmtest.Select),
	)
	h := newHost(t, host.Defaults(), map[string][]byte{"guest": bin})
	if out, _ := run(t, h, "guest", ""); out.Code != "" {
		t.Errorf("without a limit: %+v", out)
	}
	out := h.Run(t.Context(), jobhost.Call{Plugin: "guest", Run: sample(""), Deadline: time.Now().Add(time.Hour)})
	if out.Message != "jobhost_run returned 1" {
		t.Errorf("with an hour left: %+v", out)
	}
}
