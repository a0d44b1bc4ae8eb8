package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/jobhost/jobhost/bench/internal/report"
)

// Main is the main function of a command that measures: in a child it measures, else it runs, until it is done or a signal
// ends it.
func Main[T any](measure func(order T) (report.Values, error), run func(ctx context.Context, w io.Writer, args []string) error) {
	Answer(measure)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// Profile takes a processor profile into a new file until stop is called. The file keeps what it has after that.
func Profile(f *os.File) (stop func(), err error) {
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close() // nothing is in it
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // the profile is complete before
	}, nil
}
