package jobhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	jobhost "github.com/jobhost/jobhost/sdk/go"
)

// MaxBody is the most bytes that the body of a request may have.
const MaxBody = 8 << 20

// Transport is an [http.RoundTripper] over [jobhost.Send]. Its zero value is ready, and it may stand in for
// [http.DefaultTransport]. At most 16 responses of a run may be open; closing their bodies is the caller's business, as
// always. Its errors are those of Send.
type Transport struct{}

// RoundTrip implements [http.RoundTripper].
func (Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	resp, err := jobhost.Send(req.Context(), jobhost.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: body})
	if err != nil {
		return nil, err
	}
	return response(resp, req), nil
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

func response(from *jobhost.Response, req *http.Request) *http.Response {
	resp := http.Response{
		Status: strconv.Itoa(from.Status) + " " + http.StatusText(from.Status), StatusCode: from.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(from.Header)), Body: from.Body, ContentLength: -1, Request: req,
	}
	for name, values := range from.Header {
		for _, v := range values {
			resp.Header.Add(name, v)
		}
	}
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		resp.ContentLength = n
	}
	return &resp
}
