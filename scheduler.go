package jobhost

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Scheduler is the management contract (SPEC 22). Every operation that answers with [Result] takes a list and answers
// for each item, in order; one bad item does not affect the others. [One] unwraps the answer to a single item.
//
// Any method can fail with [StoreUnreachable], [StoreFull] or the context's error.
type Scheduler interface {
	// Schedule defines or replaces jobs. A trigger keeps its state where its schedule text is unchanged.
	// Errors: InvalidDefinition, NotFoundPlugin.
	Schedule(ctx context.Context, defs []JobDef) []Result[JobInfo]
	// Restore puts the definitions of the answering instance's files back, also of jobs that were deleted (SPEC 21).
	// Errors: NotFoundDefinition for a job that no file defines, NotFoundJob for a name that is nowhere.
	Restore(ctx context.Context, names []Name) []Result[JobInfo]
	// Delete removes jobs, triggers and one-shots; their history stays. A run in progress goes on. Errors: NotFoundJob.
	Delete(ctx context.Context, names []Name) []Result[struct{}]
	// Pause stops the firing of jobs or triggers until Resume; both are idempotent. Runs in progress go on.
	// Errors: NotFoundJob, NotFoundTrigger.
	Pause(ctx context.Context, targets []Target) []Result[struct{}]
	// A resumed trigger that is late is judged by its misfire policy, or with Target.SkipMissed goes on from now.
	Resume(ctx context.Context, targets []Target) []Result[struct{}]
	// Trigger runs jobs on this instance and waits for the outcome of each first run. Items run side by side. The end
	// of ctx ends the waiting, not the runs. Errors: NotFoundJob, InvalidDefinition, JobRunning, NotServing; a run
	// that was started is no error, however it ended.
	Trigger(ctx context.Context, reqs []TriggerRequest) []Result[Run]
	// Enqueue plans one run of each job and returns its id without waiting. Errors: NotFoundJob, InvalidDefinition.
	Enqueue(ctx context.Context, reqs []EnqueueRequest) []Result[RunID]
	// CancelRuns asks runs to end. Errors: NotFoundRun for one that is unknown or has ended.
	CancelRuns(ctx context.Context, ids []RunID) []Result[struct{}]
	// Status describes jobs; an empty list means all, by name. Errors: NotFoundJob.
	Status(ctx context.Context, names []Name) []Result[JobStatus]
	// Explain says why a job is not running now, by the first reason that holds in the order of SPEC 32.
	// Errors: NotFoundJob.
	Explain(ctx context.Context, name Name) (Explanation, error)
	// Runs lists the history without the runs' data, the newest [Run.ListedAt] first. Enqueued runs that have not started stand
	// before it, latest planned time first, when q names their ids, a prefix of these or the state Pending.
	// Errors: InvalidPage, InvalidDefinition for a prefix that can be none.
	Runs(ctx context.Context, q RunQuery) ([]Run, error)
	// Run is one run with its data, also one that has not started. Errors: NotFoundRun.
	Run(ctx context.Context, id RunID) (Run, error)
	CountRuns(ctx context.Context, q RunQuery) (int, error)
	// Plugins lists what jobs can refer to.
	Plugins(ctx context.Context) ([]Plugin, error)
	// Next lists coming slots of a trigger or of a schedule text. Errors: InvalidDefinition, NotFoundJob, NotFoundTrigger.
	Next(ctx context.Context, q NextQuery) ([]Slot, error)
	// Log reads a run's log; with Follow it goes on until the run has ended. Errors: NotFoundRun.
	Log(ctx context.Context, id RunID, q LogQuery) iter.Seq2[LogEntry, error]
	// Output is what the run returned, empty if nothing. Errors: NotFoundRun.
	Output(ctx context.Context, id RunID) ([]byte, error)
	// Replay runs an ended run once more, on the answering instance and beside the scheduler: with the module and the data
	// on record and by the planned clock, without grants unless asked for. It waits for the end, and leaves no record, no
	// trace and no retry. The job's present time limit holds. The end of ctx ends it too.
	// Errors: NotFoundRun, also for one that never started; NotFoundPlugin when its module is not kept any more; NotServing.
	Replay(ctx context.Context, req ReplayRequest) (Replayed, error)
	// Events yields what happens on the answering instance from the call on, until it stops or ctx ends, which is an
	// error. The result is for one loop; who leaves that hears no more, and who never enters it must end ctx. A reader
	// that is 1,024 events behind misses some (SPEC 24).
	Events(ctx context.Context) iter.Seq2[Event, error]
	// Nodes lists the nodes that share the store, by id; on a private store the answering one (SPEC 18).
	Nodes(ctx context.Context) ([]Node, error)
	// Drain asks a node to fire no more triggers, for good: it takes requests, its runs go on, and a restart ends the
	// draining. Another node hears of it within a poll interval (SPEC 20). Errors: NotFoundNode.
	Drain(ctx context.Context, node string) error
}

