package api

import (
	"encoding/json"
	"time"

	"github.com/jobhost/jobhost"
)

// Result is the answer to one item of a batch: its value, if the operation has one, or the problem.
type Result[T any] struct {
	OK      bool     `json:"ok"`
	Value   *T       `json:"value,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Done is the value of an operation that has none.
type Done struct{}

// Target is a job to pause or resume, or with Trigger set one of its triggers.
type Target struct {
	Job     jobhost.Name `json:"job"`
	Trigger jobhost.Name `json:"trigger,omitempty"`
	Reason  string       `json:"reason,omitempty" doc:"Of a pause; shown until it is lifted."`

	SkipMissed bool `json:"skipMissed,omitempty" doc:"Of a resume: what was missed is not made up."`
}

// TriggerRequest asks for one run, now and on the answering instance.
type TriggerRequest struct {
	Job  jobhost.Name    `json:"job"`
	Data json.RawMessage `json:"data,omitempty" doc:"A JSON object, laid over the job's."`
}

// EnqueueRequest asks for one run, soon and anywhere.
type EnqueueRequest struct {
	Job            jobhost.Name    `json:"job"`
	Data           json.RawMessage `json:"data,omitempty" doc:"A JSON object, laid over the job's."`
	At             time.Time       `json:"at,omitzero" doc:"Not before; absent: now."`
	Priority       *int32          `json:"priority,omitempty" doc:"Larger goes first; 5 when absent."`
	IdempotencyKey string          `json:"idempotencyKey,omitempty" doc:"For 24 hours a second request with it gets the first one's run."`
}

// Enqueued names a run that will be.
type Enqueued struct {
	ID jobhost.RunID `json:"id"`
}

// Count is the answer to a count.
type Count struct {
	Count int `json:"count"`
}

func (t Target) target() jobhost.Target { return jobhost.Target(t) }

func (r TriggerRequest) request() jobhost.TriggerRequest {
	return jobhost.TriggerRequest{Job: r.Job, Data: object(r.Data)}
}

func (r EnqueueRequest) request() jobhost.EnqueueRequest {
	return jobhost.EnqueueRequest{
		Job: r.Job, Data: object(r.Data), At: r.At.UTC(), Priority: r.Priority, IdempotencyKey: r.IdempotencyKey,
	}
}
