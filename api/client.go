package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/jobhost/jobhost"
)

// Client is a [jobhost.Scheduler] that asks a handler of this package. It can be used by several goroutines.
//
// Its errors are those of the scheduler behind the handler. A server that cannot be reached, or that breaks off, is
// [jobhost.NotServing]. The end of a call's context is the context's error; what the call had asked for may have happened.
type Client struct {
	base string // of all paths
	name string // of the server, in messages
	http *http.Client
}

var _ jobhost.Scheduler = (*Client)(nil)

const (
	unixScheme = "unix://"
	maxAnswer  = 256 << 20 // bytes of an answer that is JSON
	maxProblem = 1 << 20   // bytes of a problem
	maxLine    = 1 << 20   // bytes of a line of a followed log
)

// Dial returns a client for a server: unix:///path/to/socket, a path, or http://host:port. It does not connect yet.
func Dial(server string) (*Client, error) {
	switch {
	case server == "":
		return nil, badServer(server, "is empty")
	case strings.HasPrefix(server, "http://"), strings.HasPrefix(server, "https://"):
		u, err := url.Parse(server)
		if err != nil {
			return nil, badServer(server, err.Error())
		}
		if u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
			return nil, badServer(server, "is more or less than a host")
		}
		c := NewClient(u.Scheme+"://"+u.Host, newTransport())
		c.name = server
		return c, nil
	case strings.Contains(server, "://") && !strings.HasPrefix(server, unixScheme):
		return nil, badServer(server, "has a scheme that is not known")
	}
	path := strings.TrimPrefix(server, unixScheme)
	t := newTransport()
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	c := NewClient("http://jobhost", t)
	c.name = path
	return c, nil
}

func badServer(server, why string) error {
	return &jobhost.Error{
		Code: jobhost.InvalidDefinition, Op: "api.dial", Msg: fmt.Sprintf("server %q %s", server, why),
		Hint: "want the path of a socket, or http://host:port",
	}
}

// newTransport goes to the server itself: no proxy of the environment stands between a host and its steering.
func newTransport() *http.Transport {
	t := &http.Transport{MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 64 << 10}
	t.DisableCompression = true
	return t
}

// NewClient returns a client for the handler at a base URL such as http://127.0.0.1:8080, reached through rt.
func NewClient(base string, rt http.RoundTripper) *Client {
	return &Client{
		base: strings.TrimSuffix(base, "/"), name: base,
		http: &http.Client{
			Transport:     rt,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Ready asks whether the host fires triggers. It returns why it does not, with the host's own code.
func (c *Client) Ready(ctx context.Context) error {
	resp, err := c.call(ctx, http.MethodGet, "/readyz", nil)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// request is one call of the server.
type request struct {
	method string
	path   []string // segments below /v1
	query  values
	body   any // nil: none
}

// do sends a request and decodes the JSON of its answer into out, unless that is nil.
func (c *Client) do(ctx context.Context, r request, out any) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // everything that matters has been read
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

// send returns an answer that is no failure. The caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	path := make([]string, len(r.path))
	for i, s := range r.path {
		path[i] = url.PathEscape(s)
	}
	u := "/v1/" + strings.Join(path, "/")
	if len(r.query) > 0 {
		u += "?" + url.Values(r.query).Encode()
	}
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, unwritable(err)
		}
		body = bytes.NewReader(b)
	}
	return c.call(ctx, r.method, u, body)
}

// call is send for a path below the base.
func (c *Client) call(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, badServer(c.name, err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was read only
	return nil, c.refused(ctx, resp)
}

func unwritable(err error) error {
	return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "api.call", Msg: "cannot be written as JSON: " + err.Error(), Err: err}
}

// refused reads the problem that a server answered with.
func (c *Client) refused(ctx context.Context, resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return c.broken(ctx, err)
	}
	var p Problem
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == problemType && json.Unmarshal(b, &p) == nil && p.Code != "" {
		return p.Err()
	}
	return &jobhost.Error{
		Code: jobhost.Unexpected, Op: "api.call", Msg: fmt.Sprintf("server %s answered %s to %s %s", c.name, resp.Status, resp.Request.Method, resp.Request.URL.Path),
		Hint: "is it a jobhost of this version?",
	}
}

// broken is the error of a call that got no whole answer.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &jobhost.Error{Code: jobhost.NotServing, Op: "api.call", Err: err}
	if opErr, ok := errors.AsType[*net.OpError](err); ok && opErr.Op == "dial" {
		e.Msg = fmt.Sprintf("cannot reach server %s: %v", c.name, reason(opErr))
		e.Hint = "is `jobhost serve` running in this folder?"
		return e
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	e.Msg = fmt.Sprintf("server %s broke off: %v", c.name, err)
	return e
}

// reason is why a connection failed, without the address, which the message has already.
func reason(err *net.OpError) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err.Err
}
