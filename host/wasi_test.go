package host_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// Error numbers of WASI preview 1.
const (
	success     = 0
	badFD       = 8
	fault       = 21
	inval       = 28
	nameTooLong = 37
)

func TestWASICallsThatWouldHurtTheHostAreRefused(t *testing.T) {
	got := results(t, 4, func(g *guest) []byte {
		return append(append(append(
			store(0, g.call("fd_renumber", 0, 1<<30)),
			store(4, g.call("fd_renumber", 0, 1_024))...),
			store(8, append(append(
				pathOpen(3, abi.MaxPath+1), wasmtest.I32Const(0)...), g.call("path_open", 128)...))...),
			store(12, g.call("random_get", outside, 64))...)
	})
	if diff := cmp.Diff(got, []int32{badFD, badFD, nameTooLong, fault}); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentIsWrittenOnlyIfItFits(t *testing.T) {
	got := results(t, 7, func(g *guest) []byte {
		var code []byte
		for i, call := range [][]byte{
			g.call("environ_sizes_get", 1024, 1028), g.call("environ_sizes_get", outside, 1028), g.call("environ_sizes_get", 1024, outside),
			g.call("environ_get", 2048, 8192), g.call("environ_get", outside, 8192), g.call("environ_get", 2048, 2*page-8),
		} {
			code = append(code, store(int32(4*i), call)...)
		}
		return append(code, store(24, slices.Concat(load(2048), wasmtest.I32Const(8192), wasmtest.Op(wasmtest.I32Ne)))...)
	})
	if diff := cmp.Diff(got, []int32{success, fault, fault, success, fault, fault, 0}); diff != "" {
		t.Error(diff)
	}
}

func TestFilesWithoutAGrantAreSaidInTheLog(t *testing.T) {
	g := newGuest()
	open := append(pathOpen(3, 8), append(wasmtest.I32Const(0), g.call("path_open", 128)...)...)
	out, s := runOnce(t, g.reactor(open, drop, open))
	if out.Message != "jobhost_run returned 8; the host denied: dirs" || s.text() != "capability_denied: path_open: no directory is granted; the grant `dirs` lists them" {
		t.Errorf("got %+v, log %q", out, s.text())
	}
}

// pathOpen pushes the parameters of path_open up to the flags.
func pathOpen(fd, size int32) []byte {
	var code []byte
	for _, v := range []int32{fd, 0, 0, size, 0} {
		code = append(code, wasmtest.I32Const(v)...)
	}
	return append(append(code, wasmtest.I64Const(0)...), wasmtest.I64Const(0)...)
}

// clockSubscription waits for ns on a clock, absolutely or not.
func clockSubscription(userdata byte, clock byte, ns uint64, absolute bool) []byte {
	b := make([]byte, 48)
	b[0] = userdata
	b[16] = clock
	for i := range 8 {
		b[24+i] = byte(ns >> (8 * i))
	}
	if absolute {
		b[40] = 1
	}
	return b
}

func TestPollOneoff(t *testing.T) {
	read := make([]byte, 48)
	read[0], read[8] = 7, 1
	wrong := make([]byte, 48)
	wrong[8] = 9
	tests := []struct {
		name   string
		subs   []byte
		n      int32
		errno  int32
		events []int32 // the userdata of the events
		atmost time.Duration
		least  time.Duration
	}{
		{"the earliest clock", append(clockSubscription(1, 1, 30e6, false), clockSubscription(2, 1, 60e9, false)...), 2, success, []int32{1}, time.Minute, 30 * time.Millisecond},
		{"an instant that is past", clockSubscription(3, 0, 1, true), 1, success, []int32{3}, time.Minute, 0},
		{"two at once", append(clockSubscription(4, 0, 0, false), clockSubscription(5, 1, 0, true)...), 2, success, []int32{4, 5}, time.Minute, 0},
		{"a stream is ready before a clock", append(clockSubscription(6, 1, 60e9, false), read...), 2, success, []int32{7}, 30 * time.Second, 0},
		{"no subscription", nil, 0, inval, nil, time.Minute, 0},
		{"too many", nil, abi.MaxSubscriptions + 1, inval, nil, time.Minute, 0},
		{"an unknown kind", wrong, 1, inval, nil, time.Minute, 0},
		{"an unknown clock", clockSubscription(1, 9, 0, false), 1, inval, nil, time.Minute, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begun := time.Now()
			got := results(t, 4, func(g *guest) []byte {
				g.Data(1024, append(test.subs, 0))
				code := store(0, g.call("poll_oneoff", 1024, 1536, test.n, 4))
				for i := range 2 { // the userdata of the first two events
					load := append(wasmtest.I32Const(int32(1536+32*i)), wasmtest.Op(wasmtest.I32Load, 2, 0)...)
					code = append(code, store(int32(8+4*i), load)...)
				}
				return code
			})
			if took := time.Since(begun); took < test.least || took > test.atmost {
				t.Errorf("took %v, want %v to %v", took, test.least, test.atmost)
			}
			if got[0] != test.errno {
				t.Fatalf("error number is %d, want %d", got[0], test.errno)
			}
			if diff := cmp.Diff(got[2:2+got[1]], append([]int32{}, test.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStderrBecomesLogLines(t *testing.T) {
	g := newGuest()
	text := "one\r\n\ntwo\xffhalf" + " and the rest"
	long := strings.Repeat("y", abi.MaxLine+100) + "\nlast"
	g.Data(1024, []byte(text))
	g.Data(4096, []byte(long))
	g.Data(64, iovec(1024, uint32(len(text)-13)))
	g.Data(72, iovec(uint32(1024+len(text)-13), 13))
	g.Data(80, iovec(2048, 0))
	g.Data(88, iovec(4096, uint32(len(long))))
	g.Data(2000, []byte("\n"))
	g.Data(96, iovec(2000, 1))
	out, s := runOnce(t, g.command(
		g.call("fd_write", 2, 64, 2, 128), drop,
		g.call("fd_write", 2, 96, 1, 128), drop,
		g.call("fd_write", 2, 80, 2, 128), drop,
		g.call("proc_exit", 9),
	))
	if len(s.lines) != 4 {
		t.Fatalf("log is %.60q", s.lines)
	}
	if s.lines[0] != "one" || s.lines[1] != "two\uFFFDhalf and the rest" || s.lines[3] != "last" {
		t.Errorf("log is %.60q", s.lines)
	}
	if l := s.lines[2]; len(l) > abi.MaxLine || !strings.HasSuffix(l, "y … 100 bytes cut") {
		t.Errorf("the long line has %d bytes and ends in %q", len(l), l[len(l)-30:])
	}
	if out.Code != jobhost.Unexpected || out.Message != "last" {
		t.Errorf("got %+v", out)
	}
}

func TestAFloodOfOutputIsCutInTheMiddle(t *testing.T) {
	cfg := host.Defaults()
	cfg.Cache = goCache(t)
	cfg.Grants = []host.Grant{{Job: "reports.nightly", Plugin: "command", MaxOutput: 10_000}}
	h := newHost(t, cfg, map[string][]byte{"command": goGuest(t, "command")})
	out, s := run(t, h, "command", `{"do":"flood","n":50000}`) // 50 MB on each of stdout and stderr
	wantSuccess(t, out)
	got := string(out.Output)
	if len(got) > 10_000 || len(got) < 9_900 || !strings.Contains(got, "bytes cut …") {
		t.Errorf("output has %d bytes: %.60q", len(got), got)
	}
	if last := s.lines[len(s.lines)-1]; len(s.lines) != 50_001 || !strings.HasPrefix(last, "output of 51200000 bytes was cut to ") {
		t.Errorf("log has %d lines and ends with %.100q", len(s.lines), last)
	}
}

func TestAssemblyScriptAborts(t *testing.T) {
	utf16 := func(s string) []byte {
		b := []byte{byte(2 * len(s)), 0, 0, 0}
		for _, c := range []byte(s) {
			b = append(b, c, 0)
		}
		return b
	}
	g := newGuest()
	g.Data(1024, utf16("no luck"))
	g.Data(1124, utf16("job.ts"))
	out, s := runOnce(t, g.reactor(g.call("abort", 1028, 1128, 12, 7), zero))
	if want := "no luck at job.ts:12:7"; out.Code != jobhost.Unexpected || out.Message != want || s.text() != want {
		t.Errorf("got %+v, log %q", out, s.text())
	}
}
