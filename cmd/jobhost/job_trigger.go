package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) jobTrigger() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trigger <job>", Short: "Run a job now and wait for its end", Args: takesJobs(1, "the name of a job"),
		Long: `Run a job now, on the host that is asked, whatever its triggers say, and wait for the end of the run.

The exit code is 1 when the run failed. An interrupt, or the end of --timeout, ends the waiting and not the run.`,
		Example: `  jobhost job trigger nightly
  jobhost job trigger nightly --data '{"full": true}' --timeout 1m`,
	}
	f, form, data := c.client(cmd), format(cmd), dataFlag(cmd)
	limit := limitFlag(cmd, "how long to wait; the run goes on after it (default: until its end)")
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
		waiting, cancel := within(ctx, time.Duration(*limit))
		defer cancel()
		var run jobhost.Run
		err = c.onceStarted(waiting, func() (err error) {
			run, err = jobhost.One(s.Trigger(waiting, []jobhost.TriggerRequest{{Job: args[0], Data: raw}}))
			return err
		})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return exit{exitTimeout, fmt.Errorf("waited %s; %s", limit, stillGoing(s, args[0]))}
		case errors.Is(err, context.Canceled):
			return exit{exitInterrupted, errors.New("interrupted; " + stillGoing(s, args[0]))}
		case err != nil:
			return err
		}
		return c.showRun(ctx, s, run, *form)
	}
	return cmd
}

// stillGoing says which run of a job goes on when nobody waits for it any more.
func stillGoing(s jobhost.Scheduler, job jobhost.Name) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	runs, err := s.Runs(ctx, jobhost.RunQuery{
		Job: job, States: []jobhost.RunState{jobhost.RunRunning}, Kinds: []jobhost.RunKind{jobhost.KindManual}, Limit: 2,
	})
	switch {
	case err != nil:
		return "if a run was started, it goes on; see jobhost run ls --job " + job
	case len(runs) == 0:
		return "no run of the job is in progress; see jobhost job explain " + job
	case len(runs) > 1:
		return "the run goes on; see jobhost run ls --job " + job + " --state Running"
	}
	return goesOn(runs[0].ID)
}

// goesOn says how to go on with a run.
func goesOn(id jobhost.RunID) string {
	return fmt.Sprintf("run %s goes on; follow it with jobhost run logs -f %s, or end it with jobhost run cancel %s", id, id, id)
}

// within bounds a context, if there is a limit.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}
