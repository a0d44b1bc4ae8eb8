package host_test

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// site is a server with TLS for example.com, and for the address that it listens at.
type site struct {
	*httptest.Server

	port string

	mu       sync.Mutex
	requests []*http.Request
	opened   int
	closed   chan struct{} // told of each connection that was closed
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{closed: make(chan struct{}, 100)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		handler(w, req)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.mu.Lock()
			s.opened++
			s.mu.Unlock()
		case http.StateClosed:
			s.closed <- struct{}{}
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are part of the tests
	s.StartTLS()
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return s
}

// grant lets a guest reach the site by its names and its address.
func (s *site) grant() host.Grant {
	return host.Grant{HTTP: []host.HTTP{
		{Host: "example.com:" + s.port, Private: true}, {Host: "*.example.com:" + s.port, Private: true}, {Host: "127.0.0.1:" + s.port, Private: true},
	}}
}

// config trusts the sites' certificate, and resolves every name to this machine.
func (s *site) config() host.Config {
	cfg := host.Defaults()
	cfg.Roots = x509.NewCertPool()
	cfg.Roots.AddCert(s.Certificate())
	cfg.Resolver = resolver(func(string) []string { return []string{"127.0.0.1"} })
	return cfg
}

func (s *site) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// at is a URL of the site by a name.
func (s *site) at(name, path string) string { return "https://" + name + ":" + s.port + path }

// resolver answers questions about names with addresses.
func resolver(addresses func(name string) []string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerDNS(ours, addresses)
		return theirs, nil
	}}
}

// answerDNS answers questions in the form that DNS has over TCP (RFC 1035, 4).
func answerDNS(conn net.Conn, addresses func(string) []string) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, q); err != nil {
			return
		}
		var labels []string
		at := 12
		for q[at] != 0 {
			labels = append(labels, string(q[at+1:at+1+int(q[at])]))
			at += 1 + int(q[at])
		}
		kind := binary.BigEndian.Uint16(q[at+1:])
		a := append([]byte{0, 0}, q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
		a = append(a, q[12:at+5]...)
		for _, s := range addresses(strings.Join(labels, ".")) {
			ip := netip.MustParseAddr(s).AsSlice()
			if kind == map[int]uint16{4: 1, 16: 28}[len(ip)] {
				a = append(a, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
				a = append(a, ip...)
				a[9]++ // after the length
			}
		}
		binary.BigEndian.PutUint16(a, uint16(len(a)-2))
		if _, err := conn.Write(a); err != nil {
			return
		}
	}
}

// send is a call of http_send.
func send(url string, more ...string) call {
	head := map[string]any{"url": url}
	headers := map[string]any{}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i] == "method" {
			head["method"] = more[i+1]
		} else {
			headers[more[i]] = more[i+1]
		}
	}
	if len(headers) > 0 {
		head["headers"] = headers
	}
	b, err := json.Marshal(head)
	if err != nil {
		panic(err)
	}
	return call{F: "http_send", A: string(b)}
}

func TestARequestAndItsResponse(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Header().Add("X-Many", "one")
		w.Header().Add("X-Many", "t\xfcwo")
		w.Header().Set("Content-Encoding", "gzip") // it is not: nothing unpacks it
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %q %q", req.Method, req.URL, body, req.Header["X-List"], req.UserAgent(), req.Header["Accept-Encoding"])
	})
	h := caller(t, s.config(), s.grant())
	head := fmt.Sprintf(`{"method":"POST","url":%q,"headers":{"x-list":["a","b"],"Content-Type":"text/plain"}}`, s.at("api.example.com", "/a%2Fb?q=1"))
	got, said := makeCalls(t, h, jobhost.Call{},
		call{F: "http_send", A: head, B: "the body"}, call{F: "http_status", N: 1}, call{F: "http_headers", N: 1},
		call{F: "http_read", N: 1, M: 4}, call{F: "http_read_all", N: 1}, call{F: "http_read", N: 1, M: 4}, call{F: "http_close", N: 1, Times: 2},
		call{F: "http_status", N: 1}, call{F: "http_headers", N: 1}, call{F: "http_read", N: 1, M: 1}, call{F: "http_status", N: 2})
	const rest = ` /a%2Fb?q=1 the body [a b] "jobhost" []`
	if diff := cmp.Diff(numbers(got[:2]), []int64{1, http.StatusTeapot}); diff != "" {
		t.Error(diff)
	}
	var headers map[string][]string
	if err := json.Unmarshal([]byte(got[2].S), &headers); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(headers["x-many"], []string{"one", "t\uFFFDwo"}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(headers["content-encoding"], []string{"gzip"}); diff != "" {
		t.Error(diff)
	}
	want := []result{{4, "POST"}, {int64(len(rest)), rest}, {}, {}, {}, {N: -4}, {N: -4}, {N: -4}, {N: -4}}
	if diff := cmp.Diff(got[3:], want); diff != "" {
		t.Error(diff)
	}
	if said.text() != "" {
		t.Errorf("log is %q", said.text())
	}
}

