package host_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// trace notes what is done with a span and those below it.
type trace struct{ events []string }

func (tr *trace) add(format string, args ...any) {
	tr.events = append(tr.events, fmt.Sprintf(format, args...))
}

func (tr *trace) root() jobhost.Span { return &traced{tr, "run"} }

type traced struct {
	*trace

	name string
}

func (s *traced) Child(name string) jobhost.Span {
	s.add("start %s/%s", s.name, name)
	return &traced{s.trace, s.name + "/" + name}
}

func (s *traced) Client(name string) jobhost.Span {
	s.add("request %s/%s", s.name, name)
	return &traced{s.trace, s.name + "/" + name}
}
func (s *traced) SetAttribute(key, value string) { s.add("%s: %s=%s", s.name, key, value) }
func (s *traced) Event(name string)              { s.add("%s: %s", s.name, name) }
func (s *traced) End(ok bool)                    { s.add("end %s %t", s.name, ok) }
func (s *traced) Traceparent() string            { return "00-" + strings.ReplaceAll(s.name, "/", "-") + "-01" }

func TestAGuestHasSpansOfItsOwn(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{})
	tr := &trace{}
	got, _ := makeCalls(t, h, jobhost.Call{Span: tr.root()},
		call{F: "event", A: "outside"}, call{F: "span_start", A: "a"}, call{F: "span_start", A: "b"}, call{F: "event", A: "inside"},
		call{F: "span_attr", N: 1, A: "k", B: "v"}, call{F: "span_end", N: 1, M: 1}, call{F: "span_end", N: 1, M: 1}, call{F: "span_attr", N: 1, A: "late"},
		call{F: "span_end", N: 7}, call{F: "span_end", N: 0}, call{F: "span_attr", N: -1, A: "x"}, call{F: "span_start", A: "c"},
		call{F: "span_end", N: 3}, call{F: "span_start"}, call{F: "span_attr", N: 4, B: "no key"}, call{F: "event"})
	if diff := cmp.Diff(numbers(got), []int64{0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0}); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"run: outside", "start run/a", "start run/a/b", "run/a/b: inside", "run/a: k=v", "end run/a true", "start run/a/b/c", "end run/a/b/c false",
		"start run/a/b/span", "run/a/b/span: event", "end run/a/b/span true", "end run/a/b true",
	}
	if diff := cmp.Diff(tr.events, want); diff != "" {
		t.Error(diff)
	}
}

func TestOpenSpansFailWithTheRun(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("step\xff"))
	h := newHost(t, host.Defaults(), map[string][]byte{"traps": g.reactor(g.call("span_start", 16, 5), wasmtest.Op(wasmtest.Unreachable))})
	tr := &trace{}
	if out := h.Run(t.Context(), jobhost.Call{Plugin: "traps", Run: sample(""), Span: tr.root()}); out.Code != jobhost.Unexpected {
		t.Fatalf("got %+v", out)
	}
	if diff := cmp.Diff(tr.events, []string{"start run/step\uFFFD", "end run/step\uFFFD false"}); diff != "" {
		t.Error(diff)
	}
}

func TestSpansHaveLimits(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{})
	for name, c := range map[string]jobhost.Call{"traced": {Span: (&trace{}).root()}, "not traced": {}} {
		t.Run(name, func(t *testing.T) {
			got, _ := makeCalls(t, h, c, call{F: "span_start", A: "s", Times: abi.MaxSpans}, call{F: "span_start", A: "more"},
				call{F: "span_end", N: 1}, call{F: "span_start", A: "more"})
			want := append(make([]int64, 0, abi.MaxSpans), 1)
			for len(want) < abi.MaxSpans {
				want = append(want, want[len(want)-1]+1)
			}
			if diff := cmp.Diff(numbers(got), append(want, -7, 0, -7)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("text", func(t *testing.T) {
		tr := &trace{}
		makeCalls(t, h, jobhost.Call{Span: tr.root()}, call{F: "span_start", A: "é", Grow: abi.MaxSpanText},
			call{F: "span_attr", N: 1, A: "k", B: "v", Grow: abi.MaxSpanValue + 1}, call{F: "event", A: "e", Grow: abi.MaxSpanText + 1},
			call{F: "span_attr", N: 1, A: "k", B: "v", Grow: abi.MaxSpanValue, Times: 1000})
		name := "run/" + strings.Repeat("é", abi.MaxSpanText/2)
		key, value := strings.Repeat("k", abi.MaxSpanText), strings.Repeat("v", abi.MaxSpanValue)
		want := []string{"start " + name, name + ": " + key + "=" + value, name + ": " + strings.Repeat("e", abi.MaxSpanText)}
		if diff := cmp.Diff(tr.events[:3], want); diff != "" {
			t.Error(diff)
		}
		if n, most := len(tr.events), abi.MaxSpanBytes/(abi.MaxSpanText+abi.MaxSpanValue); n > most+3 || n < most-3 {
			t.Errorf("%d things were kept, want about %d", n, most)
		}
	})
}

func TestARequestIsASpanAndCarriesIt(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Trace", req.Header.Get("Traceparent"))
		if req.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	h := caller(t, s.config(), s.grant())
	tr := &trace{}
	got, _ := makeCalls(t, h, jobhost.Call{Span: tr.root()},
		call{F: "span_start", A: "step"}, send(s.at("example.com", "/a%20b?key=secret"), "traceparent", "the guest's"), call{F: "http_headers", N: 1},
		call{F: "http_read_all", N: 1}, call{F: "span_end", N: 1, M: 1}, send(s.at("example.com", "/missing"), "method", "FETCH"), send("https://example.org"))
	if !strings.Contains(got[2].S, `"x-trace":["00-run-step-GET-01"]`) {
		t.Errorf("headers are %s", got[2].S)
	}
	server := []string{"server.address=example.com", "server.port=" + s.port}
	describe := func(name string, lines ...string) (out []string) {
		for _, l := range lines {
			out = append(out, name+": "+l)
		}
		return out
	}
	want := slices.Concat(
		[]string{"start run/step", "request run/step/GET"},
		describe("run/step/GET", "http.request.method=GET", "url.full="+s.at("example.com", "/a%20b"), server[0], server[1],
			"http.response.status_code=200", "network.protocol.version=1.1"),
		[]string{"end run/step/GET true", "end run/step true", "request run/HTTP"},
		describe("run/HTTP", "http.request.method=_OTHER", "http.request.method_original=FETCH", "url.full="+s.at("example.com", "/missing"), server[0], server[1],
			"http.response.status_code=404", "network.protocol.version=1.1", "error.type=404"),
		[]string{"request run/GET"},
		describe("run/GET", "http.request.method=GET", "url.full=https://example.org", "server.address=example.org", "server.port=443", "error.type=denied"),
		[]string{"end run/GET false", "end run/HTTP false"},
	)
	if diff := cmp.Diff(tr.events, want); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutATraceARequestCarriesWhatTheRunHas(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, req *http.Request) { _, _ = fmt.Fprintf(w, "%q", req.Header["Traceparent"]) })
	h := caller(t, s.config(), s.grant())
	for given, want := range map[string]string{"": `["mine"]`, "00-of-the-run-01": `["00-of-the-run-01"]`} {
		got, _ := makeCalls(t, h, jobhost.Call{Traceparent: given}, send(s.at("example.com", "/"), "Traceparent", "mine"), call{F: "http_read_all", N: 1})
		if got[1].S != want {
			t.Errorf("with %q: %s, want %s", given, got[1].S, want)
		}
	}
}
