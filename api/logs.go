package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jobhost/jobhost"
)

const linesType = "application/x-ndjson"

// line is one line of a followed log: an entry, or as the last one what cut the log short.
type line struct {
	jobhost.LogEntry

	Problem *Problem `json:"problem,omitempty"`
}

func (h *handler) logs(a huma.API) {
	entries := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[[]jobhost.LogEntry](), true, "")
	entry := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[jobhost.LogEntry](), true, "")
	add(h, a, huma.Operation{
		OperationID: "get-log", Method: http.MethodGet, Path: "/v1/runs/{id}/logs", Summary: "Read a run's log, or follow it",
		Responses: map[string]*huma.Response{"200": {
			Description: "An array, or with follow one entry a line until the run has ended.",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: entries}, linesType: {Schema: entry}},
		}},
	}, h.log)
}

type stream struct{ Body func(huma.Context) }

func (h *handler) log(ctx context.Context, in *struct {
	ID     string `path:"id"`
	After  int    `query:"after" doc:"Only entries with a larger seq."`
	Follow bool   `query:"follow" doc:"Go on until the run has ended."`
},
) (*stream, error) {
	id, q := jobhost.RunID(in.ID), jobhost.LogQuery{After: in.After, Follow: in.Follow}
	if q.Follow {
		return &stream{func(hc huma.Context) { h.follow(ctx, hc, id, q) }}, nil
	}
	entries := []jobhost.LogEntry{} // at most 256 KiB, DESIGN section 6
	for e, err := range h.s.Log(ctx, id, q) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return &stream{func(hc huma.Context) { writeJSON(hc, entries) }}, nil
}

func writeJSON(hc huma.Context, v any) {
	hc.SetHeader("Content-Type", "application/json")
	hc.SetStatus(http.StatusOK)
	_ = encoder(hc.BodyWriter()).Encode(v) // the client is gone; there is nobody to tell
}

// follow writes each entry as it comes. The status is decided by what comes first, so an unknown run is a 404.
func (h *handler) follow(ctx context.Context, hc huma.Context, id jobhost.RunID, q jobhost.LogQuery) {
	_, w := humago.Unwrap(hc)
	out, flush := encoder(w), http.NewResponseController(w).Flush
	began := false
	for e, err := range h.s.Log(ctx, id, q) {
		l := line{LogEntry: e}
		if err != nil {
			l.Problem = problemOf(ctx, err)
			if !began {
				writeProblem(w, l.Problem)
				return
			}
		}
		if !began {
			began = true
			w.Header().Set("Content-Type", linesType)
		}
		if out.Encode(l) != nil || flush() != nil || err != nil {
			return
		}
	}
	if !began { // a run that said nothing
		w.Header().Set("Content-Type", linesType)
		w.WriteHeader(http.StatusOK)
	}
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
