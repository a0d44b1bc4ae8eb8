package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

// patience is how long a host that was there and is gone is waited for.
const patience = time.Minute

// patiently calls do, which follows something of a host and says whether it got an answer, again when the host goes away in
// between: after a restart it goes on where it was. A host that was never there is not waited for. The error of the last
// call is returned.
func (c *cli) patiently(ctx context.Context, do func() (answered bool, err error)) error {
	var gone time.Time // since when; zero: it is there
	for known := false; ; {
		answered, err := do()
		known = known || answered || err != nil && !nobodyThere(err) // one that breaks off was there
		switch now := time.Now(); {
		case jobhost.CodeOf(err) != jobhost.NotServing, nobodyThere(err) && !known:
			return err
		case gone.IsZero() || answered:
			gone = now
			c.say("the host does not answer any more; waiting up to %s for it to come back", durationText(patience))
		case now.Sub(gone) > patience:
			return exit{exitUnreachable, fmt.Errorf("the host has not come back in %s: %w", durationText(patience), err)}
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limit is a flag that says how long to wait.
type limit time.Duration

// String is the limit as it is written.
func (l *limit) String() string {
	if *l == 0 {
		return ""
	}
	return durationText(time.Duration(*l))
}

// Set reads a limit.
func (l *limit) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("want a duration above 0, such as 90s or 10m")
	}
	*l = limit(d)
	return nil
}

// Type names what the flag takes.
func (*limit) Type() string { return "duration" }

// limitFlag adds --timeout to a command, and returns where its value will be.
func limitFlag(cmd *cobra.Command, what string) *limit {
	var l limit
	cmd.Flags().Var(&l, "timeout", what)
	return &l
}
