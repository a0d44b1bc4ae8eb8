package jobhost

import "time"

// Topic names a kind of event (SPEC 24).
type Topic string

// The topics.
const (
	TopicJobScheduled Topic = "scheduling.job.scheduled" // defined or replaced
	TopicJobDeleted   Topic = "scheduling.job.deleted"
	TopicJobPaused    Topic = "scheduling.job.paused" // the job or one of its triggers
	TopicJobResumed   Topic = "scheduling.job.resumed"
	TopicJobRestored  Topic = "scheduling.job.restored" // to its file's definition, on request
	TopicJobReset     Topic = "scheduling.job.reset"    // to its file's definition, which won over a change at run time
	TopicRunStarted   Topic = "scheduling.run.started"
	TopicRunSucceeded Topic = "scheduling.run.succeeded"
	TopicRunFailed    Topic = "scheduling.run.failed"
	TopicRunCanceled  Topic = "scheduling.run.canceled"
	TopicRunLost      Topic = "scheduling.run.lost"
	TopicRunRetry     Topic = "scheduling.run.retry"    // a retry was planned; At says for when
	TopicRunRecovery  Topic = "scheduling.run.recovery" // a recovery was planned
)

// Event tells what has happened, after it was stored. Fields that a topic has no use for are zero.
type Event struct {
	Topic     Topic     `json:"topic"`
	Time      time.Time `json:"time"`
	Job       Name      `json:"job"`
	Trigger   Name      `json:"trigger,omitempty"`
	Run       RunID     `json:"run,omitempty"`
	Kind      RunKind   `json:"kind,omitzero"`
	Attempt   int       `json:"attempt,omitempty"`
	RetryOf   RunID     `json:"retryOf,omitempty"`
	Node      string    `json:"node,omitempty"`
	At        time.Time `json:"at,omitzero"` // the planned time of a run, or of a retry or recovery to come
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	ErrorCode Code      `json:"errorCode,omitempty"`
}

// EventSink takes events one at a time, in their order, on a goroutine of its own; a slow one misses events. Its error is
// logged and changes nothing else.
type EventSink func(Event) error
