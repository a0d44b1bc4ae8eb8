package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) run() *cobra.Command {
	cmd := c.group("run", "Look at and end the runs of a running host", `  jobhost run ls --job nightly --state Failed
  jobhost run logs -f 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d`,
		c.runLs(), c.runShow(), c.runLogs(), c.runOutput(), c.runCancel(), c.runWait(), c.runReplay())
	cmd.Long = "Look at and end the runs of a running host. A run is named by its id, or by the beginning of it that no other run\nhas, of at least 8 digits."
	return cmd
}

// runID reads an argument that is the id of a run, or the beginning of one, for which [jobhost.FindRunID] asks the host.
func runID(text string) (string, error) {
	id, err := jobhost.ParseRunPrefix(text)
	if err != nil {
		return "", usage("%w", err)
	}
	return id, nil
}

// onRun is the body of a command that asks a host about the run which is its argument.
func (f *client) onRun(do func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		text, err := runID(args[0])
		if err != nil {
			return err
		}
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		id, err := jobhost.FindRunID(ctx, s, text)
		if err != nil {
			return err
		}
		return do(ctx, s, id)
	}
}

// showRun writes a run that has ended, with what it returned. One that ended badly is an error too.
func (c *cli) showRun(ctx context.Context, s jobhost.Scheduler, r jobhost.Run, form string) error {
	var err error
	if form == asJSON {
		err = c.writeJSON(r)
	} else {
		err = c.describeRun(r, output(ctx, s, r))
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

// output is what a run returned, if that is a short line, or else where it is.
func output(ctx context.Context, s jobhost.Scheduler, r jobhost.Run) string {
	if !r.State.Ended() {
		return ""
	}
	out, err := s.Output(ctx, r.ID)
	if err != nil || len(out) == 0 {
		return "" // it says nothing, or its record is gone by now
	}
	if text := plain(out); text != "" {
		return text
	}
	return fmt.Sprintf("%d bytes, see jobhost run output %s", len(out), r.ID)
}

// plain is an output that is a short line of text; "" when it is not.
func plain(out []byte) string {
	const short = 200
	text := strings.TrimSpace(string(out))
	if len(text) <= short && utf8.ValidString(text) && !strings.ContainsFunc(text, steers) && !strings.Contains(text, "\n") {
		return text
	}
	return ""
}

// progressWords is how far a run is.
func progressWords(p *jobhost.Progress) string {
	if p == nil {
		return ""
	}
	s := strconv.FormatInt(p.Done, 10)
	if p.Total > 0 {
		s = fmt.Sprintf("%d of %d", p.Done, p.Total)
	}
	if p.Msg != "" {
		s += ", " + p.Msg
	}
	return s + ", at " + clock(p.At)
}

// whereLog says how to read the log of a run that somebody may ask about: it is in progress, or ended badly.
func whereLog(r jobhost.Run) string {
	if r.Node == "" || r.State == jobhost.RunSucceeded {
		return ""
	}
	return "jobhost run logs " + string(r.ID)
}

func (c *cli) describeRun(r jobhost.Run, output string) error {
	fuel, memory := "", ""
	if r.Fuel > 0 {
		fuel = fmt.Sprintf("%d instructions", r.Fuel)
	}
	if r.PeakMemory > 0 {
		memory = mebibytes(r.PeakMemory)
	}
	return c.pairs("Run", string(r.ID), "Job", r.Job, "Trigger", r.Trigger, "Kind", r.Kind.String(), "Attempt", number(r.Attempt),
		"Retry of", string(r.RetryOf), "Recovery of", string(r.RecoveryOf), "State", r.State.String(), "Error code", string(r.ErrorCode),
		"Error", r.ErrorMessage, "Scheduled", clock(r.ScheduledAt), "Started", clock(r.StartedAt), "Ended", clock(r.EndedAt),
		"Took", length(r, time.Now()), "Node", r.Node, "Data", string(r.Data), "Module", r.Digest, "Fuel", fuel, "Peak memory", memory,
		"Progress", progressWords(r.Progress), "Output", output, "Log", whereLog(r))
}