func TestALargeBodyIsStreamed(t *testing.T) {
	const size = 3 << 20
	s := newSite(t, func(w http.ResponseWriter, req *http.Request) {
		n, _ := io.Copy(io.Discard, req.Body)
		_, _ = w.Write([]byte(strings.Repeat("x", int(n))))
	})
	h := caller(t, s.config(), s.grant())
	c := send(s.at("example.com", "/"), "method", "PUT")
	c.B = strings.Repeat("y", 1000)
	got, _ := makeCalls(t, h, jobhost.Call{}, c, call{F: "http_read_all", N: 1})
	if got[1].N != 1000 {
		t.Errorf("got %d bytes", got[1].N)
	}
	big := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
	h = caller(t, big.config(), big.grant())
	if got, _ = makeCalls(t, h, jobhost.Call{}, send(big.at("example.com", "/")), call{F: "http_read_all", N: 1}); got[1].N != size {
		t.Errorf("got %d bytes", got[1].N)
	}
}

func TestRequestsGoWhereTheyAreGrantedAlone(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	grant := host.Grant{HTTP: []host.HTTP{
		{Host: "*.example.com:" + s.port, Private: true}, {Host: "public.example.org:" + s.port}, {Host: "127.0.0.1:" + s.port}, {Host: "[::1]:" + s.port},
	}}
	h := caller(t, s.config(), grant)
	for _, test := range []struct {
		url, log string
		want     int64
	}{
		{s.at("A.EXAMPLE.com", "/"), "", 1},
		{s.at("a.b.example.com.", "/"), "", -6}, // the certificate covers one level
		{s.at("example.com", "/"), "requests to example.com:" + s.port + " are not granted; the grant `http` would have to list it", -2},
		{s.at("notexample.com", "/"), "requests to notexample.com:", -2},
		{"http://a.example.com:" + s.port, "requests to http://a.example.com:", -2},
		{"https://a.example.com", "requests to a.example.com are not granted", -2},
		{s.at("public.example.org", "/"), "public.example.org:" + s.port + " is at 127.0.0.1, which is not public: it is of this machine; `private: true`", -2},
		{s.at("127.0.0.1", "/"), "127.0.0.1:" + s.port + " is at 127.0.0.1, which is not public", -2},
		{s.at("[::1]", "/"), "is at ::1, which is not public", -2},
		{s.at("[::ffff:127.0.0.1]", "/"), "requests to [::ffff:127.0.0.1]", -2},
		{s.at("169.254.169.254", "/latest/meta-data"), "requests to 169.254.169.254", -2},
	} {
		t.Run(test.url, func(t *testing.T) {
			c := send(test.url)
			c.Times = 3
			got, said := makeCalls(t, h, jobhost.Call{}, c)
			if got[0].N != test.want {
				t.Errorf("got %d, want %d; log %q", got[0].N, test.want, said.text())
			}
			if test.want == -2 && (len(said.lines) != 1 || !strings.HasPrefix(said.lines[0], "capability_denied: http_send: ") || !strings.Contains(said.lines[0], test.log)) {
				t.Errorf("log is %q, want %q", said.lines, test.log)
			}
		})
	}
	if n := len(s.seen()); n != 3 {
		t.Errorf("the site got %d requests, want those of the one URL", n)
	}
}

