package jobhost

import (
	"errors"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// Failure is an error that says how the run failed.
type Failure struct {
	Code      string // the job's own, at most 128 bytes; not one that begins with SCHEDULING_, which are the host's
	Message   string // at most 4 KiB; that of Err if empty
	Permanent bool   // a retry would fail the same way, so there is none
	Err       error  // what it came from, if anything
}

// Error returns the message.
func (f *Failure) Error() string {
	if f.Message == "" && f.Err != nil {
		return f.Err.Error()
	}
	return f.Message
}

// Unwrap returns what the failure came from.
func (f *Failure) Unwrap() error { return f.Err }

// Fail is a failure with a code of the job's own. It is retried as the job's definition says.
func Fail(code, message string) error { return &Failure{Code: code, Message: message} }

// Permanent marks an error, and keeps its code and message: no retry would mend it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	f := Failure{Message: err.Error(), Permanent: true, Err: err}
	if inner, ok := errors.AsType[*Failure](err); ok {
		f.Code = inner.Code
	}
	return &f
}

// What the host refuses with. Compare with [errors.Is].
var (
	ErrNotFound    error = wire.NotFound
	ErrDenied      error = wire.Denied // the operator has not granted it
	ErrTooLarge    error = wire.TooLarge
	ErrBadArgument error = wire.BadArgument
	ErrStopped     error = wire.Ending // the run was asked to stop, or is over; also the cause of its context
	ErrFailed      error = wire.Failed // network or store
	ErrLimit       error = wire.Limit  // too many responses open, or the job's values are full
)
