package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) run() *cobra.Command {
	return c.group("run", "Look at and end the runs of a running host", `  jobhost run ls --job nightly --state Failed
  jobhost run logs -f 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d`,
		c.runLs(), c.runShow(), c.runLogs(), c.runOutput(), c.runCancel(), c.runWait())
}

// oneRun reads a run, which may be pending.
func oneRun(ctx context.Context, s jobhost.Scheduler, id string) (jobhost.Run, error) {
	run, err := jobhost.ParseRunID(id)
	if err != nil {
		return jobhost.Run{}, usage("%w", err)
	}
	runs, err := s.Runs(ctx, jobhost.RunQuery{IDs: []jobhost.RunID{run}})
	if err != nil {
		return jobhost.Run{}, err
	}
	if len(runs) == 0 {
		return jobhost.Run{}, &jobhost.Error{Code: jobhost.NotFoundRun, Msg: fmt.Sprintf("run %q does not exist", id), Hint: "see jobhost run ls"}
	}
	return runs[0], nil
}

// showRun writes a run. One that ended badly is an error too.
func (c *cli) showRun(r jobhost.Run, form string) error {
	var err error
	if form == asJSON {
		err = c.writeJSON(r)
	} else {
		err = c.describeRun(r)
	}
	if err == nil && r.State.Ended() && r.State != jobhost.RunSucceeded {
		return exit{exitFailed, fmt.Errorf("run %s is %s%s", r.ID, r.State, because(r))}
	}
	return err
}

// because is why a run did not succeed.
func because(r jobhost.Run) string {
	s := ""
	if r.ErrorMessage != "" {
		s = ": " + r.ErrorMessage
	}
	if r.ErrorCode != "" {
		s += " (" + string(r.ErrorCode) + ")"
	}
	return s
}

func (c *cli) describeRun(r jobhost.Run) error {
	fuel, memory := "", ""
	if r.Fuel > 0 {
		fuel = fmt.Sprintf("%d instructions", r.Fuel)
	}
	if r.PeakMemory > 0 {
		memory = fmt.Sprintf("%.1f MiB", float64(r.PeakMemory)/(1<<20))
	}
	return c.pairs("Run", string(r.ID), "Job", r.Job, "Trigger", r.Trigger, "Kind", r.Kind.String(), "Attempt", number(r.Attempt),
		"Retry of", string(r.RetryOf), "Recovery of", string(r.RecoveryOf), "State", r.State.String(), "Error code", string(r.ErrorCode),
		"Error", r.ErrorMessage, "Scheduled", clock(r.ScheduledAt), "Started", clock(r.StartedAt), "Ended", clock(r.EndedAt),
		"Took", length(r, time.Now()), "Node", r.Node, "Data", string(r.Data), "Module", r.Digest, "Fuel", fuel, "Peak memory", memory)
}
