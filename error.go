package jobhost

import (
	"errors"
	"fmt"
)

// Code names a kind of failure. Codes are stable: one may be added, none changes its meaning (SPEC 29).
type Code string

// The codes. A plugin may fail with a code of its own, which then stands in the run's record beside these.
const (
	NotFoundJob        Code = "SCHEDULING_NOTFOUND_001"    // the job is not registered
	NotFoundPlugin     Code = "SCHEDULING_NOTFOUND_002"    // the plugin is not loaded
	NotFoundTrigger    Code = "SCHEDULING_NOTFOUND_003"    // the trigger does not exist
	NotFoundRun        Code = "SCHEDULING_NOTFOUND_004"    // the run does not exist or has ended
	NotFoundDefinition Code = "SCHEDULING_NOTFOUND_005"    // no file defines the job, so it cannot be restored
	NotFoundNode       Code = "SCHEDULING_NOTFOUND_006"    // no such node
	InvalidDefinition  Code = "SCHEDULING_VALIDATION_001"  // a definition or request is invalid
	InvalidPage        Code = "SCHEDULING_VALIDATION_002"  // the page of a history query is out of range
	JobRunning         Code = "SCHEDULING_CONFLICT_001"    // the job is running and must not run concurrently
	LeaseHeld          Code = "SCHEDULING_CONFLICT_002"    // somebody else holds the leader lease
	Canceled           Code = "SCHEDULING_CONFLICT_003"    // the run was cancelled, by request or by the host's stop
	NotServing         Code = "SCHEDULING_UNAVAILABLE_001" // the scheduler is not started yet or is stopping
	LeaseUnreachable   Code = "SCHEDULING_UNAVAILABLE_002" // the leader election's storage is unreachable
	StoreUnreachable   Code = "SCHEDULING_UNAVAILABLE_003" // the store is unreachable
	StoreFull          Code = "SCHEDULING_UNAVAILABLE_004" // the store is full
	TimedOut           Code = "SCHEDULING_TIMEOUT_001"     // the run exceeded its time limit
	Unexpected         Code = "SCHEDULING_UNEXPECTED_001"  // the job ended with an unhandled error
)

// Error is a failure with a stable code. Errors of contexts are never wrapped in one; they pass through.
type Error struct {
	Code   Code
	Op     string         // what was being done, such as "engine.trigger"
	Msg    string         // lower case; names the thing and the limit that was passed
	Hint   string         // what to do about it; may be empty
	Params map[string]any // the values in Msg, for translations; may be nil
	Err    error          // the cause; may be nil
}

// Error returns the operation, the message, the hint and the code in one line.
func (e *Error) Error() string {
	s := e.Msg
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return fmt.Sprintf("%s (%s)", s, e.Code)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [Error] in err's chain, or "" when there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
