package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

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

func (h *handler) log(ctx context.Context, in *struct {
	RunPath

	After  int  `query:"after" doc:"Only entries with a larger seq."`
	Follow bool `query:"follow" doc:"Go on until the run has ended."`
},
) (*stream, error) {
	id, err := h.found(ctx, in.RunPath)
	if err != nil {
		return nil, err
	}
	q := jobhost.LogQuery{After: in.After, Follow: in.Follow}
	if q.Follow {
		return &stream{func(hc huma.Context) { writeLines(ctx, hc, h.s.Log(ctx, id, q), false) }}, nil
	}
	entries := []jobhost.LogEntry{} // at most 1 MiB, the most that a grant can give
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

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
