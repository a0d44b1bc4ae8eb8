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

// Refusals says which firings of a trigger did not become a run, and why the last one did not.
type Refusals struct {
	Skipped  int       `json:"skipped,omitempty"`  // misfires under the skip policy, and make-ups that would fall outside the window
	Blocked  int       `json:"blocked,omitempty"`  // found a run of their exclusive job in progress
	Deadline int       `json:"deadline,omitempty"` // later than the start deadline
	Last     string    `json:"last,omitempty"`     // why the last one did not
	At       time.Time `json:"at,omitzero"`        // when that was decided
}

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
	Node         string          `json:"node"`
	StartedAt    time.Time       `json:"startedAt"`
	EndedAt      time.Time       `json:"endedAt,omitzero"`
	ErrorCode    Code            `json:"errorCode,omitempty"`
	ErrorMessage string          `json:"errorMessage,omitempty"`
	Digest       string          `json:"digest,omitempty"`     // SHA-256 of the module that ran, in hexadecimal
	Fuel         uint64          `json:"fuel,omitempty"`       // instructions, roughly
	PeakMemory   uint64          `json:"peakMemory,omitempty"` // bytes
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
