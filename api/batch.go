package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// items is the input of a batch.
type items[T any] struct {
	Body []T `maxItems:"1000"`
}

func (h *handler) batches(a huma.API) {
	batch(h, a, "schedule-jobs", "/v1/jobs:schedule", "Define or replace jobs", Definition.JobDef, h.s.Schedule)
	batch(h, a, "restore-jobs", "/v1/jobs:restore", "Put the definitions of the files back", same[jobhost.Name], h.s.Restore)
	batch(h, a, "delete-jobs", "/v1/jobs:delete", "Remove jobs; their history stays", same[jobhost.Name], done(h.s.Delete))
	batch(h, a, "pause-jobs", "/v1/jobs:pause", "Stop the firing of jobs or triggers", plain(Target.target), done(h.s.Pause))
	batch(h, a, "resume-jobs", "/v1/jobs:resume", "Let jobs or triggers fire again", plain(Target.target), done(h.s.Resume))
	batch(h, a, "trigger-jobs", "/v1/jobs:trigger", "Run jobs here and now and wait", plain(TriggerRequest.request), h.triggerReadable)
	batch(h, a, "enqueue-jobs", "/v1/jobs:enqueue", "Plan one run of each job", plain(EnqueueRequest.request), h.s.Enqueue)
	batch(h, a, "status-jobs", "/v1/jobs:status", "Describe jobs", same[jobhost.Name], h.s.Status)
	batch(h, a, "cancel-runs", "/v1/runs:cancel", "Ask runs to end", same[jobhost.RunID], done(h.s.CancelRuns))
}

// triggerReadable answers with runs whose data can be read.
func (h *handler) triggerReadable(ctx context.Context, reqs []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
	rs := h.s.Trigger(ctx, reqs)
	for i := range rs {
		rs[i].Value = readableRun(rs[i].Value)
	}
	return rs
}

// batch registers an operation on a list. An item that cannot be read is answered without the scheduler.
func batch[W, In, Out any](h *handler, a huma.API, id, path, summary string,
	read func(W) (In, error), do func(context.Context, []In) []jobhost.Result[Out],
) {
	add(h, a, huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, MaxBodyBytes: MaxBatch,
	}, func(ctx context.Context, in *items[W]) (*body[[]Result[Out]], error) {
		answers := make([]Result[Out], len(in.Body))
		var good []In
		var at []int // of each good item its place
		for i, w := range in.Body {
			item, err := read(w)
			if err != nil {
				answers[i].Problem = problemOf(ctx, err)
				continue
			}
			good, at = append(good, item), append(at, i)
		}
		if len(good) == 0 { // an empty list means all to some
			return list(answers), nil
		}
		for i, r := range do(ctx, good) {
			if r.Err != nil {
				answers[at[i]].Problem = problemOf(ctx, r.Err)
				continue
			}
			answers[at[i]] = Result[Out]{OK: true, Value: &r.Value}
		}
		return list(answers), nil
	})
}

func same[T any](v T) (T, error) { return v, nil }

func plain[W, In any](f func(W) In) func(W) (In, error) {
	return func(w W) (In, error) { return f(w), nil }
}

// done gives the answers of an operation without a value a type with a name, for the OpenAPI document.
func done[In any](do func(context.Context, []In) []jobhost.Result[struct{}]) func(context.Context, []In) []jobhost.Result[Done] {
	return func(ctx context.Context, in []In) []jobhost.Result[Done] {
		rs := do(ctx, in)
		out := make([]jobhost.Result[Done], len(rs))
		for i, r := range rs {
			out[i].Err = r.Err
		}
		return out
	}
}
