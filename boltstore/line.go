package boltstore

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/jobhost/jobhost"
)

// The records as [Store.Export] writes them. Runs, nodes and log entries have a form in JSON of their own.

type jobRecordLine struct {
	Name               jobhost.Name    `json:"name"`
	Plugin             jobhost.Name    `json:"plugin"`
	Data               json.RawMessage `json:"data,omitempty"`
	AllowConcurrent    bool            `json:"allowConcurrent"`
	RunOnEveryInstance bool            `json:"runOnEveryInstance"`
	RequestsRecovery   bool            `json:"requestsRecovery"`
	Retry              *retryLine      `json:"retry,omitempty"`
	Timeout            string          `json:"timeout,omitempty"`
	HistoryLimit       int             `json:"historyLimit"`
	Description        string          `json:"description,omitempty"`
	Source             jobhost.Source  `json:"source"`
	Paused             bool            `json:"paused"`
	PauseReason        string          `json:"pauseReason,omitempty"`
	Fingerprint        string          `json:"fingerprint,omitempty"`
}

type retryLine struct {
	MaxRetries  int    `json:"maxRetries"`
	Delay       string `json:"delay"`
	Exponential bool   `json:"exponential"`
	MaxDelay    string `json:"maxDelay,omitempty"`
}

type triggerRecordLine struct {
	Job           jobhost.Name         `json:"job"`
	Name          jobhost.Name         `json:"name"`
	Schedule      string               `json:"schedule"`
	Data          json.RawMessage      `json:"data,omitempty"`
	Priority      int32                `json:"priority"`
	Misfire       jobhost.Misfire      `json:"misfire"`
	StartDeadline string               `json:"startDeadline,omitempty"`
	Description   string               `json:"description,omitempty"`
	State         jobhost.TriggerState `json:"state"`
	Due           time.Time            `json:"due,omitzero"`
	Ready         time.Time            `json:"ready,omitzero"`
	LastFired     time.Time            `json:"lastFired,omitzero"`
	FiredCount    int                  `json:"firedCount"`
	Paused        bool                 `json:"paused"`
	PauseReason   string               `json:"pauseReason,omitempty"`
	Run           jobhost.RunID        `json:"run,omitempty"`
	Refused       jobhost.Refusals     `json:"refused,omitzero"`
	OneShot       *oneShotLine         `json:"oneShot,omitempty"`
}

type oneShotLine struct {
	Kind       jobhost.RunKind `json:"kind"`
	Run        jobhost.RunID   `json:"run,omitempty"`
	Trigger    string          `json:"trigger,omitempty"`
	Attempt    int             `json:"attempt"`
	RetryOf    jobhost.RunID   `json:"retryOf,omitempty"`
	RecoveryOf jobhost.RunID   `json:"recoveryOf,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

type logLine struct {
	Run jobhost.RunID `json:"run"`
	jobhost.LogEntry
}

type outputLine struct {
	Run jobhost.RunID `json:"run"`
	contentLine
}

type cancelLine struct {
	Node string        `json:"node"`
	Run  jobhost.RunID `json:"run"`
}

type keyLine struct {
	Job     jobhost.Name  `json:"job"`
	Key     string        `json:"key"`
	Run     jobhost.RunID `json:"run"`
	Expires time.Time     `json:"expires"`
}

type valueLine struct {
	Job jobhost.Name `json:"job"`
	Key string       `json:"key"`
	contentLine
}

type damagedLine struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Error  string `json:"error"`
}

// contentLine is bytes: as text if they are, else in base64.
type contentLine struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

func content(b []byte) contentLine {
	if !utf8.Valid(b) {
		return contentLine{Base64: b}
	}
	s := string(b)
	return contentLine{Text: &s}
}

func jobLine(j jobhost.Job) jobRecordLine {
	l := jobRecordLine{
		Name: j.Name, Plugin: j.Plugin, Data: inJSON(j.Data), AllowConcurrent: j.AllowConcurrent, RunOnEveryInstance: j.RunOnEveryInstance,
		RequestsRecovery: j.RequestsRecovery, Timeout: duration(j.Timeout), HistoryLimit: j.HistoryLimit, Description: j.Description,
		Source: j.Source, Paused: j.Paused, PauseReason: j.PauseReason, Fingerprint: j.Fingerprint,
	}
	if r := j.Retry; r != nil {
		l.Retry = &retryLine{MaxRetries: r.MaxRetries, Delay: r.Delay.String(), Exponential: r.Exponential, MaxDelay: duration(r.MaxDelay)}
	}
	return l
}

func triggerLine(t jobhost.Trigger) triggerRecordLine {
	l := triggerRecordLine{
		Job: t.Key.Job, Name: t.Key.Trigger, Schedule: t.Schedule, Data: inJSON(t.Data), Priority: t.Priority, Misfire: t.Misfire,
		StartDeadline: duration(t.StartDeadline), Description: t.Description, State: t.State, Due: t.Due, Ready: t.Ready,
		LastFired: t.LastFired, FiredCount: t.FiredCount, Paused: t.Paused, PauseReason: t.PauseReason, Run: t.RunID,
		Refused: t.Refused,
	}
	if o := t.OneShot; o != nil {
		l.OneShot = &oneShotLine{o.Kind, o.RunID, o.Trigger, o.Attempt, o.RetryOf, o.RecoveryOf, inJSON(o.Data)}
	}
	return l
}

func runLine(r jobhost.Run) jobhost.Run {
	r.Data = inJSON(r.Data)
	return r
}

// inJSON returns data as it is. What is no JSON after all, or nested so deep that a reader of its line would give up, becomes
// a string of it.
func inJSON(data json.RawMessage) json.RawMessage {
	const deepest = 10_000 - 3 // as many levels as readers take, less those that are around it
	if len(data) == 0 || json.Valid(data) && jobhost.DataDepth(data) <= deepest {
		return data
	}
	b, err := json.Marshal(string(data))
	if err != nil {
		return nil // a string cannot fail
	}
	return b
}

// duration is empty for none.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
