package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// MaxPage is the most items of a page; DefaultPage its size where none is given (SPEC 22).
const (
	MaxPage     = 1000
	DefaultPage = 100
)

// number is an integer query parameter that knows whether it was given: an explicit 0 is not the same as none.
type number struct {
	Value int
	given bool
}

// Receiver is where the framework puts the value.
func (n *number) Receiver() reflect.Value { return reflect.ValueOf(n).Elem().Field(0) }

// OnParamSet tells whether there was one.
func (n *number) OnParamSet(given bool, _ any) { n.given = given }

// Schema describes an integer.
func (number) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[int]())
}

// The inputs and outputs that several operations share.
type (
	jobPath struct {
		Job string `path:"job"`
	}
	body[T any] struct{ Body T }
	empty       struct{}
)

func (h *handler) jobs(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Summary: "Describe jobs, by name",
	}, h.listJobs)
	add(h, a, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{job}", Summary: "Describe a job",
	}, func(ctx context.Context, in *jobPath) (*body[jobhost.JobStatus], error) {
		st, err := jobhost.One(h.s.Status(ctx, []jobhost.Name{in.Job}))
		return &body[jobhost.JobStatus]{st}, err
	})
	add(h, a, huma.Operation{
		OperationID: "put-job", Method: http.MethodPut, Path: "/v1/jobs/{job}", Summary: "Define or replace a job",
	}, h.putJob)
	add(h, a, huma.Operation{
		OperationID: "delete-job", Method: http.MethodDelete, Path: "/v1/jobs/{job}", Summary: "Remove a job; its history stays",
	}, func(ctx context.Context, in *jobPath) (*empty, error) {
		_, err := jobhost.One(h.s.Delete(ctx, []jobhost.Name{in.Job}))
		return nil, err
	})
	add(h, a, huma.Operation{
		OperationID: "restore-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/restore", Summary: "Put the definition of the files back",
	}, func(ctx context.Context, in *jobPath) (*body[jobhost.JobInfo], error) {
		info, err := jobhost.One(h.s.Restore(ctx, []jobhost.Name{in.Job}))
		return &body[jobhost.JobInfo]{info}, err
	})
	h.pauses(a)
	h.starts(a)
	h.previews(a)
}

// listJobs pages over the jobs by name.
func (h *handler) listJobs(ctx context.Context, in *struct {
	After string `query:"after" doc:"Only names after this one."`
	Limit number `query:"limit" doc:"1 to 1000; 100 when absent."`
},
) (*body[[]jobhost.JobStatus], error) {
	limit := DefaultPage
	if in.Limit.given {
		limit = in.Limit.Value
	}
	if limit < 1 || limit > MaxPage {
		return nil, outOfRange("limit", limit, MaxPage, jobhost.InvalidPage)
	}
	page, err := h.page(ctx, in.After, limit)
	return list(page), err
}

// JobNamer is a scheduler that can list the names of its jobs, in order and after a given one, without describing them.
// A handler over one describes only the jobs of the page that it was asked for.
type JobNamer interface {
	JobNames(ctx context.Context, after jobhost.Name, limit int) ([]jobhost.Name, error)
}

// page describes jobs until it is full or there are no more: the client takes a page that is not full for the last.
func (h *handler) page(ctx context.Context, after jobhost.Name, limit int) (page []jobhost.JobStatus, err error) {
	namer, ok := h.s.(JobNamer)
	if !ok {
		for _, r := range h.s.Status(ctx, nil) {
			if r.Err != nil {
				return nil, r.Err
			}
			if r.Value.Name > after && len(page) < limit {
				page = append(page, r.Value)
			}
		}
		return page, nil
	}
	for len(page) < limit {
		names, err := namer.JobNames(ctx, after, limit-len(page))
		if err != nil || len(names) == 0 {
			return page, err
		}
		for _, r := range h.s.Status(ctx, names) {
			switch {
			case jobhost.CodeOf(r.Err) == jobhost.NotFoundJob: // deleted just now
			case r.Err != nil:
				return nil, r.Err
			default:
				page = append(page, r.Value)
			}
		}
		after = names[len(names)-1]
	}
	return page, nil
}

func outOfRange(what string, value, largest int, code jobhost.Code) error {
	return &jobhost.Error{Code: code, Op: "api", Msg: fmt.Sprintf("%s is %d; want 1 to %d", what, value, largest)}
}

func (h *handler) putJob(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Body Definition
},
) (*body[jobhost.JobInfo], error) {
	if in.Body.Name != "" && in.Body.Name != in.Job {
		msg := fmt.Sprintf("the path names job %q, the definition %q; want one name", in.Job, in.Body.Name)
		return nil, &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "api.define", Msg: msg}
	}
	in.Body.Name = in.Job
	def, err := in.Body.JobDef()
	if err != nil {
		return nil, err
	}
	info, err := jobhost.One(h.s.Schedule(ctx, []jobhost.JobDef{def}))
	return &body[jobhost.JobInfo]{info}, err
}

