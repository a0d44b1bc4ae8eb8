package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jobhost/jobhost/abi"
)

// How long what has no limit of its own may take, whatever the run's.
const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
)

// maxRedirects is how many redirects one request follows.
const maxRedirects = 10

var errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

// deniedError is a place that a request may not go to.
type deniedError struct{ what, why string }

func (e *deniedError) Error() string { return e.why }

// newWeb makes the client of a run: a transport of its own, so that no connection is shared with another run. It speaks
// HTTP/1.1, goes through no proxy and decompresses nothing: a small response stays a small one unless the guest unpacks it,
// in its own memory.
func (r *run) newWeb() *web {
	d := &dialer{run: r, host: r.host, open: map[net.Conn]struct{}{}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		DialContext:            d.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.host.cfg.Roots},
		TLSHandshakeTimeout:    handshakeTimeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: abi.MaxHTTPHead,
		MaxIdleConns:           abi.MaxResponses,
		MaxIdleConnsPerHost:    abi.MaxResponses,
		IdleConnTimeout:        time.Minute,
		Protocols:              protocols,
	}
	return &web{
		client:    &http.Client{Transport: &gate{run: r, next: transport}, CheckRedirect: r.redirect},
		dialer:    d,
		responses: map[int32]*response{},
	}
}

// gate lets requests through that may go where they go: the first one and each redirect.
type gate struct {
	run  *run
	next *http.Transport
}

type privateKey struct{}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	private, err := g.run.admit(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it is in memory
		}
		return nil, err
	}
	return g.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), privateKey{}, private)))
}

// admit reports whether a request may go to addresses that are not public, or that it may not go at all.
func (r *run) admit(req *http.Request) (private bool, err error) {
	to, err := abi.EndpointOf(req.URL)
	if err != nil {
		return false, &deniedError{"http " + req.URL.Host, err.Error()}
	}
	granted := false
	for _, h := range r.grant.HTTP {
		if p, err := abi.ParseHostPattern(h.Host); err == nil && p.Matches(to) {
			granted = true
			private = private || h.Private
		}
	}
	if !granted {
		return false, &deniedError{"http " + to.String(), fmt.Sprintf("requests to %s are not granted; the grant `http` would have to list it", to)}
	}
	return private, nil
}

// redirect follows a redirect, up to a number. Once it has led away from the host that the guest named, what the guest meant
// for that host alone is left out, also on the way back.
func (r *run) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	req.URL.User = nil
	first, err := abi.EndpointOf(via[0].URL)
	if err != nil {
		return err
	}
	away := slices.ContainsFunc(append(slices.Clone(via), req), func(hop *http.Request) bool {
		to, err := abi.EndpointOf(hop.URL)
		return err != nil || to != first
	})
	if !away {
		return nil
	}
	for name, values := range req.Header {
		if personal[name] || slices.ContainsFunc(values, r.hasSecret) {
			req.Header.Del(name)
		}
	}
	return nil
}

// personal are the headers that are meant for one host.
var personal = map[string]bool{"Authorization": true, "Cookie": true, "Cookie2": true, "Referer": true, "Www-Authenticate": true}

func (r *run) hasSecret(s string) bool { return string(r.mask.mask([]byte(s))) != s }

// dialer connects to addresses that it has checked, and closes what is open at the end of the run.
type dialer struct {
	run  *run
	host *Host

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// dial connects to a host. The check is made for the very address that the system connects to, after the name was resolved,
// so that a name that resolves to something else the second time gains nothing.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	private, _ := ctx.Value(privateKey{}).(bool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.run.ctx, cancel)() //nolint:contextcheck // the transport may go on for a later request of the run
	nd := net.Dialer{
		Timeout: dialTimeout, Resolver: d.host.cfg.Resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error { return d.check(to, address, private) },
	}
	conn, err := nd.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return d.keep(conn)
}

// check reports whether a request for a host may connect to an address.
func (d *dialer) check(to, host string, private bool) error {
	at, err := netip.ParseAddrPort(to)
	if err != nil {
		return err
	}
	denied := func(why string) error {
		return &deniedError{"http " + host, fmt.Sprintf("%s is at %s, which is %s", host, at.Addr(), why)}
	}
	switch what := special(at.Addr()); {
	case nobody(at.Addr()):
		return denied("never the address of a server")
	case what != "" && !private:
		return denied("not public: it is " + what + "; `private: true` beside the host would do it")
	case d.host.listensAt(at):
		return denied("where this host itself listens")
	}
	return nil
}

// listensAt reports whether the host itself listens at an address.
func (h *Host) listensAt(at netip.AddrPort) bool {
	if h.cfg.Listeners == nil {
		return false
	}
	addr := plain(at.Addr())
	for _, l := range h.cfg.Listeners() {
		if l.Port() != at.Port() {
			continue
		}
		if own := plain(l.Addr()); own == addr || own.IsUnspecified() && isLocal(addr) {
			return true
		}
	}
	return false
}

// isLocal reports whether an address is one of this machine. If that cannot be known it is taken for one.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && plain(p.Addr()) == addr
	})
}

// keep notes an open connection.
func (d *dialer) keep(conn net.Conn) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.Join(errEnded, conn.Close())
	}
	d.open[conn] = struct{}{}
	return &keptConn{Conn: conn, dialer: d}, nil
}

// close closes every connection, so that nothing of the transport goes on.
func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for conn := range d.open {
		_ = conn.Close() // there is nobody to tell
	}
}

// keptConn is a connection that its dialer knows.
type keptConn struct {
	net.Conn

	dialer *dialer
}

// Close implements net.Conn.
func (c *keptConn) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.open, c.Conn)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}