func TestWithoutAGrantThereIsNoRequest(t *testing.T) {
	h := caller(t, host.Defaults(), host.Grant{})
	c := send("https://example.com")
	c.Times = 50
	got, s := makeCalls(t, h, jobhost.Call{}, c)
	if got[0].N != int64(abi.Denied) || s.text() != "capability_denied: http_send: HTTP requests are not granted; the grant `http` lists hosts" {
		t.Errorf("got %v, log %q", got[0], s.text())
	}
}

func TestTheHostsOwnListenersAreNeverReached(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	for name, own := range map[string][]netip.AddrPort{
		"its address": {at}, "all addresses": {netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())},
		"its address as IPv6": {netip.AddrPortFrom(netip.AddrFrom16(at.Addr().As16()), at.Port())},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := s.config()
			cfg.Listeners = func() []netip.AddrPort { return own }
			got, said := makeCalls(t, caller(t, cfg, s.grant()), jobhost.Call{}, send(s.at("example.com", "/")))
			if got[0].N != -2 || !strings.Contains(said.text(), "where this host itself listens") {
				t.Errorf("got %v, log %q", got, said.text())
			}
		})
	}
	t.Run("another port", func(t *testing.T) {
		cfg := s.config()
		cfg.Listeners = func() []netip.AddrPort { return []netip.AddrPort{netip.AddrPortFrom(at.Addr(), at.Port()^1)} }
		if got, said := makeCalls(t, caller(t, cfg, s.grant()), jobhost.Call{}, send(s.at("example.com", "/"))); got[0].N != 1 {
			t.Errorf("got %v, log %q", got, said.text())
		}
	})
}

func TestRequestsThatWouldBreakTheirFrameAreRefused(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	h := caller(t, s.config(), s.grant())
	url := s.at("example.com", "/")
	heads := []string{
		`{`, `[]`, `{"url":"` + url + `"} {}`, `{"url":"` + url + `","timeout":3}`, `{"url":"` + url + `","headers":{"a":1}}`,
		`{"url":""}`, `{"url":"example.com"}`, `{"url":"ftp://example.com"}`, `{"url":"https:example.com"}`, `{"url":"https://"}`,
		`{"url":"https://user:pass@example.com"}`, `{"url":"https://exa\nmple.com"}`, `{"url":"` + url + ` HTTP/1.1\r\nX: y"}`, `{"url":"https://exämple.com"}`,
		`{"url":"https://0x7f.1/"}`, `{"url":"https://2130706433/"}`, `{"url":"https://example.com:0/"}`, `{"url":"https://example.com:99999/"}`,
		`{"url":"https://[fe80::1%25eth0]/"}`,
	}
	for _, method := range []string{"GET /", "GET\r\n", "CONNECT", "TRACE", "É"} {
		heads = append(heads, send(url, "method", method).A)
	}
	for name, value := range map[string]string{
		"Host": "other.example.com", "hOST": "x", "Content-Length": "3", "Transfer-Encoding": "chunked", "Connection": "close", "Upgrade": "websocket",
		"Proxy-Authorization": "x", "TE": "trailers", "Trailer": "X", "Keep-Alive": "x", "Expect": "100-continue",
		"X-A": "b\r\nX-C: d", "X-B": "b\nX-C: d", "X-D": "\x00", "X-A\r\nX-C": "d", "X A": "b", "X-A:": "b", "": "b", "X-É": "b",
	} {
		heads = append(heads, send(url, name, value).A)
	}
	for _, head := range heads {
		got, said := makeCalls(t, h, jobhost.Call{}, call{F: "http_send", A: head})
		if got[0].N != -4 || !strings.HasPrefix(said.text(), "http_send: ") {
			t.Errorf("%s: got %d, log %q", head, got[0].N, said.text())
		}
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("the site got %d requests", n)
	}
}

