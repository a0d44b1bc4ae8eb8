package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
)

// Definition is a [jobhost.JobDef] in JSON, with the names and defaults of the YAML file (SPEC 4). Grants are not part
// of it: only a node's own file gives them.
type Definition struct {
	Name               string              `json:"name,omitempty" doc:"The job's name; in PUT it may be left to the path."`
	Plugin             string              `json:"plugin" doc:"Key of a loaded plugin."`
	Schedule           string              `json:"schedule,omitempty" doc:"Short for one trigger named default; manual gives no trigger. Not together with triggers."`
	Triggers           []TriggerDefinition `json:"triggers,omitempty" doc:"When to run; none: on request only."`
	Data               json.RawMessage     `json:"data,omitempty" doc:"A JSON object."`
	AllowConcurrent    bool                `json:"allow_concurrent,omitempty" doc:"Whether runs may overlap."`
	RunOnEveryInstance bool                `json:"run_on_every_instance,omitempty" doc:"Run on each node by its own clock."`
	RequestsRecovery   bool                `json:"requests_recovery,omitempty" doc:"Run once more when the node is lost."`
	Retry              *Retry              `json:"retry,omitempty" doc:"When a failed run is tried again; absent: never."`
	Timeout            string              `json:"timeout,omitempty" doc:"Limit of one attempt as a Go duration, at most 720h; none or absent: no limit."`
	Description        string              `json:"description,omitempty"`
	HistoryLimit       *int                `json:"history_limit,omitempty" doc:"Most ended runs kept; 0: no limit by count; 1000 when absent."`
}

// TriggerDefinition is a [jobhost.TriggerDef] in JSON (SPEC 5).
type TriggerDefinition struct {
	Name          string          `json:"name"`
	Schedule      string          `json:"schedule" doc:"Schedule text, such as cron 0 3 * * * tz=Asia/Shanghai."`
	Data          json.RawMessage `json:"data,omitempty" doc:"A JSON object, laid over the job's."`
	Priority      *int32          `json:"priority,omitempty" doc:"Larger goes first; 5 when absent."`
	Misfire       string          `json:"misfire,omitempty" doc:"run_once, skip or run_all; run_once when absent."`
	StartDeadline string          `json:"start_deadline,omitempty" doc:"Go duration; later than this a firing is skipped; absent: never."`
	Description   string          `json:"description,omitempty"`
}

// Retry is a [jobhost.RetryPolicy] in JSON (SPEC 17). Waits are Go durations.
type Retry struct {
	MaxRetries int    `json:"max_retries" doc:"1 to 100."`
	Delay      string `json:"delay" doc:"Wait before the first retry, at most 720h."`
	Backoff    string `json:"backoff,omitempty" doc:"fixed or exponential; fixed when absent."`
	MaxDelay   string `json:"max_delay,omitempty" doc:"Bound of exponential waits."`
}

const (
	backoffFixed       = "fixed"
	backoffExponential = "exponential"
	none               = "none"
	defaultTrigger     = "default"
)

// maxWord is the most bytes of a schedule, a duration or a word in a definition.
const maxWord = 4 << 10

// DefinitionOf writes d in full: every value is spelled out, also one that equals its default.
func DefinitionOf(d jobhost.JobDef) Definition {
	out := Definition{
		Name: d.Name, Plugin: d.Plugin, Data: readable(d.Data), Description: d.Description,
		AllowConcurrent: d.AllowConcurrent, RunOnEveryInstance: d.RunOnEveryInstance, RequestsRecovery: d.RequestsRecovery,
		Timeout: durationText(d.Timeout), HistoryLimit: &d.HistoryLimit,
	}
	if r := d.Retry; r != nil {
		out.Retry = &Retry{MaxRetries: r.MaxRetries, Delay: r.Delay.String(), Backoff: backoffFixed, MaxDelay: durationText(r.MaxDelay)}
		if r.Exponential {
			out.Retry.Backoff = backoffExponential
		}
	}
	for _, t := range d.Triggers {
		out.Triggers = append(out.Triggers, TriggerDefinition{
			Name: t.Name, Schedule: t.Schedule, Data: readable(t.Data), Priority: &t.Priority, Misfire: t.Misfire.String(),
			StartDeadline: durationText(t.StartDeadline), Description: t.Description,
		})
	}
	return out
}

