package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) events() *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "Follow what happens on a running host", Args: takes(0, 0, "no arguments"),
		Long: `Follow what happens on a running host until it stops or an interrupt: jobs that are defined, paused or deleted, runs that
start and end. A line an event, in JSON with -o json.`,
		Example: `  jobhost events
  jobhost events --job nightly -o json | jq 'select(.topic == "scheduling.run.failed")'`,
	}
	f, form := c.client(cmd), format(cmd)
	job := cmd.Flags().String("job", "", "only events of this job")
	cmd.RunE = func(*cobra.Command, []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		for e, err := range s.Events(ctx) {
			switch {
			case errors.Is(err, context.Canceled):
				return nil // the usual end
			case jobhost.CodeOf(err) == jobhost.NotServing && !nobodyThere(err):
				return exit{exitUnreachable, fmt.Errorf("the host is gone: %s", message(err))}
			case err != nil:
				return err
			case *job != "" && e.Job != *job:
				continue
			}
			if err := c.writeEvent(e, *form); err != nil {
				return err
			}
		}
		c.say("the host has stopped")
		return nil
	}
	return cmd
}

// again is the time of day in the local zone, as one word, with date and offset when it is of another day.
func again(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Year() != now.Year() || at.YearDay() != now.YearDay() {
		return at.Format(time.RFC3339)
	}
	return at.Format("15:04:05.000")
}

func (c *cli) writeEvent(e jobhost.Event, form string) error {
	if form == asJSON {
		return c.encoder().Encode(e)
	}
	of := e.Job
	if e.Trigger != "" {
		of += "/" + e.Trigger
	}
	parts := []string{e.Time.Local().Format("15:04:05.000"), strings.TrimPrefix(string(e.Topic), "scheduling."), of}
	if e.Run != "" {
		parts = append(parts, "run="+string(e.Run), "kind="+e.Kind.String(), "attempt="+number(e.Attempt))
	}
	if !e.EndedAt.IsZero() && !e.StartedAt.IsZero() {
		parts = append(parts, "took="+length(jobhost.Run{StartedAt: e.StartedAt, EndedAt: e.EndedAt}, e.EndedAt))
	}
	if e.Topic == jobhost.TopicRunRetry || e.Topic == jobhost.TopicRunRecovery {
		parts = append(parts, "again="+again(e.At, e.Time))
	}
	if e.ErrorCode != "" {
		parts = append(parts, "error="+oneLine(string(e.ErrorCode)))
	}
	_, err := fmt.Fprintln(c.out, strings.Join(parts, " "))
	return err
}
