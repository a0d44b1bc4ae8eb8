package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// webFunctions are the HTTP client of guests. Those that wait do so without a compute slot, and answer abi.Ending when the run
// is asked to stop.
var webFunctions = []hostFunction{
	{abi.FuncHTTPSend, i32s(4), i32s(1), httpSend},
	{abi.FuncHTTPStatus, i32s(1), i32s(1), httpStatus},
	{abi.FuncHTTPHeaders, i32s(3), i32s(1), httpHeaders},
	{abi.FuncHTTPRead, i32s(3), i32s(1), httpRead},
	{abi.FuncHTTPClose, i32s(1), nil, func(r *run, _ api.Module, s []uint64) { r.closeResponse(api.DecodeI32(s[0])) }},
}

// web is the HTTP client of one run. Nothing of it outlives the run.
type web struct {
	client    *http.Client
	dialer    *dialer
	responses map[int32]*response
	handles   int32 // that were given out
	traced    int   // requests with a span
	buffer    []byte
}

// response is one that a guest has open.
type response struct {
	*http.Response

	cancel context.CancelFunc
	span   jobhost.Span
	over   bool // the body came to its end
	broken bool // or it will not
	ended  bool
}

// end gives back what the response holds. Only the first call counts.
func (p *response) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.cancel()
	_ = p.Body.Close() // nothing more is wanted of it
	p.span.End(!p.broken && p.StatusCode < http.StatusBadRequest)
}

func (w *web) close() {
	for _, p := range w.responses {
		p.end()
	}
	w.dialer.close()
}

// closeResponse closes a response, or nothing.
func (r *run) closeResponse(handle int32) {
	if p := r.response(handle); p != nil {
		p.end()
		delete(r.web.responses, handle)
	}
}

// response returns the open response of a handle; nil: there is none.
func (r *run) response(handle int32) *response {
	if r.web == nil {
		return nil
	}
	return r.web.responses[handle]
}

func httpSend(r *run, m api.Module, s []uint64) {
	handle, refused := r.send(m, s)
	if refused != 0 {
		s[0] = errno(refused)
		return
	}
	s[0] = api.EncodeI32(handle)
}

func (r *run) send(m api.Module, s []uint64) (int32, abi.Errno) {
	if len(r.grant.HTTP) == 0 {
		r.denied("http", abi.FuncHTTPSend+": HTTP requests are not granted; the grant `http` lists hosts")
		return 0, abi.Denied
	}
	if api.DecodeU32(s[1]) > abi.MaxHTTPHead || api.DecodeU32(s[3]) > abi.MaxHTTPBody {
		return 0, abi.TooLarge
	}
	head, ok := m.Memory().Read(api.DecodeU32(s[0]), api.DecodeU32(s[1]))
	body, ok2 := m.Memory().Read(api.DecodeU32(s[2]), api.DecodeU32(s[3]))
	if !ok || !ok2 {
		return 0, abi.BadArgument
	}
	req, to, err := newRequest(head, bytes.Clone(body))
	if err != nil {
		r.remark(abi.FuncHTTPSend + ": " + err.Error())
		return 0, abi.BadArgument
	}
	if r.web == nil {
		r.web = r.newWeb()
	}
	if len(r.web.responses) >= abi.MaxResponses {
		return 0, abi.Limit
	}
	if r.stopping() {
		return 0, abi.Ending
	}
	return r.do(req, to)
}

// do sends a request and waits for the head of its response.
func (r *run) do(req *http.Request, to abi.Endpoint) (int32, abi.Errno) {
	ctx, cancel := context.WithCancel(r.ctx)
	p := &response{cancel: cancel, span: r.clientSpan(req, to)}
	if t := p.span.Traceparent(); t != "" {
		req.Header.Set("Traceparent", t)
	}
	took := false
	defer func() { // also when the run has ended meanwhile
		if !took {
			cancel()
			p.span.End(false)
		}
	}()
	var err error
	stopped := r.unlessStopped(cancel, func() {
		p.Response, err = r.web.client.Do(req.WithContext(ctx)) //nolint:bodyclose // the guest does, or the end of the run
	})
	if err == nil && stopped {
		err = errors.Join(errStopped, p.Body.Close())
	}
	if err != nil {
		refused, class := r.explain(abi.FuncHTTPSend, err)
		p.span.SetAttribute("error.type", class)
		return 0, refused
	}
	took = true
	p.span.SetAttribute("http.response.status_code", strconv.Itoa(p.StatusCode))
	p.span.SetAttribute("network.protocol.version", strconv.Itoa(p.ProtoMajor)+"."+strconv.Itoa(p.ProtoMinor))
	if p.StatusCode >= http.StatusBadRequest {
		p.span.SetAttribute("error.type", strconv.Itoa(p.StatusCode))
	}
	p.Request = nil // it holds the body
	r.web.handles++
	r.web.responses[r.web.handles] = p
	return r.web.handles, 0
}

