package jobhost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// Run is the run that a handler was called for. It is valid until the handler returns.
type Run struct {
	ID          string
	Job         string
	Trigger     string    // empty for a manual run
	Kind        string    // Schedule, Manual, Recovery or Retry
	ScheduledAt time.Time // UTC; when it was planned for, which may be a while ago
	Attempt     int       // from 1
	RetryOf     string    // the first run of a chain of retries; empty for any other
	Deadline    time.Time // UTC; zero: no limit
	Node        string
	Traceparent string // W3C trace context

	Log *slog.Logger    // the run's log
	KV  KV              // the job's durable values
	Raw json.RawMessage // the merged data, one JSON object

	host wire.Host
}

// newRun asks a host for the run document. Fields that are not known are ignored: later hosts may send more.
func newRun(h wire.Host) (*Run, error) {
	doc, err := h.Document()
	if err != nil {
		return nil, fmt.Errorf("run document: %w", err)
	}
	var d struct {
		ID          string          `json:"id"`
		Job         string          `json:"job"`
		Trigger     string          `json:"trigger"`
		Kind        string          `json:"kind"`
		ScheduledAt string          `json:"scheduledAt"`
		Attempt     int             `json:"attempt"`
		RetryOf     string          `json:"retryOf"`
		Data        json.RawMessage `json:"data"`
		Deadline    string          `json:"deadline"`
		Node        string          `json:"node"`
		Traceparent string          `json:"traceparent"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, fmt.Errorf("run document: %w", err)
	}
	scheduled, err1 := instant(d.ScheduledAt)
	deadline, err2 := instant(d.Deadline)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("run document: %w", err)
	}
	if len(d.Data) == 0 {
		d.Data = json.RawMessage("{}")
	}
	return &Run{
		ID: d.ID, Job: d.Job, Trigger: d.Trigger, Kind: d.Kind, ScheduledAt: scheduled, Attempt: d.Attempt, RetryOf: d.RetryOf,
		Deadline: deadline, Node: d.Node, Traceparent: d.Traceparent,
		Log: slog.New(newLogHandler(h)), KV: KV{h}, Raw: d.Data, host: h,
	}, nil
}

func instant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, s)
}

// BadData is the code that [Run.Data] fails with.
const BadData = "BAD_DATA"

// Data decodes the job's data into v, as [json.Unmarshal] does. A field that v does not have is an error: whoever wrote it
// meant something by it. The error is a permanent [Failure] with the code [BadData], fit to be returned as it is.
func (r *Run) Data(v any) error {
	d := json.NewDecoder(bytes.NewReader(r.Raw))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return &Failure{Code: BadData, Message: "the job's data: " + err.Error(), Permanent: true, Err: err}
	}
	return nil
}

// Output sets the run's result, encoded as JSON; the last call wins. The host cuts what is over the job's limit, which is
// 64 KiB unless the operator grants another one.
func (r *Run) Output(v any) error {
	result, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	r.host.Output(result)
	return nil
}

// Progress says how far the run is: done of total, in a unit of the job's own; total is 0 when it is not known. It is shown
// live and costs little, but not nothing: say it per file, not per byte.
func (r *Run) Progress(done, total int64, message string) { r.host.Progress(done, total, message) }