func TestRequestsHaveLimits(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/large" {
			w.Header().Set("X-Large", strings.Repeat("x", abi.MaxHTTPHead))
		}
	})
	h := caller(t, s.config(), s.grant())
	many := send(s.at("example.com", "/"))
	many.Times = abi.MaxResponses
	long := call{F: "http_send", A: "x", Grow: abi.MaxHTTPHead + 1}
	got, said := makeCalls(t, h, jobhost.Call{}, many, send(s.at("example.com", "/")), call{F: "http_close", N: 3}, send(s.at("example.com", "/")),
		long, call{F: "http_close", N: 4}, send(s.at("example.com", "/large")))
	got = got[abi.MaxResponses-1:]
	if diff := cmp.Diff(numbers(got), []int64{16, -7, 0, 17, -3, 0, -6}); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(said.text(), "exceeded 65536 bytes") {
		t.Errorf("log is %q", said.text())
	}

	g := newGuest()
	const body = abi.MaxHTTPBody + 1
	out, _ := runGranted(t, s.config(), s.grant(), g.reactor(g.call("http_send", 0, 0, 0, body)))
	if out.Message != "jobhost_run returned -3" {
		t.Errorf("got %+v", out)
	}
}

// runGranted runs a hand-made guest with a grant.
func runGranted(t *testing.T, cfg host.Config, grant host.Grant, bin []byte) (jobhost.Outcome, *sink) {
	t.Helper()
	grant.Job, grant.Plugin = "reports.nightly", "guest"
	cfg.Grants = []host.Grant{grant}
	return run(t, newHost(t, cfg, map[string][]byte{"guest": bin}), "guest", "")
}

func TestPointersOfRequestsAreChecked(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) })
	head := fmt.Sprintf(`{"url":%q}`, s.at("example.com", "/"))
	g := newGuest()
	g.Data(16, []byte(head))
	n := int32(len(head))
	var code []byte
	calls := [][]byte{
		g.call("http_send", outside, n, 0, 0), g.call("http_send", 16, n, outside, 32), g.call("http_send", 16, n, 0, 0),
		g.call("http_headers", 1, outside, 32), g.call("http_headers", 1, outside, 4096), g.call("http_read", 1, outside, 32), g.call("http_read", 1, 0, 0),
		g.call("http_read", 1, 2*page-4, 4), g.call("http_read", 1, 0, 1), g.call("http_status", 0), g.call("http_status", -1),
	}
	for i, c := range calls {
		code = append(code, store(int32(1024+4*i), c)...)
	}
	out, _ := runGranted(t, s.config(), s.grant(), g.reactor(code, g.call("http_close", -7), g.nibbles(1024, len(calls))))
	wantSuccess(t, out)
	got := fromNibbles(out.Output)
	if got[3] <= 32 {
		t.Errorf("the headers have %d bytes", got[3])
	}
	got[3] = 0
	if diff := cmp.Diff(got, []int32{-4, -4, 1, 0, -4, -4, -4, 4, 0, -4, -4}); diff != "" {
		t.Error(diff)
	}
}

func TestNoConnectionIsSharedBetweenRunsOrOutlivesOne(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) })
	h := caller(t, s.config(), s.grant())
	twice := []call{
		send(s.at("example.com", "/")), {F: "http_read_all", N: 1}, send(s.at("example.com", "/")), {F: "http_read_all", N: 2},
	}
	for range 2 {
		got, _ := makeCalls(t, h, jobhost.Call{}, twice...)
		if diff := cmp.Diff(numbers(got), []int64{1, 4, 2, 4}); diff != "" {
			t.Fatal(diff)
		}
	}
	s.mu.Lock()
	opened := s.opened
	s.mu.Unlock()
	if opened != 2 {
		t.Errorf("%d connections were opened, want one for each run", opened)
	}
	for range 2 {
		select {
		case <-s.closed:
		case <-time.After(10 * time.Second):
			t.Fatal("a connection outlives its run")
		}
	}
}

func TestProxyVariablesChangeNothing(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	if got, said := makeCalls(t, caller(t, s.config(), s.grant()), jobhost.Call{}, send(s.at("example.com", "/"))); got[0].N != 1 {
		t.Errorf("got %v, log %q", got, said.text())
	}
}

func TestACertificateThatNobodyTrustsIsAFailure(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	cfg := s.config()
	cfg.Roots = x509.NewCertPool()
	got, said := makeCalls(t, caller(t, cfg, s.grant()), jobhost.Call{}, send(s.at("example.com", "/?key=secret")))
	if got[0].N != -6 || !strings.Contains(said.text(), "http_send failed: tls: ") || strings.Contains(said.text(), "secret") {
		t.Errorf("got %v, log %q", got, said.text())
	}
}
