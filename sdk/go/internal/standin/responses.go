package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// The limits of a host.
const (
	maxBody      = 8 << 20
	maxResponses = 16
)

// Responses sends requests through a round tripper, and keeps the responses that are open. It follows redirects, as a host
// does. It is for one goroutine at a time.
type Responses struct {
	transport http.RoundTripper // nil: everything is denied
	open      map[int32]*http.Response
	last      int32
}

// NewResponses returns a Responses without responses.
func NewResponses(rt http.RoundTripper) *Responses {
	return &Responses{transport: rt, open: map[int32]*http.Response{}}
}

// Send sends a request; ctx ends it.
func (r *Responses) Send(ctx context.Context, head, body []byte) (int32, error) {
	var h struct {
		Method  string              `json:"method"`
		URL     string              `json:"url"`
		Headers map[string][]string `json:"headers"`
	}
	switch {
	case r.transport == nil:
		return 0, wire.Denied
	case len(body) > maxBody:
		return 0, wire.TooLarge
	case len(r.open) == maxResponses:
		return 0, wire.Limit
	case json.Unmarshal(head, &h) != nil:
		return 0, wire.BadArgument
	}
	req, err := http.NewRequestWithContext(ctx, h.Method, h.URL, bytes.NewReader(body))
	if err != nil {
		return 0, wire.BadArgument
	}
	for name, values := range h.Headers {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	client := http.Client{Transport: r.transport}
	resp, err := client.Do(req)
	switch {
	case ctx.Err() != nil:
		if resp != nil {
			_ = resp.Body.Close() // nobody will read it
		}
		return 0, wire.Ending
	case err != nil:
		return 0, wire.Failed
	}
	r.last++
	r.open[r.last] = resp
	return r.last, nil
}

// Status returns the status of a response.
func (r *Responses) Status(handle int32) (int, error) {
	resp, ok := r.open[handle]
	if !ok {
		return 0, wire.BadArgument
	}
	return resp.StatusCode, nil
}

// Headers returns the headers of a response.
func (r *Responses) Headers(handle int32) ([]byte, error) {
	resp, ok := r.open[handle]
	if !ok {
		return nil, wire.BadArgument
	}
	lower := make(map[string][]string, len(resp.Header))
	for name, values := range resp.Header {
		lower[strings.ToLower(name)] = values
	}
	return json.Marshal(lower)
}

// Read reads from the body of a response.
func (r *Responses) Read(handle int32, p []byte) (int, error) {
	resp, ok := r.open[handle]
	if !ok || len(p) == 0 {
		return 0, wire.BadArgument
	}
	for {
		n, err := resp.Body.Read(p)
		switch {
		case n > 0, errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return 0, wire.Ending
		case err != nil:
			return 0, wire.Failed
		}
	}
}

// Close forgets a response, if there is one.
func (r *Responses) Close(handle int32) {
	if resp, ok := r.open[handle]; ok {
		_ = resp.Body.Close() // whoever wanted it has read it
		delete(r.open, handle)
	}
}

// CloseAll forgets all responses, and returns how many there were.
func (r *Responses) CloseAll() int {
	n := len(r.open)
	for handle := range r.open {
		r.Close(handle)
	}
	return n
}
