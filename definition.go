package jobhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TimeoutLimit is the longest time limit of a run and the longest wait before a retry: 30 days.
const TimeoutLimit = 720 * time.Hour

// MaxTriggers is how many triggers a job may have. They are read and written together.
const MaxTriggers = 100

// The values that a definition has where its author says nothing.
const (
	DefaultPriority     = 5
	DefaultHistoryLimit = 1000
)

// The prefixes of one-shot triggers, which only the engine writes (SPEC 10.4).
const (
	RetryPrefix    = "retry-"
	RecoveryPrefix = "recovery-"
	ManualPrefix   = "manual-"
)

// JobDef is what a user defines: what to do, and by its triggers when. Start from [NewJob], which sets the defaults.
type JobDef struct {
	Name               Name
	Plugin             Name
	Triggers           []TriggerDef    // at most [MaxTriggers]
	Data               json.RawMessage // a JSON object, or empty
	AllowConcurrent    bool            // false: at most one run at a time in the whole cluster
	RunOnEveryInstance bool            // a local job, SPEC 14
	RequestsRecovery   bool            // run once more when its node is lost, SPEC 18
	Retry              *RetryPolicy    // nil: none
	Timeout            time.Duration   // time limit of one attempt, at most 720h; 0: none
	Description        string
	HistoryLimit       int // most ended runs kept; 0: no limit by count
}

// TriggerDef is one schedule of a job. Start from [NewTrigger], which sets the defaults.
type TriggerDef struct {
	Name          Name
	Schedule      string // schedule text, see [ParseSchedule]
	Data          json.RawMessage
	Priority      int32         // larger goes first when more is due than can start
	Misfire       Misfire       // what to do with a firing that is late
	StartDeadline time.Duration // later than this after its due a firing is skipped; 0: never
	Description   string
}

// NewJob returns a definition with the defaults of SPEC 4 and the given triggers.
func NewJob(name, plugin Name, triggers ...TriggerDef) JobDef {
	return JobDef{Name: name, Plugin: plugin, Triggers: triggers, HistoryLimit: DefaultHistoryLimit}
}

// NewTrigger returns a definition with the defaults of SPEC 5. The schedule is text, as [Schedule.String] writes it.
func NewTrigger(name Name, schedule string) TriggerDef {
	return TriggerDef{Name: name, Schedule: schedule, Priority: DefaultPriority}
}

// Check reports every problem of the definition that can be known without a store, a plugin or a calendar, joined, each
// an [Error] with [InvalidDefinition] (SPEC 4 and 5).
func (d JobDef) Check() error {
	var errs []error
	bad := func(where string, err error) {
		if err == nil {
			return
		}
		msg := fmt.Sprintf("job %q: %v", d.Name, err)
		if where != "" {
			msg = fmt.Sprintf("job %q: %s: %v", d.Name, where, err)
		}
		errs = append(errs, &Error{Code: InvalidDefinition, Op: "define", Msg: msg, Err: err})
	}
	name := func(s string) error { _, err := ParseName(s); return err }
	bad("name", name(d.Name))
	bad("plugin", name(d.Plugin))
	bad("data", CheckData(d.Data))
	if d.Retry != nil {
		bad("retry", d.Retry.Check())
	}
	if d.Timeout != 0 {
		bad("timeout", CheckTimeout(d.Timeout))
	}
	if d.HistoryLimit < 0 {
		bad("history_limit", fmt.Errorf("%d is negative; want 0 for no limit, or more", d.HistoryLimit))
	}
	triggers := d.Triggers
	if n := len(triggers); n > MaxTriggers {
		bad("triggers", fmt.Errorf("the job has %d, at most %d are allowed", n, MaxTriggers))
		triggers = nil // the others say nothing more
	}
	for i, t := range triggers {
		where := fmt.Sprintf("trigger %q", t.Name)
		bad(where, name(t.Name))
		if p := reserved(t.Name); p != "" {
			bad(where, fmt.Errorf("the prefix %q is reserved for triggers that jobhost writes itself", p))
		}
		if slices.ContainsFunc(d.Triggers[:i], func(o TriggerDef) bool { return o.Name == t.Name }) {
			bad(where, errors.New("the job has two triggers of this name"))
		}
		switch s, err := ParseSchedule(t.Schedule); {
		case err != nil:
			bad(where, fmt.Errorf("schedule %q: %w", t.Schedule, err))
		case s.Kind == Manual:
			bad(where, errors.New(`schedule "manual" is not for a trigger; a job without triggers runs only on request`))
		}
		if t.StartDeadline < 0 {
			bad(where, fmt.Errorf("start_deadline is %v; want more than 0, or none", t.StartDeadline))
		}
		if int(t.Misfire) >= len(misfires) {
			bad(where, fmt.Errorf("misfire is %v; want one of %q", t.Misfire, misfires))
		}
		bad(where, CheckData(t.Data))
		if m, err := MergeData(d.Data, t.Data); err == nil && len(m) > MaxData && len(d.Data) <= MaxData && len(t.Data) <= MaxData {
			bad(where, fmt.Errorf("merged with the job's, data has %d bytes, at most %d are allowed", len(m), MaxData))
		}
	}
	return errors.Join(errs...)
}

// CheckTimeout reports whether d can be a time limit: more than 0 and at most [TimeoutLimit]. In a [JobDef] 0 stands for
// a limit that was not asked for.
func CheckTimeout(d time.Duration) error {
	if d <= 0 || d > TimeoutLimit {
		return fmt.Errorf("%v is out of range; want more than 0 and at most %v", d, TimeoutLimit)
	}
	return nil
}

func reserved(trigger string) string {
	for _, p := range []string{RetryPrefix, RecoveryPrefix, ManualPrefix} {
		if strings.HasPrefix(trigger, p) {
			return p
		}
	}
	return ""
}
