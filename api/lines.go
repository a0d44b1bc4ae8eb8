package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const linesType = "application/x-ndjson"

// brokenOff is the last line of a stream that was cut short.
type brokenOff struct {
	Problem *Problem `json:"problem,omitempty"`
}

// stream is an answer that writes itself.
type stream struct{ Body func(huma.Context) }

// writeLines writes each item as a line, as it comes. With atOnce the answer begins before the first one. Otherwise its
// status is decided by what comes first, so that what is not there is a 404.
func writeLines[T any](ctx context.Context, hc huma.Context, items iter.Seq2[T, error], atOnce bool) {
	_, w := humago.Unwrap(hc)
	out, flush := encoder(w), http.NewResponseController(w).Flush
	began := false
	begin := func() {
		if !began {
			began = true
			w.Header().Set("Content-Type", linesType)
			w.WriteHeader(http.StatusOK)
		}
	}
	if atOnce {
		begin()
		if flush() != nil {
			return
		}
	}
	for item, err := range items {
		if err != nil {
			p := problemOf(ctx, err)
			if !began {
				writeProblem(w, p)
			} else if out.Encode(brokenOff{p}) == nil {
				_ = flush() // it was the last line
			}
			return
		}
		begin()
		if out.Encode(item) != nil || flush() != nil {
			return
		}
	}
	begin() // there was nothing to say
}

// readLines yields the items of such an answer, and at the end what cut it short.
func readLines[T any](ctx context.Context, c *Client, r io.Reader, yield func(T, error) bool) {
	var none T
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var item T
		var end brokenOff
		err := json.Unmarshal(lines.Bytes(), &end)
		if err == nil && end.Problem != nil {
			yield(none, end.Problem.Err())
			return
		}
		if err == nil {
			err = json.Unmarshal(lines.Bytes(), &item)
		}
		if err != nil {
			yield(none, c.broken(ctx, err))
			return
		}
		if !yield(item, nil) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		yield(none, c.broken(ctx, err))
	}
}
