package jobhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// Request is an HTTP request that the host sends.
type Request struct {
	Method string              // GET if empty
	URL    string              // http or https, with a host that the job is granted
	Header map[string][]string // not Host, nor what says how a message is framed
	Body   []byte              // at most 8 MiB
}

// Response is the answer. Its Body must be closed; at most 16 of a run may be open.
type Response struct {
	Status int                 // such as 200
	Header map[string][]string // names in lower case
	Body   io.ReadCloser
}

// Get returns the first value of a header, whatever the case of its name; empty: there is none.
func (r *Response) Get(name string) string {
	if values := r.Header[strings.ToLower(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Send sends a request and waits for the head of the response. The host follows redirects, and does not unpack compressed
// bodies. A guest that uses Send is several MiB smaller than one with package jobhttp, which has the types of net/http.
//
// Errors wrap [ErrDenied], [ErrBadArgument], [ErrFailed] (the network), [ErrTooLarge], [ErrLimit] and [ErrStopped]; so do
// those of the body, which ends with ctx.
func Send(ctx context.Context, req Request) (*Response, error) {
	h, ok := wire.FromContext(ctx)
	if !ok {
		return nil, errors.New("http: the context is not that of a run; use the one that the handler was called with")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	head, err := json.Marshal(requestHead(req))
	if err != nil {
		return nil, err
	}
	handle, err := h.Send(head, req.Body)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	resp, err := response(ctx, h, handle)
	if err != nil {
		h.Close(handle)
		return nil, fmt.Errorf("http: %w", err)
	}
	return resp, nil
}

// head is the document that the host gets.
type head struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
}

func requestHead(req Request) head {
	h := head{req.Method, req.URL, req.Header}
	if h.Method == "" {
		h.Method = "GET"
	}
	if h.Headers == nil {
		h.Headers = map[string][]string{}
	}
	return h
}

func response(ctx context.Context, h wire.Host, handle int32) (*Response, error) {
	status, err := h.Status(handle)
	if err != nil {
		return nil, err
	}
	doc, err := h.Headers(handle)
	if err != nil {
		return nil, err
	}
	resp := Response{Status: status, Body: &stream{host: h, handle: handle, ctx: ctx}}
	if err := json.Unmarshal(doc, &resp.Header); err != nil {
		return nil, fmt.Errorf("headers of the response: %w", err)
	}
	return &resp, nil
}

// stream is the body of a response.
type stream struct {
	host   wire.Host
	handle int32
	ctx    context.Context //nolint:containedctx // a body is read under the request's context
	err    error           // what the next read returns
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	switch {
	case s.err != nil:
		return 0, s.err
	case len(p) == 0:
		return 0, nil
	case s.ctx.Err() != nil:
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	n, err := s.host.Read(s.handle, p)
	switch {
	case err != nil:
		s.err = fmt.Errorf("http: body: %w", err)
	case n == 0:
		s.err = io.EOF
	}
	return n, s.err
}

var errClosed = errors.New("http: the body was closed")

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.host.Close(s.handle)
	s.err = errClosed
	return nil
}
