package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay <run>", Short: "Run an ended run once more, without a record", Args: takes(1, 1, "the id of a run or its beginning"),
		Long: `Run an ended run once more on the host that is asked: the module that ran, also if its plugin is another one by now, with the
data that it got and a clock that starts at its planned time. It is beside the scheduler: it leaves no record, no trace and no
retry. Without --grants the plugin may use nothing beside its input; with it, what its job is granted now, so that it can
have effects a second time. Durable values can be read then and not written.

The replay is shown beside the run on record, and below it what it returned, if that is text; with -o json the output is base64.

The module must be kept still: a host keeps the last plugins.keep_versions of each plugin.

The exit code is 1 when the replay failed. An interrupt, or the end of --timeout, ends the replay.`,
		Example: `  jobhost run replay 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d
  jobhost run replay 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d --grants -o json`,
	}
	f, form := c.client(cmd), format(cmd)
	grants := cmd.Flags().Bool("grants", false, "grant what the job is granted now")
	limit := limitFlag(cmd, "how long it may take, beside the job's own limit")
	cmd.RunE = f.onRun(func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error {
		waiting, cancel := within(ctx, time.Duration(*limit))
		defer cancel()
		got, err := s.Replay(waiting, jobhost.ReplayRequest{Run: id, Grants: *grants})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return exit{exitTimeout, fmt.Errorf("the replay was ended after %s", limit)}
		case errors.Is(err, context.Canceled):
			return exit{exitInterrupted, errors.New("interrupted; the replay was ended")}
		case err != nil:
			return err
		}
		return c.showReplay(got, *form, *grants)
	})
	return cmd
}

// showReplay holds a replay against what is on record. One that failed is an error too.
func (c *cli) showReplay(got jobhost.Replayed, form string, granted bool) error {
	again, first := got.Replay, got.Recorded
	var err error
	if form == asJSON {
		err = c.writeJSON(got)
	} else {
		for _, e := range got.Log {
			c.say("%s", visible(e.Msg))
		}
		t := c.newTable()
		t.row("", "RECORDED", "REPLAY")
		for _, row := range [][3]string{
			{"State", first.State.String(), again.State.String()},
			{"Error code", string(first.ErrorCode), string(again.ErrorCode)},
			{"Error", first.ErrorMessage, again.ErrorMessage},
			{"Started", clock(first.StartedAt), clock(again.StartedAt)},
			{"Took", length(first, time.Now()), length(again, time.Now())},
			{"Fuel", strconv.FormatUint(first.Fuel, 10), strconv.FormatUint(again.Fuel, 10)},
			{"Peak memory", mebibytes(first.PeakMemory), mebibytes(again.PeakMemory)},
			{"Output", "jobhost run output " + string(first.ID), shortly(got.Output)},
		} {
			t.row(row[:]...)
		}
		if err = t.flush(); err == nil && below(got.Output) {
			if _, err = fmt.Fprintln(c.out); err == nil {
				_, err = fmt.Fprintln(c.out, strings.TrimSuffix(visible(string(got.Output)), "\n"))
			}
		}
	}
	if err == nil && again.State != jobhost.RunSucceeded {
		hint := ""
		if !granted {
			hint = "; it could use nothing beside its input, --grants gives it what its job is granted"
		}
		return exit{exitFailed, fmt.Errorf("the replay of run %s is %s%s%s", first.ID, again.State, because(again), hint)}
	}
	return err
}

// shortly is an output in a table.
func shortly(out []byte) string {
	switch text := plain(out); {
	case text != "" || len(out) == 0:
		return text
	case below(out):
		return fmt.Sprintf("%d bytes, below", len(out))
	}
	return fmt.Sprintf("%d bytes, see -o json", len(out))
}

// below reports whether an output is text that does not fit into a table.
func below(out []byte) bool { return len(out) > 0 && plain(out) == "" && utf8.Valid(out) }