// unlessStopped waits for the network and cancels that when the run is asked to stop. It reports whether it did. Then nothing
// that came is to be trusted: a server that sees the end of the request may end its response as if it were whole.
func (r *run) unlessStopped(cancel context.CancelFunc, wait func()) (stopped bool) {
	r.away(func() {
		done := make(chan struct{})
		var watch sync.WaitGroup
		defer watch.Wait()
		defer close(done)
		watch.Go(func() {
			select {
			case <-r.call.Stop:
				stopped = true
				cancel()
			case <-done:
			}
		})
		wait()
	})
	return stopped
}

// explain turns a failure into what the guest gets, and into a class for its span. The guest gets only a number, so the run's
// log has the words.
func (r *run) explain(function string, err error) (abi.Errno, string) {
	if denied, ok := errors.AsType[*deniedError](err); ok {
		r.denied(denied.what, function+": "+denied.Error())
		return abi.Denied, "denied"
	}
	if r.stopping() {
		return abi.Ending, "cancellation"
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which may hold what a log should not
	}
	r.remark(function + " failed: " + err.Error())
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirects):
		return abi.Limit, "redirects"
	case errors.As(err, &dns):
		return abi.Failed, "dns"
	case errors.As(err, &timeout) && timeout.Timeout():
		return abi.Failed, "timeout"
	}
	return abi.Failed, "network"
}

func httpStatus(r *run, _ api.Module, s []uint64) {
	p := r.response(api.DecodeI32(s[0]))
	if p == nil {
		s[0] = errno(abi.BadArgument)
		return
	}
	s[0] = api.EncodeI32(int32(p.StatusCode)) //nolint:gosec // three digits
}

func httpHeaders(r *run, m api.Module, s []uint64) {
	p := r.response(api.DecodeI32(s[0]))
	if p == nil {
		s[0] = errno(abi.BadArgument)
		return
	}
	lower := make(map[string][]string, len(p.Header))
	for name, values := range p.Header {
		lower[strings.ToLower(name)] = values
	}
	fill(m, s[1:], plainJSON(lower))
	s[0] = s[1]
}

// errStopped is the failure of what waited when the run was asked to stop.
var errStopped = errors.New("the run is asked to stop")

// piece is how much of a body one http_read moves at most.
const piece = 32 << 10

func httpRead(r *run, m api.Module, s []uint64) {
	p, size := r.response(api.DecodeI32(s[0])), api.DecodeU32(s[2])
	_, ok := m.Memory().Read(api.DecodeU32(s[1]), size)
	switch {
	case p == nil || !ok || size == 0:
		s[0] = errno(abi.BadArgument)
	case p.over:
		s[0] = 0
	case r.stopping():
		s[0] = errno(abi.Ending)
	case p.broken:
		s[0] = errno(abi.Failed)
	default:
		got, refused := r.read(p, min(size, piece))
		if refused != 0 {
			s[0] = errno(refused)
			return
		}
		m.Memory().Write(api.DecodeU32(s[1]), got)
		s[0] = uint64(len(got))
	}
}

// read reads the next bytes of a body; none: it is over.
func (r *run) read(p *response, most uint32) ([]byte, abi.Errno) {
	if r.web.buffer == nil {
		r.web.buffer = make([]byte, piece)
	}
	var n int
	var err error
	stopped := r.unlessStopped(p.cancel, func() {
		for n == 0 && err == nil {
			n, err = p.Body.Read(r.web.buffer[:most])
		}
	})
	got := r.web.buffer[:n]
	if stopped {
		err = errStopped
	}
	switch {
	case err == nil:
		return got, 0
	case errors.Is(err, io.EOF):
		p.over = true
		p.end()
		return got, 0
	}
	p.broken = true
	refused, class := r.explain(abi.FuncHTTPRead, err)
	p.span.SetAttribute("error.type", class)
	p.end()
	if n > 0 {
		return got, 0 // the next call tells
	}
	return nil, refused
}
