package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runLogs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logs <run>", Aliases: []string{"log"}, Short: "Write the log of a run", Args: takes(1, 1, "the id of a run"),
		Long: `Write the log of a run: a line an entry, in JSON with -o json. With -f it goes on until the run has ended; an interrupt ends
the following and not the run, and a host that stops meanwhile is waited for, up to a minute.`,
		Example: `  jobhost run logs 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d
  jobhost run logs -f $(jobhost job enqueue nightly)`,
	}
	f, form := c.client(cmd), format(cmd)
	follow := cmd.Flags().BoolP("follow", "f", false, "go on until the run has ended")
	after := cmd.Flags().Int("after", 0, "only entries after this one, by their number")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		id, err := runID(args[0])
		if err != nil {
			return err
		}
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
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
			return ended(c.patiently(ctx, read), id)
		}
		_, err = read()
		return err
	}
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
	_, err := fmt.Fprintf(c.out, "%s %-5s %s\n", e.Time.Local().Format("15:04:05.000"), slog.Level(e.Level), oneLine(e.Msg))
	return err
}
