package host_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// hanging are hosts whose guest waits for the network, each in another phase of a request. The channel tells that the guest
// has come there, or will do nothing else before it does.
func hanging(t *testing.T) map[string]func(t *testing.T) (cfg host.Config, grant host.Grant, calls []call, arrived chan struct{}) {
	t.Helper()
	return map[string]func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}){
		"resolving": func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}) {
			t.Helper()
			arrived := make(chan struct{}, 8)
			cfg := host.Defaults()
			cfg.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				_, theirs := net.Pipe()
				arrived <- struct{}{}
				return theirs, nil
			}}
			return cfg, host.Grant{HTTP: []host.HTTP{{Host: "example.com"}}}, []call{send("https://example.com")}, arrived
		},
		"shaking hands": func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}) {
			t.Helper()
			arrived := make(chan struct{}, 8)
			l := mute(t, arrived)
			return host.Defaults(), host.Grant{HTTP: []host.HTTP{{Host: l, Private: true}}}, []call{send("https://" + l)}, arrived
		},
		"sending": func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}) {
			t.Helper()
			arrived := make(chan struct{}, 8)
			l := mute(t, arrived)
			c := send("http://"+l, "method", "POST")
			c.B, c.Grow = "x", 1
			c.B = strings.Repeat("x", 500<<10)
			return host.Defaults(), host.Grant{HTTP: []host.HTTP{{Host: "http://" + l, Private: true}}}, []call{c}, arrived
		},
		"waiting for the head": func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}) {
			t.Helper()
			arrived := make(chan struct{}, 8)
			s := newSite(t, func(_ http.ResponseWriter, req *http.Request) { arrived <- struct{}{}; <-req.Context().Done() })
			return s.config(), s.grant(), []call{send(s.at("example.com", "/"))}, arrived
		},
		"reading": func(t *testing.T) (host.Config, host.Grant, []call, chan struct{}) {
			t.Helper()
			arrived := make(chan struct{}, 8)
			s := newSite(t, func(w http.ResponseWriter, req *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-req.Context().Done()
			})
			grant := s.grant()
			grant.KV = true // the store is asked between the head and the body
			return s.config(), grant, []call{send(s.at("example.com", "/")), {F: "kv_list"}, {F: "http_read", N: 1, M: 100}}, arrived
		},
	}
}

// mute listens, accepts and says nothing. It returns where.
func mute(t *testing.T, arrived chan<- struct{}) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close() // at the end of the test
			arrived <- struct{}{}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-over })
	return l.Addr().String()
}

func TestARequestThatWaitsEndsWithTheRun(t *testing.T) {
	for name, prepare := range hanging(t) {
		t.Run(name, func(t *testing.T) {
			cfg, grant, calls, _ := prepare(t)
			out, _ := runLimited(t, caller(t, cfg, grant), "calls", callData(t, calls...), 200*time.Millisecond)
			wantTimeout(t, out)
		})
	}
}

