package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// previews registers what will run and when, and why something does not run now.
func (h *handler) previews(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "explain-job", Method: http.MethodGet, Path: "/v1/jobs/{job}/explain", Summary: "Say why a job is not running now",
	}, func(ctx context.Context, in *jobPath) (*body[jobhost.Explanation], error) {
		x, err := h.s.Explain(ctx, in.Job)
		return &body[jobhost.Explanation]{x}, err
	})
	add(h, a, huma.Operation{
		OperationID: "next-of-job", Method: http.MethodGet, Path: "/v1/jobs/{job}/next", Summary: "Coming firings of a job",
	}, func(ctx context.Context, in *struct {
		Job     string    `path:"job"`
		Trigger string    `query:"trigger" doc:"Absent: each trigger."`
		From    time.Time `query:"from" doc:"Slots after this instant; absent: now."`
		Count   number    `query:"count" doc:"1 to 1000; 10 when absent."`
	},
	) (*body[[]jobhost.Slot], error) {
		return h.next(ctx, jobhost.NextQuery{Job: in.Job, Trigger: in.Trigger, From: in.From}, in.Count)
	})
	add(h, a, huma.Operation{
		OperationID: "next-of-schedule", Method: http.MethodGet, Path: "/v1/next", Summary: "Coming firings of a schedule text",
	}, func(ctx context.Context, in *struct {
		Schedule string    `query:"schedule" required:"true" doc:"Schedule text, such as cron 0 3 * * *."`
		From     time.Time `query:"from" doc:"Slots after this instant; absent: now."`
		Count    number    `query:"count" doc:"1 to 1000; 10 when absent."`
	},
	) (*body[[]jobhost.Slot], error) {
		return h.next(ctx, jobhost.NextQuery{Schedule: in.Schedule, From: in.From}, in.Count)
	})
}

func (h *handler) next(ctx context.Context, q jobhost.NextQuery, count number) (*body[[]jobhost.Slot], error) {
	if q.From, q.Count = q.From.UTC(), count.Value; count.given && count.Value == 0 {
		return nil, outOfRange("count", 0, MaxPage, jobhost.InvalidDefinition)
	}
	slots, err := h.s.Next(ctx, q)
	return list(slots), err
}