// Result is the answer to one item of a list.
type Result[T any] struct {
	Value T
	Err   error
}

// One unwraps the answer to a list of one item.
func One[T any](rs []Result[T]) (T, error) { return rs[0].Value, rs[0].Err }

// Target is a job, or with Trigger set one of its triggers.
type Target struct {
	Job     Name
	Trigger Name
	Reason  string // of a pause; shown until it is lifted

	SkipMissed bool // of a resume: what was missed is not made up
}

// TriggerRequest asks for one run, now and here.
type TriggerRequest struct {
	Job  Name
	Data json.RawMessage // the request's layer
}

// EnqueueRequest asks for one run, soon and anywhere.
type EnqueueRequest struct {
	Job            Name
	Data           json.RawMessage // the request's layer
	At             time.Time       // not before; zero: now
	Priority       *int32          // nil: 5
	IdempotencyKey string          // of the job, for 24 hours: a second request with it gets the first one's run id
}

// ReplayRequest asks for a run to be run again.
type ReplayRequest struct {
	Run    RunID `json:"-"`
	Grants bool  `json:"grants,omitempty"` // what its job is granted now; without, it may use nothing beside its input
}

// Replayed is what came of a replay, in the form of a run, to be held against the one on record.
type Replayed struct {
	Recorded Run        `json:"recorded"`
	Replay   Run        `json:"replay"` // the recorded one with its own start, end, state, failure, fuel and memory
	Output   []byte     `json:"output,omitempty"`
	Log      []LogEntry `json:"log,omitempty"`
}

// JobInfo is the answer to a definition.
type JobInfo struct {
	Name     Name     `json:"name"`
	Source   Source   `json:"source"`
	Warnings []string `json:"warnings,omitempty"` // such as a trigger that never fires
}

// JobStatus describes a job.
type JobStatus struct {
	Name        Name            `json:"name"`
	Plugin      Name            `json:"plugin"`
	Source      Source          `json:"source"`
	Local       bool            `json:"local,omitempty"`    // runs on every instance
	Orphaned    bool            `json:"orphaned,omitempty"` // no live node's files define it, so it does not fire
	Description string          `json:"description,omitempty"`
	Paused      bool            `json:"paused"`
	PauseReason string          `json:"pauseReason,omitempty"`
	IsRunning   bool            `json:"isRunning"`
	NextRun     time.Time       `json:"nextRun,omitzero"` // earliest due of its triggers, also while paused
	Last        *Run            `json:"last,omitempty"`   // the run that ended last, without its data
	Triggers    []TriggerStatus `json:"triggers"`
}

// TriggerStatus describes a trigger.
type TriggerStatus struct {
	Name        Name      `json:"name"`
	Schedule    string    `json:"schedule"`
	State       string    `json:"state"` // as reported: Paused instead of Waiting or Blocked when a flag is set
	NextFireAt  time.Time `json:"nextFireAt,omitzero"`
	LastFiredAt time.Time `json:"lastFiredAt,omitzero"`
	FiredCount  int       `json:"firedCount"`
	Priority    int32     `json:"priority"`
	Misfire     Misfire   `json:"misfire"`
	Refused     *Refusals `json:"refused,omitempty"` // firings that did not become runs
	Why         string    `json:"why,omitempty"`     // why a past due does not start
}

// Explanation says why a job is not running now.
type Explanation struct {
	Job      Name                 `json:"job"`
	Answer   string               `json:"answer"` // in one sentence
	Triggers []TriggerExplanation `json:"triggers"`
}

// TriggerExplanation says why a trigger is not running now, and what became of its last firings.
type TriggerExplanation struct {
	Trigger Name      `json:"trigger"`
	State   string    `json:"state"`
	Due     time.Time `json:"due,omitzero"`
	Answer  string    `json:"answer"`            // what it waits for now: the first reason that holds, in the order of SPEC 32
	Refused *Refusals `json:"refused,omitempty"` // firings that did not become runs; nil: there was none
}

// NextQuery asks for coming slots of a trigger, or of Schedule when it is set.
type NextQuery struct {
	Job      Name
	Trigger  Name   // empty: the job's only trigger, or of each
	Schedule string // a schedule text
	From     time.Time
	Count    int // 1 to 1000; 0: 10
}

// Slot is one coming firing, or one that is skipped for a reason.
type Slot struct {
	Trigger Name      `json:"trigger,omitempty"`
	At      time.Time `json:"at"`
	Skipped string    `json:"skipped,omitempty"` // why it does not fire; empty: it does
}

// LogQuery selects entries of a log.
type LogQuery struct {
	After  int  // only entries with a larger Seq
	Follow bool // go on until the run has ended
}

// LogEntry is one line of a run's log.
type LogEntry struct {
	Seq   int       `json:"seq"` // from 1
	Time  time.Time `json:"t"`
	Level int       `json:"level"` // as in log/slog
	Msg   string    `json:"msg"`
}
