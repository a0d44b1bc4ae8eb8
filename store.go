package jobhost

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Store keeps jobs, triggers, runs, nodes, logs and values. It carries no scheduling rule (SPEC 28).
//
// Every change made in one Update is applied as a whole or not at all, and is durable when Update returns nil, if the
// store is persistent. Update may call f more than once and only the last call counts, so f must not read a clock, draw
// a random number, log, or touch anything but the transaction and variables that it resets. An error of f is returned
// as it is and nothing is changed. A context that has ended before the call is its error, without any change.
//
// Errors are [StoreUnreachable] and [StoreFull]; any other error is about the records that were written.
type Store interface {
	View(ctx context.Context, f func(Tx) error) error
	Update(ctx context.Context, f func(Tx) error) error
	Shared() bool // whether several nodes use the same data; constant
	Close() error
}

// Tx is the inside of a transaction: primitives over records, plural where a firing would otherwise pay a round trip
// for each. Values returned are copies, values given are copied. Point reads see the transaction's own writes, and so
// do lists. What is not there is left out of the result and is no error. In a View only reads may be called.
type Tx interface {
	// Jobs reads jobs, and in an Update locks them against other transactions, in the order of their names.
	Jobs(names ...Name) ([]JobState, error)
	// JobNames lists up to limit names after the given one, in order.
	JobNames(after Name, limit int) ([]Name, error)
	// LocalJobs lists the jobs that run on every instance, in order.
	LocalJobs() ([]Name, error)
	PutJobs(jobs ...Job) error
	// DeleteJobs removes jobs with their triggers, one-shots, values and idempotency keys. Runs stay.
	DeleteJobs(names ...Name) error

	// Due lists ready triggers in the order of SPEC 11: priority descending, ready, job, trigger.
	Due(q DueQuery) ([]Trigger, error)
	// NextReady is the earliest Ready of the triggers that q selects, whatever q.Now and q.Limit say; zero: none.
	NextReady(q DueQuery) (time.Time, error)
	// Blocked lists up to limit Blocked triggers of a job by priority descending, due, trigger.
	Blocked(job Name, limit int) ([]Trigger, error)
	Triggers(keys ...TriggerKey) ([]Trigger, error)
	// TriggersOf lists the triggers of jobs, one-shots included, by job and trigger name.
	TriggersOf(jobs ...Name) ([]Trigger, error)
	PutTriggers(ts ...Trigger) error
	DeleteTriggers(keys ...TriggerKey) error
	// Pending lists the manual- one-shots, in any state, whose runs will have these ids.
	Pending(ids ...RunID) ([]Trigger, error)
	// PendingIDs lists up to limit of those ids after the given one, in order, of one job or with "" of all.
	PendingIDs(job Name, after RunID, limit int) ([]RunID, error)

	Runs(ids ...RunID) ([]Run, error)
	// OpenRuns lists runs that have not ended, of one node or with "" of all.
	OpenRuns(node string) ([]Run, error)
	// QueryRuns lists runs without their data, the newest [Run.ListedAt] first, then by id. q.Limit is at least 1.
	QueryRuns(q RunQuery) ([]Run, error)
	// CountRuns counts them; it ignores q.Skip and q.Limit.
	CountRuns(q RunQuery) (int, error)
	// PutRuns writes runs. Job and StartedAt of a run never change, and an ended one is not written again. Only one that has
	// ended can be without a StartedAt.
	PutRuns(rs ...Run) error
	// PruneRuns deletes up to limit runs that ended before an instant, with their logs and outputs, and returns how many.
	PruneRuns(endedBefore time.Time, limit int) (int, error)
	// PruneJobRuns does the same with a job's ended runs beyond its newest keep, in the order of QueryRuns.
	PruneJobRuns(job Name, keep, limit int) (int, error)

	AppendLog(id RunID, chunk []byte) error
	Log(id RunID) (chunks [][]byte, err error)
	PutOutput(id RunID, out []byte) error
	Output(id RunID) (out []byte, ok bool, err error)

	Nodes() ([]Node, error)
	PutNode(n Node) (existed bool, err error)
	DeleteNode(id string) error
	// PutCancel leaves a request to cancel a run for the node that runs it; TakeCancels returns and removes them.
	PutCancel(node string, id RunID) error
	TakeCancels(node string) ([]RunID, error)

	// Idempotent is the run that an idempotency key of a job stands for, if it has not expired at now.
	Idempotent(job Name, key string, now time.Time) (id RunID, ok bool, err error)
	PutIdempotent(job Name, key string, id RunID, until time.Time) error
	// PruneIdempotent removes up to limit keys that have expired at now.
	PruneIdempotent(now time.Time, limit int) (int, error)

	// Value is one of a job's durable values; PutValue with nil deletes it. The empty job name holds the engine's own.
	Value(job Name, key string) (value []byte, ok bool, err error)
	PutValue(job Name, key string, value []byte) error
	// ValueKeys lists the keys with a prefix, sorted, and says how many bytes all the job's keys and values have.
	ValueKeys(job Name, prefix string) (keys []string, size int, err error)
}

// JobState is a job with what decides whether a run of it may start.
type JobState struct {
	Job
	Open    []RunID // its runs that have not ended
	Blocked bool    // it has Blocked triggers
}

// DueQuery selects ready triggers. The zero value of a filter selects all.
type DueQuery struct {
	Now         time.Time
	Limit       int  // 0 or less: none
	OneShots    bool // only the engine's one-shots
	NotJobs     map[Name]bool
	NotTriggers map[TriggerKey]bool
}

// RunQuery selects runs of the history. The zero value of a filter selects all.
type RunQuery struct {
	IDs     []RunID
	Prefix  string // of the id; in a [Scheduler] at least [MinRunPrefix] digits
	Job     Name
	Trigger Name
	States  []RunState
	Kinds   []RunKind
	Node    string
	From    time.Time // started, or ended without a start, at or after
	To      time.Time // the same, before
	RetryOf RunID
	Skip    int
	Limit   int // in a [Scheduler] 1 to 1000, 0: 100
}

// Matches reports whether r passes every filter of q. Stores use it for what their indices do not decide.
func (q *RunQuery) Matches(r *Run) bool {
	return in(q.IDs, r.ID) && strings.HasPrefix(string(r.ID), q.Prefix) && is(q.Job, r.Job) && is(q.Trigger, r.Trigger) && in(q.States, r.State) && in(q.Kinds, r.Kind) &&
		is(q.Node, r.Node) && is(q.RetryOf, r.RetryOf) &&
		(q.From.IsZero() || !r.ListedAt().Before(q.From)) && (q.To.IsZero() || r.ListedAt().Before(q.To))
}

func is[T comparable](want, got T) bool {
	var all T
	return want == all || want == got
}

func in[T comparable](want []T, got T) bool { return len(want) == 0 || slices.Contains(want, got) }
