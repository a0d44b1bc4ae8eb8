package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runWait() *cobra.Command {
	cmd := &cobra.Command{
		Use: "wait <run>", Short: "Wait until a run has ended and show it", Args: takes(1, 1, "the id of a run"),
		Long: "Wait until a run has ended and show it. The exit code is 1 when the run failed, and 124 when it has not ended in time.",
		Example: `  jobhost run wait 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d --timeout 10m
  jobhost run wait $(jobhost job enqueue nightly)`,
	}
	f, form := c.client(cmd), format(cmd)
	limit := cmd.Flags().Duration("timeout", 0, "how long to wait (default: until its end)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		ctx, cancel := within(ctx, *limit)
		defer cancel()
		r, err := waitRun(ctx, s, args[0])
		if errors.Is(err, context.DeadlineExceeded) {
			return exit{exitTimeout, errors.New("run " + args[0] + " has not ended in " + limit.String())}
		}
		if err != nil {
			return err
		}
		return c.showRun(r, *form)
	}
	return cmd
}

// waitRun looks at a run until it has ended. It follows the run's log, which ends with the run, so that it asks seldom.
func waitRun(ctx context.Context, s jobhost.Scheduler, id string) (jobhost.Run, error) {
	const shortest, longest = 50 * time.Millisecond, time.Second
	for pause := shortest; ; pause = min(2*pause, longest) {
		r, err := oneRun(ctx, s, id)
		if err != nil || r.State.Ended() {
			return r, err
		}
		for _, err := range s.Log(ctx, r.ID, jobhost.LogQuery{Follow: true}) {
			if err != nil {
				return r, err
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}
