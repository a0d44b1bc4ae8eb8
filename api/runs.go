package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// RunPath is the part of a path that names a run.
type RunPath struct {
	ID string `path:"id" doc:"Of the run, or the beginning of it that no other run has, of at least 8 digits."`
}

// found is the id that a path stands for.
func (h *handler) found(ctx context.Context, p RunPath) (jobhost.RunID, error) {
	return jobhost.FindRunID(ctx, h.s, p.ID)
}

func (h *handler) runs(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/v1/runs", Summary: "List the history without the runs' data, newest start first",
	}, h.listRuns)
	add(h, a, huma.Operation{
		OperationID: "count-runs", Method: http.MethodGet, Path: "/v1/runs/count", Summary: "Count runs of the history",
	}, func(ctx context.Context, in *RunFilter) (*body[Count], error) {
		q, err := in.query()
		if err != nil {
			return nil, err
		}
		n, err := h.s.CountRuns(ctx, q)
		return &body[Count]{Count{n}}, err
	})
	add(h, a, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/v1/runs/{id}", Summary: "Show a run, with its data",
	}, func(ctx context.Context, in *RunPath) (*body[jobhost.Run], error) {
		id, err := h.found(ctx, *in)
		if err != nil {
			return nil, err
		}
		run, err := h.s.Run(ctx, id)
		return &body[jobhost.Run]{readableRun(run)}, err
	})
	add(h, a, huma.Operation{
		OperationID: "get-output", Method: http.MethodGet, Path: "/v1/runs/{id}/output", Summary: "What a run returned; 204 when nothing",
	}, h.output)
	add(h, a, huma.Operation{
		OperationID: "cancel-run", Method: http.MethodPost, Path: "/v1/runs/{id}/cancel", DefaultStatus: http.StatusAccepted, Summary: "Ask a run to end",
	}, func(ctx context.Context, in *RunPath) (*empty, error) {
		id, err := h.found(ctx, *in)
		if err != nil {
			return nil, err
		}
		_, err = jobhost.One(h.s.CancelRuns(ctx, []jobhost.RunID{id}))
		return nil, err
	})
	add(h, a, huma.Operation{
		OperationID: "list-plugins", Method: http.MethodGet, Path: "/v1/plugins", Summary: "List what jobs can refer to",
	}, func(ctx context.Context, _ *empty) (*body[[]jobhost.Plugin], error) {
		plugins, err := h.s.Plugins(ctx)
		return list(plugins), err
	})
}

func (h *handler) listRuns(ctx context.Context, in *struct {
	RunFilter

	Skip  int    `query:"skip" doc:"Leave out the first ones."`
	Limit number `query:"limit" doc:"1 to 1000; 100 when absent."`
},
) (*body[[]jobhost.Run], error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	if q.Skip, q.Limit = in.Skip, in.Limit.Value; in.Limit.given && q.Limit == 0 {
		return nil, outOfRange("limit", 0, MaxPage, jobhost.InvalidPage)
	}
	runs, err := h.s.Runs(ctx, q)
	return list(runs), err
}

func noRun(id jobhost.RunID) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundRun, Op: "api.run", Msg: fmt.Sprintf("run %q does not exist", id), Params: map[string]any{"run": string(id)},
	}
}

// raw is an answer that is not JSON of ours.
type raw struct {
	Status      int
	ContentType string `header:"Content-Type"`
	Body        []byte `contentType:"application/octet-stream"`
}

// output answers with the very bytes, named for what they look like: JSON if they parse, else text, else bytes (ABI 1).
func (h *handler) output(ctx context.Context, in *RunPath) (*raw, error) {
	id, err := h.found(ctx, *in)
	if err != nil {
		return nil, err
	}
	out, err := h.s.Output(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return &raw{Status: http.StatusNoContent}, nil
	case json.Valid(out):
		return &raw{http.StatusOK, "application/json", out}, nil
	case utf8.Valid(out):
		return &raw{http.StatusOK, "text/plain; charset=utf-8", out}, nil
	}
	return &raw{http.StatusOK, "application/octet-stream", out}, nil
}
