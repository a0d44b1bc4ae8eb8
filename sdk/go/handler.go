package jobhost

import (
	"context"
	"errors"
	"os"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// Handler does the work of one run. Nil is success. An error is a failure, retried as the job's definition says unless it
// is permanent: see [Fail] and [Permanent]. A panic ends the run as a failure too.
type Handler func(ctx context.Context, run *Run) error

// The exit codes of a command.
const (
	exitFailed    = 1
	exitPermanent = 65 // EX_DATAERR: retrying is pointless
)

// Main runs the job and ends the process. It is the whole main function of a command.
func Main(f Handler) {
	err := Drive(context.Background(), surroundings(), f)
	os.Exit(exitCode(err)) //nolint:forbidigo // it stands for main
}

// Call runs the job and returns what jobhost_run returns: 0 for success. A reactor is
//
//	//go:wasmexport jobhost_run
//	func run() int32 { return jobhost.Call(handle) }
func Call(f Handler) int32 {
	if Drive(context.Background(), surroundings(), f) != nil {
		return exitFailed
	}
	return 0
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if f, ok := errors.AsType[*Failure](err); ok && f.Permanent {
		return exitPermanent
	}
	return exitFailed
}

// Drive runs the job once on a host, tells the host of a failure, and returns it. It is for package jobhosttest, which has
// a host for tests; jobs call [Main] or [Call].
func Drive(ctx context.Context, h wire.Host, f Handler) error {
	run, err := newRun(h)
	if err == nil {
		ctx, end := watch(ctx, h)
		err = f(context.WithValue(wire.NewContext(ctx, h), runKey{}, run), run)
		end()
	}
	if err == nil {
		return nil
	}
	var code string
	var permanent bool
	if failure, ok := errors.AsType[*Failure](err); ok {
		code, permanent = failure.Code, failure.Permanent
	}
	h.Fail(code, err.Error(), permanent)
	return err
}

type runKey struct{}

// FromContext returns the run that a context of a [Handler], or one made from it, belongs to.
func FromContext(ctx context.Context) (*Run, bool) {
	r, ok := ctx.Value(runKey{}).(*Run)
	return r, ok
}
