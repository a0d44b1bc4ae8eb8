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

// runPath names a run.
type runPath struct {
	ID string `path:"id"`
}

func (h *handler) runs(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/v1/runs", Summary: "List the history, newest start first",
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
	}, func(ctx context.Context, in *runPath) (*body[jobhost.Run], error) {
		run, err := h.run(ctx, jobhost.RunID(in.ID))
		return &body[jobhost.Run]{readableRun(run)}, err
	})
	add(h, a, huma.Operation{
		OperationID: "get-output", Method: http.MethodGet, Path: "/v1/runs/{id}/output", Summary: "What a run returned; 204 when nothing",
	}, h.output)
	add(h, a, huma.Operation{
		OperationID: "cancel-run", Method: http.MethodPost, Path: "/v1/runs/{id}/cancel", DefaultStatus: http.StatusAccepted, Summary: "Ask a run to end",
	}, func(ctx context.Context, in *runPath) (*empty, error) {
		_, err := jobhost.One(h.s.CancelRuns(ctx, []jobhost.RunID{jobhost.RunID(in.ID)}))
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
	Data  bool   `query:"data" doc:"With the data of each run, which can be long."`
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
	for i := range runs {
		if runs[i].Data = readable(runs[i].Data); !in.Data {
			runs[i].Data = nil
		}
	}
	return list(runs), err
}

func (h *handler) run(ctx context.Context, id jobhost.RunID) (jobhost.Run, error) {
	if _, err := jobhost.ParseRunID(string(id)); err != nil {
		return jobhost.Run{}, noRun(id)
	}
	runs, err := h.s.Runs(ctx, jobhost.RunQuery{IDs: []jobhost.RunID{id}, Limit: 1})
	if err == nil && len(runs) == 0 {
		err = noRun(id)
	}
	if err != nil {
		return jobhost.Run{}, err
	}
	return runs[0], nil
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
func (h *handler) output(ctx context.Context, in *runPath) (*raw, error) {
	out, err := h.s.Output(ctx, jobhost.RunID(in.ID))
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
