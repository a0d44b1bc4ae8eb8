package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runWait() *cobra.Command {
	cmd := &cobra.Command{
		Use: "wait <run>", Short: "Wait until a run has ended and show it", Args: takes(1, 1, "the id of a run or its beginning"),
		Long: `Wait until a run has ended and show it. The exit code is 1 when the run failed, and 124 when it has not ended in time. An
interrupt ends the waiting and not the run. A host that stops meanwhile is waited for, up to a minute.`,
		Example: `  jobhost run wait 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d --timeout 10m
  jobhost run wait $(jobhost job enqueue nightly)`,
	}
	f, form := c.client(cmd), format(cmd)
	limit := limitFlag(cmd, "how long to wait (default: until its end)")
	cmd.RunE = f.onRun(func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error {
		waiting, cancel := within(ctx, time.Duration(*limit))
		defer cancel()
		r, err := c.waitRun(waiting, s, id)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return exit{exitTimeout, fmt.Errorf("run %s has not ended in %s", id, limit)}
		case err != nil:
			return ended(err, id)
		}
		return c.showRun(ctx, s, r, *form)
	})
	return cmd
}

// waitRun looks at a run until it has ended. It follows the run's log, which ends with the run, so that it asks seldom.
func (c *cli) waitRun(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) (r jobhost.Run, err error) {
	const shortest, longest = 50 * time.Millisecond, time.Second
	pause := shortest
	err = c.patiently(ctx, func() (answered bool, err error) {
		for {
			if r, err = s.Run(ctx, id); err != nil || r.State.Ended() {
				return answered, err
			}
			answered = true
			for _, err := range s.Log(ctx, r.ID, jobhost.LogQuery{Follow: true}) {
				if err != nil {
					return answered, err
				}
			}
			if err := sleep(ctx, pause); err != nil {
				return answered, err
			}
			pause = min(2*pause, longest)
		}
	})
	return r, err
}