func TestTheSpanOfARequestEndsWithTheRun(t *testing.T) {
	arrived := make(chan struct{}, 1)
	s := newSite(t, func(_ http.ResponseWriter, req *http.Request) { arrived <- struct{}{}; <-req.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	tr := &trace{}
	out := caller(t, s.config(), s.grant()).Run(ctx, jobhost.Call{Plugin: "calls", Run: sample(callData(t, send(s.at("example.com", "/")))), Span: tr.root()})
	if out.Code != jobhost.Canceled || tr.events[len(tr.events)-1] != "end run/GET false" {
		t.Errorf("got %+v, %q", out, tr.events)
	}
}

func TestARequestThatWaitsIsInterruptedByTheRequestToStop(t *testing.T) {
	for name, prepare := range hanging(t) {
		t.Run(name, func(t *testing.T) {
			cfg, grant, calls, arrived := prepare(t)
			h := caller(t, cfg, grant)
			stop := make(chan struct{})
			stopped := make(chan time.Time, 1)
			go func() {
				<-arrived
				stopped <- time.Now()
				close(stop)
			}()
			// After the request to stop nothing else waits either.
			kv := &values{hook: func(context.Context) error { arrived <- struct{}{}; return nil }}
			got, log := makeCalls(t, h, jobhost.Call{Stop: stop, KV: kv}, append(calls, calls[0], call{F: "http_read", N: 1, M: 10})...)
			late := time.Since(<-stopped)
			if within := allowance(t); late > within {
				t.Errorf("the guest went on for %v, at most %v are allowed", late, within)
			}
			ns := numbers(got)
			if ns[len(calls)-1] != int64(abi.Ending) || ns[len(calls)] != int64(abi.Ending) || log.text() != "" {
				t.Errorf("got %v, log %q", ns, log.text())
			}
		})
	}
}

// While every processor's guest waits for the network, one more computes.
func TestAGuestThatWaitsForTheNetworkHoldsNoComputeSlot(t *testing.T) {
	const many = 16
	arrived, leave := make(chan struct{}, many), make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-leave
	})
	head := fmt.Sprintf(`{"url":%q}`, s.at("example.com", "/"))
	g := newGuest()
	g.Data(16, []byte(head))
	cfg := s.config()
	grant := s.grant()
	grant.Job, grant.Plugin = "reports.nightly", "waits"
	cfg.Grants = []host.Grant{grant}
	h := newHost(t, cfg, map[string][]byte{
		"waits":    g.reactor(g.call("http_send", 16, int32(len(head)), 0, 0), drop, g.call("http_read", 1, 1024, 64)),
		"computes": newGuest().reactor(zero),
	})
	outs := make(chan jobhost.Outcome, many)
	for range many {
		go func() { outs <- h.Run(t.Context(), jobhost.Call{Plugin: "waits", Run: sample("")}) }()
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

func TestABodyThatBreaksOffIsAFailure(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	got, log := makeCalls(t, caller(t, s.config(), s.grant()), jobhost.Call{},
		send(s.at("example.com", "/")), call{F: "http_read_all", N: 1}, call{F: "http_read", N: 1, M: 1}, call{F: "http_status", N: 1})
	if diff := cmp.Diff(numbers(got), []int64{1, -6, -6, 200}); diff != "" || got[1].S != "half" || log.text() != "http_read failed: unexpected EOF" {
		t.Errorf("%s, got %v, log %q", diff, got, log.text())
	}
}

// hops is a site that sends requests where a path says: /to?<URL>.
func hops(t *testing.T) *site {
	t.Helper()
	return newSite(t, func(w http.ResponseWriter, req *http.Request) {
		code := http.StatusFound
		if req.URL.Path == "/again" {
			code = http.StatusTemporaryRedirect
		}
		if req.URL.RawQuery != "" {
			w.Header().Set("Location", req.URL.RawQuery)
			w.WriteHeader(code)
			return
		}
		body, _ := io.ReadAll(req.Body)
		_, _ = fmt.Fprintf(w, "%s %s %q %q %q %q %q", req.Method, body, req.Header["Authorization"], req.Header["Cookie"], req.Header["Referer"],
			req.Header["X-Key"], req.Header["X-Other"])
	})
}

func TestRedirectsLeavePersonalHeadersBehind(t *testing.T) {
	t.Setenv("HOSTFUNCS_KEY", "a secret key")
	s := hops(t)
	grant := s.grant()
	grant.Secrets = map[string]host.Secret{"KEY": {Env: "HOSTFUNCS_KEY"}}
	h := caller(t, s.config(), grant)
	here, there := s.at("example.com", "/"), s.at("127.0.0.1", "/")
	for _, test := range []struct{ name, url, method, want string }{
		{"within the host", here + "?" + here, "GET", `GET  ["Bearer x"] ["a=b"] ["https://example.com"] ["a secret key"] ["o"]`},
		{"to another host", here + "?" + there, "GET", `GET  [] [] [] [] ["o"]`},
		{"to a host below", here + "?" + s.at("www.example.com", "/"), "GET", `GET  [] [] [] [] ["o"]`},
		{"and back", here + "?" + there + "?" + here, "GET", `GET  [] [] [] [] ["o"]`},
		{"with a user in the URL", here + "?" + strings.Replace(there, "https://", "https://u:p@", 1), "GET", `GET  [] [] [] [] ["o"]`},
		{"a form becomes a GET", here + "?" + here, "POST", `GET  ["Bearer x"] ["a=b"] ["https://example.com"] ["a secret key"] ["o"]`},
		{"a 307 keeps the body", s.at("example.com", "/again") + "?" + there, "PUT", `PUT body [] [] [] [] ["o"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := send(test.url, "method", test.method, "Authorization", "Bearer x", "Cookie", "a=b", "X-Key", "a secret key", "X-Other", "o", "Referer", "https://example.com")
			if c.B = "body"; test.method == http.MethodGet {
				c.B = ""
			}
			got, log := makeCalls(t, h, jobhost.Call{}, c, call{F: "http_read_all", N: 1})
			if diff := cmp.Diff(got[1].S, strings.ReplaceAll(test.want, "a secret key", "***")); diff != "" {
				t.Errorf("%s, log %q", diff, log.text())
			}
		})
	}
}

func TestRedirectsAreCheckedAndCounted(t *testing.T) {
	s := hops(t)
	h := caller(t, s.config(), s.grant())
	here := s.at("example.com", "/")
	chain := strings.Repeat(here+"?", 10) + here
	for _, test := range []struct {
		url, log string
		want     int64
	}{
		{chain, "", 1},
		{here + "?" + chain, "http_send failed: more than 10 redirects", -7},
		{here + "?https://elsewhere.example.org/", "capability_denied: http_send: requests to elsewhere.example.org are not granted; the grant `http` would have to list it", -2},
		{here + "?http://example.com:" + s.port + "/", "capability_denied: http_send: requests to http://example.com:" + s.port +
			" are not granted; the grant `http` would have to list it", -2},
		{here + "?file:///etc/passwd", "capability_denied: http_send: the scheme of the URL is \"file\"; want http or https", -2},
	} {
		got, log := makeCalls(t, h, jobhost.Call{}, send(test.url))
		if got[0].N != test.want || log.text() != test.log {
			t.Errorf("%.100s: got %v, log %q", test.url, got, log.text())
		}
	}
}
