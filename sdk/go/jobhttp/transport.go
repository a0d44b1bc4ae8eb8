package jobhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// MaxBody is the most bytes that the body of a request may have.
const MaxBody = 8 << 20

// Transport is an [http.RoundTripper] that asks the host. Its zero value is ready, and it may stand in for
// [http.DefaultTransport]. At most 16 responses of a run may be open; closing their bodies is the caller's business, as
// always.
//
// Errors wrap jobhost.ErrDenied, ErrFailed (the network), ErrTooLarge, ErrLimit and ErrStopped.
type Transport struct{}

// RoundTrip implements [http.RoundTripper].
func (Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	h, ok := wire.FromContext(ctx)
	if !ok {
		return nil, errors.New("the request's context is not that of a run; make the request with the context of the handler")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	head, err := json.Marshal(requestHead(req))
	if err != nil {
		return nil, err
	}
	handle, err := h.Send(head, body)
	if err != nil {
		return nil, err
	}
	resp, err := response(h, handle, req)
	if err != nil {
		h.Close(handle)
		return nil, err
	}
	return resp, nil
}

// readBody reads and closes the body of a request.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, MaxBody+1))
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	if len(body) > MaxBody {
		return nil, fmt.Errorf("the request's body has more than %d bytes: %w", MaxBody, jobhost.ErrTooLarge)
	}
	return body, nil
}

// head is the document that the host gets.
type head struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
}

func requestHead(req *http.Request) head {
	h := head{Method: req.Method, URL: req.URL.String(), Headers: req.Header}
	if h.Method == "" {
		h.Method = http.MethodGet
	}
	if h.Headers == nil {
		h.Headers = map[string][]string{}
	}
	return h
}

// response is the head of a response, with a body that is read from the host.
func response(h wire.Host, handle int32, req *http.Request) (*http.Response, error) {
	status, err := h.Status(handle)
	if err != nil {
		return nil, err
	}
	doc, err := h.Headers(handle)
	if err != nil {
		return nil, err
	}
	var headers map[string][]string
	if err := json.Unmarshal(doc, &headers); err != nil {
		return nil, fmt.Errorf("headers of the response: %w", err)
	}
	resp := http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(headers)), Body: &stream{host: h, handle: handle, ctx: req.Context()}, ContentLength: -1, Request: req,
	}
	for name, values := range headers {
		for _, v := range values {
			resp.Header.Add(name, v)
		}
	}
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		resp.ContentLength = n
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
	if n == 0 && err == nil {
		err = io.EOF
	}
	s.err = err
	return n, err
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.host.Close(s.handle)
	s.err = http.ErrBodyReadAfterClose
	return nil
}
