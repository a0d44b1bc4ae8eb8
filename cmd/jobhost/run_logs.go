package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runLogs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logs <run>", Aliases: []string{"log"}, Short: "Write the log of a run", Args: takes(1, 1, "the id of a run or its beginning"),
		Long: `Write the log of a run: a line an entry, in JSON with -o json. With -f it goes on until the run has ended; an interrupt ends
the following and not the run, and a host that stops meanwhile is waited for, up to a minute.`,
		Example: `  jobhost run logs 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d
  jobhost run logs -f $(jobhost job enqueue nightly)`,
	}
	f, form := c.client(cmd), format(cmd)
	follow := cmd.Flags().BoolP("follow", "f", false, "go on until the run has ended")
	after := cmd.Flags().Int("after", 0, "only entries after this one, by their number")
	cmd.RunE = f.onRun(func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error {
		q := jobhost.LogQuery{After: *after, Follow: *follow}
		read := func() (answered bool, err error) {
			for e, err := range s.Log(ctx, id, q) {
				if err != nil {
					return answered, err
				}
				answered, q.After = true, max(q.After, e.Seq) // where to go on
				if err := c.writeEntry(e, *form); err != nil {
					return answered, err
				}
			}
			return answered, nil
		}
		if *follow {
			if err := c.patiently(ctx, read); err != nil {
				return ended(err, id)
			}
			c.sayLost(ctx, s, id)
			return nil
		}
		_, err := read()
		return err
	})
	return cmd
}

// ended says that the run goes on when only the following was interrupted.
func ended(err error, id jobhost.RunID) error {
	if errors.Is(err, context.Canceled) {
		return exit{exitInterrupted, errors.New("interrupted; " + goesOn(id))}
	}
	return err
}

func (c *cli) writeEntry(e jobhost.LogEntry, form string) error {
	if form == asJSON {
		return c.encoder().Encode(e)
	}
	_, err := fmt.Fprintf(c.out, "%s %-5s %s\n", entryTime(e.Time, time.Now()), slog.Level(e.Level), oneLine(e.Msg))
	return err
}

// entryTime is the time of day in the local zone, with date and offset when it was not today.
func entryTime(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Year() != now.Year() || at.YearDay() != now.YearDay() {
		return at.Format("2006-01-02 15:04:05.000 -07:00")
	}
	return at.Format("15:04:05.000")
}

// sayLost says that a log has no proper end, since the run's node was gone before it.
func (c *cli) sayLost(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) {
	runs, err := s.Runs(ctx, jobhost.RunQuery{IDs: []jobhost.RunID{id}, Limit: 1})
	if err == nil && len(runs) == 1 && runs[0].State == jobhost.RunLost {
		c.say("run %s is Lost%s", id, because(runs[0]))
	}
}