// JobDef reads the definition. Its error joins every value that cannot be read, each an [jobhost.Error] with
// [jobhost.InvalidDefinition]; whether the values make sense is for [jobhost.JobDef.Check].
func (d Definition) JobDef() (jobhost.JobDef, error) {
	r := reader{job: d.Name}
	if _, err := jobhost.ParseName(d.Name); err != nil && len(d.Name) > jobhost.MaxName { // every complaint would repeat it
		return jobhost.JobDef{}, &jobhost.Error{
			Code: jobhost.InvalidDefinition, Op: "api.define", Msg: fmt.Sprintf("job %q: name: %v", clipped(d.Name, jobhost.MaxName), err), Err: err,
		}
	}
	job := jobhost.NewJob(d.Name, d.Plugin)
	job.Data, job.Description = object(d.Data), d.Description
	job.AllowConcurrent, job.RunOnEveryInstance, job.RequestsRecovery = d.AllowConcurrent, d.RunOnEveryInstance, d.RequestsRecovery
	job.Timeout = r.duration("timeout", d.Timeout)
	if d.HistoryLimit != nil {
		job.HistoryLimit = *d.HistoryLimit
	}
	job.Retry = r.retry(d.Retry)
	if d.Schedule != "" && r.short("schedule", d.Schedule) {
		if s, err := jobhost.ParseSchedule(d.Schedule); err != nil || s.Kind != jobhost.Manual {
			job.Triggers = []jobhost.TriggerDef{jobhost.NewTrigger(defaultTrigger, d.Schedule)}
		}
		if len(d.Triggers) > 0 {
			r.bad("schedule and triggers stand together; want one of them")
		}
	}
	r.short("plugin", d.Plugin)
	for _, t := range d.Triggers {
		job.Triggers = append(job.Triggers, r.trigger(t))
	}
	return job, errors.Join(r.errs...)
}

// reader collects what cannot be read of one definition.
type reader struct {
	job  string
	errs []error
}

func (r *reader) bad(format string, args ...any) {
	msg := fmt.Sprintf("job %q: ", r.job) + fmt.Sprintf(format, args...)
	r.errs = append(r.errs, &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "api.define", Msg: msg})
}

// short reports a text that is longer than any good one, and that the scheduler would repeat with each complaint.
func (r *reader) short(what, text string) bool {
	if len(text) > maxWord {
		r.bad("%s has %d bytes, at most %d are allowed", what, len(text), maxWord)
	}
	return len(text) <= maxWord
}

func (r *reader) trigger(t TriggerDefinition) jobhost.TriggerDef {
	if _, err := jobhost.ParseName(t.Name); err != nil && len(t.Name) > jobhost.MaxName {
		r.bad("trigger %q: %v", clipped(t.Name, jobhost.MaxName), err)
		return jobhost.TriggerDef{}
	}
	if !r.short(fmt.Sprintf("trigger %q: schedule", t.Name), t.Schedule) {
		return jobhost.TriggerDef{}
	}
	out := jobhost.NewTrigger(t.Name, t.Schedule)
	out.Data, out.Description = object(t.Data), t.Description
	if t.Priority != nil {
		out.Priority = *t.Priority
	}
	if t.Misfire != "" && r.short(fmt.Sprintf("trigger %q: misfire", t.Name), t.Misfire) {
		if err := out.Misfire.UnmarshalText([]byte(t.Misfire)); err != nil {
			r.bad("trigger %q: misfire: %v", t.Name, err)
		}
	}
	out.StartDeadline = r.duration(fmt.Sprintf("trigger %q: start_deadline", t.Name), t.StartDeadline)
	return out
}

func (r *reader) retry(p *Retry) *jobhost.RetryPolicy {
	if p == nil {
		return nil
	}
	out := &jobhost.RetryPolicy{
		MaxRetries: p.MaxRetries, Delay: r.duration("retry: delay", p.Delay), MaxDelay: r.duration("retry: max_delay", p.MaxDelay),
	}
	if !r.short("retry: backoff", p.Backoff) {
		return out
	}
	switch p.Backoff {
	case "", backoffFixed:
	case backoffExponential:
		out.Exponential = true
	default:
		r.bad("retry: backoff is %q; want %s or %s", p.Backoff, backoffFixed, backoffExponential)
	}
	return out
}

// duration reads one that has 0 for "not given". A 0 that was given is out of range for all of them.
func (r *reader) duration(what, text string) time.Duration {
	if text == "" || text == none || !r.short(what, text) {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.bad("%s is %q; want a Go duration such as 90s or 1h30m", what, text)
	case d == 0:
		r.bad("%s is %q; want more than 0, or leave it out", what, text)
	}
	return d
}

// durationText writes one that has 0 for "not given".
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// object reads data, where null is the same as nothing.
func object(data json.RawMessage) json.RawMessage {
	if string(data) == "null" {
		return nil
	}
	return data
}

// readable is data, or a word in its place if it is nested so deep that whoever reads the answer would give up. Stores of
// older versions may have such data.
func readable(data json.RawMessage) json.RawMessage {
	depth := jobhost.DataDepth(data)
	if depth <= jobhost.MaxDataDepth {
		return data
	}
	return fmt.Appendf(nil, `{"unreadable":"%d bytes of data, nested %d levels deep"}`, len(data), depth)
}

// readableRun is a run whose data can be read.
func readableRun(r jobhost.Run) jobhost.Run {
	r.Data = readable(r.Data)
	return r
}
