package jobhost

import (
	"encoding/json"
	"time"
)

// TriggerKey names a trigger: trigger names are unique within their job.
type TriggerKey struct{ Job, Trigger Name }

// Job is what a store keeps of a job, without its triggers: JobDef.Triggers is empty in a stored record.
type Job struct {
	JobDef
	Paused      bool
	PauseReason string // shown until the pause is lifted
	Source      Source
	Fingerprint string // of the file's definition; empty without one
}

// Trigger is what a store keeps of a trigger. TriggerDef.Name equals Key.Trigger.
type Trigger struct {
	Key TriggerKey
	TriggerDef
	State TriggerState
	Due   time.Time // when it next wants to fire; zero: never

	// Ready is "not before", the only due that stores index. It is Due when the trigger is Waiting, not paused and not
	// of a local or paused job, later than Due after a run_all make-up, and otherwise zero, so that a trigger that
	// cannot be claimed never shows up. The engine sets it; a store only orders by it.
	Ready time.Time

	LastFired   time.Time // planned time of the last firing; an instant not later than it never fires again
	FiredCount  int       // runs of kind Schedule that started from it
	Paused      bool
	PauseReason string
	RunID       RunID // the run it waits for, while Running
	Refused     Refusals
	OneShot     *OneShot // set on the engine's one-shots only
}

// Refusals says how many slots of a trigger did not become a run and never will, why the last one did not, and when. A slot is
// one instant of the schedule, and counts once. One that waits, such as for a run of its job, is not among them.
type Refusals struct {
	Skipped   int       `json:"skipped,omitempty"`   // missed under the skip policy, or their make-up would fall outside the window
	Blocked   int       `json:"blocked,omitempty"`   // passed while a run of their exclusive job was in progress
	Deadline  int       `json:"deadline,omitempty"`  // missed, and later than the start deadline
	Collapsed int       `json:"collapsed,omitempty"` // missed under run_once, besides the one that the make-up run stands for
	AtLeast   bool      `json:"atLeast,omitempty"`   // there were more: at most 10,000 are counted of what was missed together
	Last      string    `json:"last,omitempty"`      // why the last one did not
	At        time.Time `json:"at,omitzero"`         // when that was decided
	Slot      time.Time `json:"slot,omitzero"`       // the last one
}

// Count is how many slots that are.
func (r Refusals) Count() int { return r.Skipped + r.Blocked + r.Deadline + r.Collapsed }

// OneShot is what the run of a retry-, recovery- or manual- trigger will be (SPEC 10.4).
type OneShot struct {
	Kind       RunKind
	RunID      RunID // of a manual one: the id that the run will have
	Trigger    Name  // the trigger that the chain began with; empty for a manual chain
	Attempt    int
	RetryOf    RunID
	RecoveryOf RunID
	Data       json.RawMessage // of a retry or recovery the run's data, of a manual one the request's layer
}

// Run is one execution and its record in the history (SPEC 15). It carries neither output nor log.
type Run struct {
	ID           RunID           `json:"id"`
	Job          Name            `json:"job"`
	Trigger      Name            `json:"trigger,omitempty"` // empty for a manual run
	Kind         RunKind         `json:"kind"`
	Attempt      int             `json:"attempt"` // from 1
	RetryOf      RunID           `json:"retryOf,omitempty"`
	RecoveryOf   RunID           `json:"recoveryOf,omitempty"`
	ScheduledAt  time.Time       `json:"scheduledAt"`
	Priority     int32           `json:"priority"`
	Data         json.RawMessage `json:"data,omitempty"` // merged
	State        RunState        `json:"state"`
	Node         string          `json:"node,omitempty"`     // empty: it has not started
	StartedAt    time.Time       `json:"startedAt,omitzero"` // zero: it has not started
	EndedAt      time.Time       `json:"endedAt,omitzero"`   // of a Lost run the last that is known of it: its node's heartbeat, or its start if later
	ErrorCode    Code            `json:"errorCode,omitempty"`
	ErrorMessage string          `json:"errorMessage,omitempty"`
	Digest       string          `json:"digest,omitempty"`     // SHA-256 of the module that ran, in hexadecimal
	Fuel         uint64          `json:"fuel,omitempty"`       // instructions, roughly
	PeakMemory   uint64          `json:"peakMemory,omitempty"` // bytes
	Progress     *Progress       `json:"progress,omitempty"`   // of a run in progress on the answering node; never stored
}

// ListedAt is the instant that gives a run its place in the history: its start, or if it ended without one, its end.
func (r *Run) ListedAt() time.Time {
	if r.StartedAt.IsZero() {
		return r.EndedAt
	}
	return r.StartedAt
}

// Progress is how far a run says that it is.
type Progress struct {
	Done  int64     `json:"done"`
	Total int64     `json:"total,omitempty"` // 0: it does not know
	Msg   string    `json:"msg,omitempty"`   // at most 8 KiB
	At    time.Time `json:"at"`              // when it said so
}

// Node is the record of a running engine (SPEC 18).
type Node struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Beat    time.Time `json:"beat"`

	FileJobs []Name `json:"fileJobs,omitempty"` // the jobs that its files define
}

// MaxErrorMessage is the most bytes of a run's error message; longer ones are cut.
const MaxErrorMessage = 4 << 10
