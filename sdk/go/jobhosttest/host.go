package jobhosttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/internal/standin"
)

// Host is what surrounds a run. One Host may run several, one after the other, as one job's.
type Host struct {
	Data    any // the job's data: anything that encodes to a JSON object, also a json.RawMessage; nil is {}
	Job     string
	Trigger string
	Kind    string // Manual if empty
	Attempt int    // 1 if zero

	// ScheduledAt is the instant that the run was planned for.
	ScheduledAt time.Time

	// HTTP answers the requests of package jobhttp; nil denies them. An httptest.Server's client has a transport.
	HTTP http.RoundTripper

	// Values are the job's durable values, which runs find and leave; nil has none yet.
	Values map[string][]byte
	// DenyKV takes the grant for them away.
	DenyKV bool
}

// Result is what came of a run.
type Result struct {
	Err       error  // what the handler returned
	Code      string // of the failure, if the handler gave one
	Message   string // of the failure
	Permanent bool
	Output    json.RawMessage // nil: none was set
	Log       []Entry
	Progress  []Progress
	Spans     []Span // in the order of their starts
	Events    []string
	LeftOpen  int // responses whose bodies nobody closed
}

// Entry is an entry of the log.
type Entry struct {
	Level slog.Level
	Text  string
}

// Progress is one report of how far the run is.
type Progress struct {
	Done, Total int64
	Message     string
}

// Span is a part of the run's trace.
type Span struct {
	Name       string
	Parent     string // the name of the span around it; empty: the run's own
	Attributes map[string]string
	Ended, OK  bool
}

// Run runs a handler. The end of ctx asks the run to stop; its deadline is the run's.
func (h *Host) Run(ctx context.Context, f jobhost.Handler) Result {
	if h.Values == nil {
		h.Values = map[string][]byte{}
	}
	r := recorder{host: h, stop: ctx, Responses: standin.NewResponses(h.HTTP)}
	err := jobhost.Drive(context.WithoutCancel(ctx), &r, f)
	r.result.Err = err
	r.result.LeftOpen = r.CloseAll()
	return r.result
}

// document is the run document.
func (h *Host) document(deadline time.Time) ([]byte, error) {
	data := h.Data
	if data == nil {
		data = struct{}{}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("data is %.40s; a job's data are a JSON object", raw)
	}
	return json.Marshal(map[string]any{
		"id": "0000019a0b1c2d3e4f5061728394a5b6", "job": cmp.Or(h.Job, "test"), "trigger": h.Trigger, "kind": cmp.Or(h.Kind, "Manual"),
		"scheduledAt": instant(h.ScheduledAt), "attempt": max(h.Attempt, 1), "retryOf": "", "data": json.RawMessage(raw),
		"deadline": instant(deadline), "node": "test", "traceparent": "",
	})
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