func (h *handler) pauses(a huma.API) {
	type pause struct {
		Reason string `json:"reason,omitempty" doc:"Shown until the pause is lifted."`
	}
	type resume struct {
		SkipMissed bool `json:"skipMissed,omitempty" doc:"What was missed is not made up."`
	}
	add(h, a, huma.Operation{
		OperationID: "pause-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/pause", Summary: "Stop the firing of a job",
	}, func(ctx context.Context, in *struct {
		Job  string `path:"job"`
		Body *pause
	},
	) (*empty, error) {
		_, err := jobhost.One(h.s.Pause(ctx, []jobhost.Target{{Job: in.Job, Reason: or(in.Body).Reason}}))
		return nil, err
	})
	add(h, a, huma.Operation{
		OperationID: "pause-trigger", Method: http.MethodPost, Path: "/v1/jobs/{job}/triggers/{trigger}/pause", Summary: "Stop the firing of a trigger",
	}, func(ctx context.Context, in *struct {
		Job     string `path:"job"`
		Trigger string `path:"trigger"`
		Body    *pause
	},
	) (*empty, error) {
		_, err := jobhost.One(h.s.Pause(ctx, []jobhost.Target{{Job: in.Job, Trigger: in.Trigger, Reason: or(in.Body).Reason}}))
		return nil, err
	})
	add(h, a, huma.Operation{
		OperationID: "resume-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/resume", Summary: "Let a job fire again",
	}, func(ctx context.Context, in *struct {
		Job  string `path:"job"`
		Body *resume
	},
	) (*empty, error) {
		_, err := jobhost.One(h.s.Resume(ctx, []jobhost.Target{{Job: in.Job, SkipMissed: or(in.Body).SkipMissed}}))
		return nil, err
	})
	add(h, a, huma.Operation{
		OperationID: "resume-trigger", Method: http.MethodPost, Path: "/v1/jobs/{job}/triggers/{trigger}/resume", Summary: "Let a trigger fire again",
	}, func(ctx context.Context, in *struct {
		Job     string `path:"job"`
		Trigger string `path:"trigger"`
		Body    *resume
	},
	) (*empty, error) {
		_, err := jobhost.One(h.s.Resume(ctx, []jobhost.Target{{Job: in.Job, Trigger: in.Trigger, SkipMissed: or(in.Body).SkipMissed}}))
		return nil, err
	})
}

// or is what an optional body says.
func or[T any](given *T) T {
	if given == nil {
		var none T
		return none
	}
	return *given
}

func (h *handler) starts(a huma.API) {
	type trigger struct {
		Data json.RawMessage `json:"data,omitempty" doc:"A JSON object, laid over the job's."`
	}
	add(h, a, huma.Operation{
		OperationID: "trigger-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/trigger",
		Summary: "Run a job here and now and wait; answers with the run, however it ended",
	}, func(ctx context.Context, in *struct {
		Job  string `path:"job"`
		Body *trigger
	},
	) (*body[jobhost.Run], error) {
		run, err := jobhost.One(h.s.Trigger(ctx, []jobhost.TriggerRequest{{Job: in.Job, Data: object(or(in.Body).Data)}}))
		return &body[jobhost.Run]{readableRun(run)}, err
	})

	type enqueue struct {
		Data     json.RawMessage `json:"data,omitempty" doc:"A JSON object, laid over the job's."`
		At       time.Time       `json:"at,omitzero" doc:"Not before; absent: now."`
		Priority *int32          `json:"priority,omitempty" doc:"Larger goes first; 5 when absent."`
	}
	type enqueued struct {
		Location string `header:"Location" doc:"Of the run."`
		Body     Enqueued
	}
	add(h, a, huma.Operation{
		OperationID: "enqueue-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/enqueue", DefaultStatus: http.StatusAccepted,
		Summary: "Plan one run of a job, soon and anywhere",
	}, func(ctx context.Context, in *struct {
		Job  string `path:"job"`
		Key  string `header:"Idempotency-Key" doc:"For 24 hours a second request with it gets the first one's run."`
		Body *enqueue
	},
	) (*enqueued, error) {
		b := or(in.Body)
		id, err := jobhost.One(h.s.Enqueue(ctx, []jobhost.EnqueueRequest{EnqueueRequest{
			Job: in.Job, Data: b.Data, At: b.At, Priority: b.Priority, IdempotencyKey: in.Key,
		}.request()}))
		return &enqueued{Location: "/v1/runs/" + string(id), Body: Enqueued{id}}, err
	})
}

// list is an answer that is an array, also when it is empty.
func list[T any](items []T) *body[[]T] {
	if items == nil {
		items = []T{}
	}
	return &body[[]T]{items}
}
