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
	FuncProgress   = "progress"    // (done i64, total i64, ptr, len): how far the run is

	FuncKVGet    = "kv_get"    // (key, key_len, buf, cap) -> i32: a durable value of the job
	FuncKVSet    = "kv_set"    // (key, key_len, ptr, len) -> i32
	FuncKVDelete = "kv_delete" // (key, key_len) -> i32
	FuncKVList   = "kv_list"   // (prefix, prefix_len, buf, cap) -> i32: the keys, as a sorted JSON array

	FuncHTTPSend    = "http_send"    // (head, head_len, body, body_len) -> i32: a handle, once the response's head is there
	FuncHTTPStatus  = "http_status"  // (handle) -> i32
	FuncHTTPHeaders = "http_headers" // (handle, buf, cap) -> i32: JSON, lower-case names to lists
	FuncHTTPRead    = "http_read"    // (handle, buf, cap) -> i32: 1 to cap bytes of the body, 0 at its end
	FuncHTTPClose   = "http_close"   // (handle)

	FuncSpanStart = "span_start" // (name, len) -> i32: an id; the parent is the innermost open span
	FuncSpanEnd   = "span_end"   // (id, ok)
	FuncSpanAttr  = "span_attr"  // (id, key, key_len, value, value_len)
	FuncEvent     = "event"      // (ptr, len): on the innermost open span
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
