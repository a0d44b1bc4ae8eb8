package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// replay registers the repetition of a run.
func (h *handler) replay(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "replay-run", Method: http.MethodPost, Path: "/v1/runs/{id}/replay",
		Summary: "Run an ended run once more, beside the scheduler and without a record, and wait for the outcome",
		Description: "With the module and the data on record and by the planned clock, without grants unless they are asked for. " +
			"The end of the request ends it. The answer's output is in base64.",
	}, func(ctx context.Context, in *struct {
		RunPath

		Body *jobhost.ReplayRequest
	},
	) (*body[jobhost.Replayed], error) {
		req := jobhost.ReplayRequest{}
		if in.Body != nil {
			req = *in.Body
		}
		var err error
		if req.Run, err = h.found(ctx, in.RunPath); err != nil {
			return nil, err
		}
		got, err := h.s.Replay(ctx, req)
		got.Recorded, got.Replay = readableRun(got.Recorded), readableRun(got.Replay)
		return &body[jobhost.Replayed]{got}, err
	})
}

// Replay implements [jobhost.Scheduler].
func (c *Client) Replay(ctx context.Context, req jobhost.ReplayRequest) (got jobhost.Replayed, err error) {
	if _, err := jobhost.ParseRunID(string(req.Run)); err != nil { // it could not stand in a path
		return got, noRun(req.Run)
	}
	err = c.do(ctx, request{method: http.MethodPost, path: []string{"runs", string(req.Run), "replay"}, body: req}, &got)
	return got, err
}
