package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Run is the run document: the facts of a run (SPEC 15.1), as [FuncRun] gives them.
type Run struct {
	ID          string
	Job         string
	Trigger     string // empty for a manual run
	Kind        string // Schedule, Manual, Recovery or Retry
	ScheduledAt time.Time
	Attempt     int             // from 1
	RetryOf     string          // the first run of a chain of retries; empty for any other
	Data        json.RawMessage // one JSON object
	Deadline    time.Time       // zero: no limit
	Node        string
	Traceparent string
}

// MaxDocument is the most bytes of an encoded [Run] that [DecodeRun] takes.
const MaxDocument = MaxInput + 64<<10

// document is the wire form of a Run. No field is left out when it is empty.
type document struct {
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

var empty = json.RawMessage("{}")

// Encode returns the run document as JSON. Empty data is the empty object. It fails when the data is no JSON object.
func (r Run) Encode() ([]byte, error) {
	data := r.Data
	if len(bytes.TrimSpace(data)) == 0 {
		data = empty
	}
	if !isObject(data) {
		return nil, fmt.Errorf("data of run %s is %.20q…; want a JSON object", r.ID, data)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the data's text stays as its author wrote it
	err := e.Encode(document{
		ID: r.ID, Job: r.Job, Trigger: r.Trigger, Kind: r.Kind,
		ScheduledAt: FormatTime(r.ScheduledAt), Attempt: r.Attempt, RetryOf: r.RetryOf, Data: data,
		Deadline: FormatTime(r.Deadline), Node: r.Node, Traceparent: r.Traceparent,
	})
	if err != nil {
		return nil, fmt.Errorf("run document of %s: %w", r.ID, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeRun reads a run document. Fields that it does not know are ignored, absent ones are empty.
func DecodeRun(doc []byte) (Run, error) {
	if len(doc) > MaxDocument {
		return Run{}, fmt.Errorf("run document has %d bytes, at most %d are allowed", len(doc), MaxDocument)
	}
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return Run{}, fmt.Errorf("run document: %w", err)
	}
	if len(d.Data) == 0 {
		d.Data = empty
	}
	if !isObject(d.Data) {
		return Run{}, errors.New("run document: data is no JSON object")
	}
	scheduled, err := parseTime("scheduledAt", d.ScheduledAt)
	if err != nil {
		return Run{}, err
	}
	deadline, err := parseTime("deadline", d.Deadline)
	if err != nil {
		return Run{}, err
	}
	return Run{
		ID: d.ID, Job: d.Job, Trigger: d.Trigger, Kind: d.Kind, ScheduledAt: scheduled, Attempt: d.Attempt,
		RetryOf: d.RetryOf, Data: d.Data, Deadline: deadline, Node: d.Node, Traceparent: d.Traceparent,
	}, nil
}

// FormatTime writes an instant as documents and environment carry it: UTC, RFC 3339, sub-second digits only when they
// are not zero. The zero time is empty.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("run document: %s is %.40q; want RFC 3339", field, s)
	}
	return t.UTC(), nil
}

func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}
