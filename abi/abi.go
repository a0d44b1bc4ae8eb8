package abi

import "strconv"

// Version is the major version of the contract. [Module] carries it.
const Version = 1

// Module is the module of the host functions. A host may serve several versions side by side.
const Module = "jobhost_v1"

// ModulePrefix is what the module names of all versions begin with.
const ModulePrefix = "jobhost_v"

// The host functions of [Module].
const (
	FuncRun        = "run"         // (buf, cap) -> i32: the run document
	FuncInput      = "input"       // (buf, cap) -> i32: the merged data alone
	FuncOutput     = "output"      // (ptr, len): sets the result; the last call wins
	FuncFail       = "fail"        // (code, code_len, msg, msg_len, permanent): what the failure was
	FuncLog        = "log"         // (level, ptr, len): one entry of the run's log
	FuncCancelled  = "cancelled"   // () -> i32: 1 once the run is asked to stop
	FuncDeadlineMS = "deadline_ms" // () -> i64: milliseconds left, -1 without a limit
	FuncSleepMS    = "sleep_ms"    // (i64) -> i32: waits
)

// What a guest exports. A module with [ExportRun] is a reactor, one with only [ExportStart] a command.
const (
	ExportRun        = "jobhost_run" // () -> i32: 0 is success
	ExportInitialize = "_initialize" // () -> (): called once before ExportRun, optional
	ExportStart      = "_start"      // () -> (): the program
	ExportMemory     = "memory"
)

// The kinds of module.
const (
	Reactor = "reactor"
	Command = "command"
)

// The exit codes of a command. Any other code is a failure that may be retried.
const (
	ExitSuccess   = 0
	ExitPermanent = 65 // EX_DATAERR: retrying is pointless
)

// The levels of [FuncLog], the numbers of log/slog. Others are kept as they are.
const (
	Debug = -4
	Info  = 0
	Warn  = 4
	Error = 8
)

// The environment variables that every guest gets. One without a value is there and empty.
const (
	EnvJob         = "JOBHOST_JOB"
	EnvTrigger     = "JOBHOST_TRIGGER" // empty for a manual run
	EnvRunID       = "JOBHOST_RUN_ID"
	EnvKind        = "JOBHOST_KIND" // Schedule, Manual, Recovery or Retry
	EnvAttempt     = "JOBHOST_ATTEMPT"
	EnvRetryOf     = "JOBHOST_RETRY_OF"
	EnvScheduledAt = "JOBHOST_SCHEDULED_AT" // RFC 3339, UTC
	EnvDeadline    = "JOBHOST_DEADLINE"     // RFC 3339, UTC; empty without a limit
	EnvNode        = "JOBHOST_NODE"
	EnvTraceparent = "TRACEPARENT" // W3C trace context
)

// EnvPrefix is what the names of the host's own variables begin with. No grant may set one.
const EnvPrefix = "JOBHOST_"

// Errno is a negative result of a host function. A result that is not negative is no error.
type Errno int32

// The error numbers.
const (
	NotFound    Errno = -1
	Denied      Errno = -2 // no grant
	TooLarge    Errno = -3
	BadArgument Errno = -4 // also a pointer outside memory and an unknown handle
	Ending      Errno = -5 // the run is ending
	Failed      Errno = -6 // network or store
	Limit       Errno = -7 // a limit is reached
)

// Error names the number.
func (e Errno) Error() string {
	switch e {
	case NotFound:
		return "not found"
	case Denied:
		return "denied: no grant"
	case TooLarge:
		return "too large"
	case BadArgument:
		return "bad argument or handle"
	case Ending:
		return "the run is ending"
	case Failed:
		return "failed"
	case Limit:
		return "limit reached"
	}
	return "error " + strconv.Itoa(int(e))
}
