// Package wire is the contract between a job and its host as Go sees it: [Host] has a method for each function of the
// module jobhost_v1. There are three hosts, and the third one is for tests, in package jobhosttest:
//
//   - in WebAssembly the functions themselves, here,
//   - anywhere else a stand-in, in package standin.
//
// What bites: a module imports a function only if its method is called somewhere, since the linker drops the others. So the
// methods are called through Host and never collected in values.
package wire

import (
	"strconv"
	"time"
)

// Host is the other side. Methods block until the host answers; one guest calls one at a time.
type Host interface {
	// Document returns the run document, a JSON object.
	Document() ([]byte, error)
	// Output sets the result.
	Output(result []byte)
	// Fail says what the failure was.
	Fail(code, message string, permanent bool)
	// Log adds an entry to the run's log. Levels are those of log/slog.
	Log(level int, entry string)
	// Progress says how far the run is.
	Progress(done, total int64, message string)

	// Stopping reports whether the run is asked to stop.
	Stopping() bool
	// Left returns how long the run may still take, and false when it has no limit.
	Left() (time.Duration, bool)
	// Sleep waits. It fails with [Ending] when the run is asked to stop.
	Sleep(d time.Duration) error

	// Get returns a durable value.
	Get(key string) ([]byte, error)
	// Set stores one.
	Set(key string, value []byte) error
	// Delete removes one.
	Delete(key string) error
	// Keys returns the keys with a prefix, as a sorted JSON array.
	Keys(prefix string) ([]byte, error)

	// Send sends a request and waits for the head of the response. It returns a handle.
	Send(head, body []byte) (int32, error)
	// Status returns the status of a response.
	Status(handle int32) (int, error)
	// Headers returns the headers of a response: a JSON object of lower-case names and lists.
	Headers(handle int32) ([]byte, error)
	// Read reads from the body of a response: at least a byte, or none at its end.
	Read(handle int32, p []byte) (int, error)
	// Close forgets a response.
	Close(handle int32)

	// SpanStart begins a span and returns its id.
	SpanStart(name string) int32
	// SpanEnd ends one.
	SpanEnd(id int32, ok bool)
	// SpanAttr adds an attribute to one.
	SpanAttr(id int32, key, value string)
	// Event marks an instant on the innermost span.
	Event(name string)
}

// Errno is what a host refuses with.
type Errno int32

// The error numbers.
const (
	NotFound    Errno = -1
	Denied      Errno = -2
	TooLarge    Errno = -3
	BadArgument Errno = -4
	Ending      Errno = -5
	Failed      Errno = -6
	Limit       Errno = -7
)

// Error says it in words.
func (e Errno) Error() string {
	switch e {
	case NotFound:
		return "not found"
	case Denied:
		return "denied: the operator has not granted it"
	case TooLarge:
		return "too large"
	case BadArgument:
		return "bad argument"
	case Ending:
		return "the run is asked to stop"
	case Failed:
		return "failed"
	case Limit:
		return "limit reached"
	}
	return "host error " + strconv.Itoa(int(e))
}
