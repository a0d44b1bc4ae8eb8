//go:build wasip1

// Guest is a job for tests: a command or, with the tag reactor, a reactor.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	jobhost "github.com/jobhost/jobhost/sdk/go"
)

func main() { jobhost.Main(handle) }

func handle(ctx context.Context, run *jobhost.Run) error {
	var d struct{ Do string }
	if err := run.Data(&d); err != nil {
		return err
	}
	switch d.Do {
	case "facts":
		_, limited := ctx.Deadline()
		run.Log.Warn("asked", slog.Int("attempt", run.Attempt))
		return run.Output(map[string]any{"job": run.Job, "kind": run.Kind, "limited": limited, "due": run.ScheduledAt})
	case "fail":
		return jobhost.Fail("BROKEN", "it is broken")
	case "permanent":
		return jobhost.Permanent(errors.New("it stays broken"))
	case "sleep":
		return jobhost.Sleep(ctx, time.Hour)
	case "wait":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return fmt.Errorf("do %q", d.Do)
}
