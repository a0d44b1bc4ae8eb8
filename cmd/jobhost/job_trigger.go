package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) jobTrigger() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trigger <job>", Short: "Run a job now and wait for its end", Args: takes(1, 1, "the name of a job"),
		Long: `Run a job now, on the host that is asked, whatever its triggers say, and wait for the end of the run.

The exit code is 1 when the run failed. An interrupt ends the waiting, not the run.`,
		Example: `  jobhost job trigger nightly
  jobhost job trigger nightly --data '{"full": true}' --timeout 1m`,
	}
	f, form, data := c.client(cmd), format(cmd), dataFlag(cmd)
	limit := cmd.Flags().Duration("timeout", 0, "how long to wait; the run goes on after it (default: until its end)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		raw, err := c.data(*data)
		if err != nil {
			return err
		}
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		ctx, cancel := within(ctx, *limit)
		defer cancel()
		run, err := jobhost.One(s.Trigger(ctx, []jobhost.TriggerRequest{{Job: args[0], Data: raw}}))
		if errors.Is(err, context.DeadlineExceeded) {
			return exit{exitTimeout, errors.New("the run has not ended in " + limit.String() + " and goes on; see jobhost run ls --job " + args[0])}
		}
		if err != nil {
			return err
		}
		return c.showRun(run, *form)
	}
	return cmd
}

// within bounds a context, if there is a limit.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}
