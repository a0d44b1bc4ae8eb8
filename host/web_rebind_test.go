package host_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// public is an address of the public internet. The tests say that their hosts listen there, so that it is refused for that alone,
// and nothing leaves this machine.
const public = "93.184.215.14"

// rebinding is a site on this machine whose names are those of somebody else's name server. The grant lists *.example.net, for public
// addresses alone, and the names of [site.grant] with private ones.
func rebinding(t *testing.T, handler http.HandlerFunc, z zone) (*site, *host.Host) {
	t.Helper()
	s := newSite(t, handler)
	port, err := strconv.ParseUint(s.port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	cfg := newNameServer(t, s.config(), z)
	cfg.Listeners = func() []netip.AddrPort {
		return []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(public), uint16(port)), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), uint16(port))}
	}
	grant := s.grant()
	grant.HTTP = append(grant.HTTP, host.HTTP{Host: "*.example.net:" + s.port})
	return s, caller(t, cfg, grant)
}

// A name that is harmless when it is looked at and something else when it is connected to gains nothing: what counts is the address
// of each connection.
func TestAnAddressIsJudgedWhenItIsConnectedTo(t *testing.T) {
	const harmless, here = "which is where this host itself listens", "which is not public: it is "
	type test struct {
		name    string
		answers [][]string // of one lookup after the other
		want    []string   // of one run after the other: a part of what its log says
	}
	tests := []test{
		{"many, the first one public", [][]string{{public, "127.0.0.1"}}, []string{here}}, // in whatever order they are tried
		{"many, the last one public", [][]string{{"127.0.0.1", public}}, []string{here}},
		{"many, of both kinds", [][]string{{"::1", "127.0.0.1", "10.0.0.1", "fd00::1"}}, []string{"not public"}},
		{"another name", [][]string{{"=inside.example.org", "127.0.0.1"}}, []string{"127.0.0.1, which is not public"}},
		{"the name of a host with private: true", [][]string{{"=example.com", "127.0.0.1"}}, []string{"127.0.0.1, which is not public"}},
		{"a chain of names", [][]string{{public}, {"=a.example.org", "=b.example.org", "=example.com", "127.0.0.1"}}, []string{harmless, "127.0.0.1, which is not public"}},
		{"back and forth", [][]string{{public}, {"127.0.0.1"}, {public}, {"169.254.169.254"}}, []string{harmless, "of this machine", harmless, "link-local"}},
	}
	for _, addr := range []string{
		"127.0.0.1", "169.254.169.254", "10.1.2.3", "192.168.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2001:0:7f00:1::1", "fd00:ec2::254", "fe80::1", "fec0::1",
	} {
		tests = append(tests, test{addr, [][]string{{public}, {addr}}, []string{harmless, "which is "}})
	}
	answers := map[string][][]string{}
	name := func(i int) string { return "n" + strconv.Itoa(i) + ".example.net" }
	for i, test := range tests {
		answers[name(i)] = test.answers
	}
	s, h := rebinding(t, func(http.ResponseWriter, *http.Request) {}, func(name string, before int) []string {
		if all := answers[name]; len(all) > 0 {
			return all[before%len(all)]
		}
		return []string{"127.0.0.1"}
	})
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, want := range test.want {
				got, said := makeCalls(t, h, jobhost.Call{}, send(s.at(name(i), "/")))
				if got[0].N != -2 || !strings.Contains(said.text(), want) || !strings.HasPrefix(said.text(), "capability_denied: http_send: "+name(i)) {
					t.Errorf("got %d, log %q; want %q", got[0].N, said.text(), want)
				}
			}
			c := send(s.at(name(i), "/")) // and again in one run
			c.Times = 2 * len(test.answers)
			got, _ := makeCalls(t, h, jobhost.Call{}, c)
			for _, r := range got {
				if r.N != -2 {
					t.Errorf("got %d", r.N)
				}
			}
		})
	}
	if n := s.connections(); n != 0 {
		t.Errorf("the site got %d connections", n)
	}
	if got, said := makeCalls(t, h, jobhost.Call{}, send(s.at("example.com", "/"))); got[0].N != 1 || s.connections() != 1 {
		t.Errorf("where private addresses are granted: %d, log %q", got[0].N, said.text())
	}
}

// connections is how many were made to the site.
func (s *site) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// An address that was good is no reason for the next one, whether the last connection is still there or not.
func TestANameThatChangesWithinARunIsJudgedAnew(t *testing.T) {
	s, h := rebinding(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/last" {
			w.Header().Set("Connection", "close")
		}
	}, func(_ string, before int) []string {
		if before == 0 {
			return []string{"127.0.0.1"}
		}
		return []string{"127.0.0.2"} // where the host itself listens, which private: true does not grant
	})
	all := call{F: "http_read_all", N: 1}
	got, said := makeCalls(t, h, jobhost.Call{}, send(s.at("www.example.com", "/")), all,
		send(s.at("www.example.com", "/last")), call{F: "http_read_all", N: 2}, send(s.at("www.example.com", "/")))
	if diff := cmp.Diff(numbers(got), []int64{1, 0, 2, 0, -2}); diff != "" || !strings.Contains(said.text(), "is at 127.0.0.2, which is where this host itself listens") {
		t.Errorf("%s, log %q", diff, said.text())
	}
	if n := s.connections(); n != 1 {
		t.Errorf("the site got %d connections, want one that was used twice", n)
	}
}

// A connection that is open for one name serves no other one, though both are at the same address.
func TestAConnectionServesItsNameAlone(t *testing.T) {
	s, h := rebinding(t, func(w http.ResponseWriter, req *http.Request) {
		if to := req.URL.Query().Get("to"); to != "" {
			http.Redirect(w, req, to, http.StatusFound)
		}
	}, func(string, int) []string { return []string{"127.0.0.1"} })
	there := s.at("www.example.net", "/")
	got, said := makeCalls(t, h, jobhost.Call{}, send(s.at("example.com", "/")), call{F: "http_read_all", N: 1},
		send(there), send(s.at("example.com", "/?to="+there)), send(s.at("WWW.example.com.", "/?to="+there)))
	if diff := cmp.Diff(numbers(got), []int64{1, 0, -2, -2, -2}); diff != "" || !strings.Contains(said.text(), "www.example.net:"+s.port+" is at 127.0.0.1, which is not public") {
		t.Errorf("%s, log %q", diff, said.text())
	}
	for _, req := range s.seen() {
		if strings.Contains(req.Host, "example.net") {
			t.Errorf("the site got a request for %s", req.Host)
		}
	}
}

// A proxy that the environment names learns of nothing, and is no way to what is not granted.
func TestNothingGoesToAProxyOfTheEnvironment(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-over })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+l.Addr().String())
		t.Setenv(strings.ToLower(name), "http://"+l.Addr().String())
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	s, h := rebinding(t, func(http.ResponseWriter, *http.Request) {}, func(string, int) []string { return []string{"127.0.0.1"} })
	got, said := makeCalls(t, h, jobhost.Call{}, send(s.at("example.com", "/")), send(s.at("www.example.net", "/")), send("http://other.example.net/"))
	if diff := cmp.Diff(numbers(got), []int64{1, -2, -2}); diff != "" || asked.Load() != 0 {
		t.Errorf("%s, the proxy was asked %d times, log %q", diff, asked.Load(), said.text())
	}
}
