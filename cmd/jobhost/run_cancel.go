package main

import (
	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel <run>...", Short: "Ask runs to end", Args: takes(1, -1, "ids of runs or their beginnings"),
		Long: `Ask runs to end. A plugin that does not end by itself is closed after cancel_grace. A run that has not started yet is
cancelled without starting. This returns at once; "jobhost run wait" waits for the end. Of a run that has ended already nothing is
left to end: that is exit code 3, too.`,
		Example: `  jobhost run cancel 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d`,
	}
	f := c.client(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, a := range args {
			if _, err := runID(a); err != nil {
				return err
			}
		}
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		ids := make([]jobhost.RunID, len(args))
		for i, a := range args {
			if ids[i], err = jobhost.FindRunID(ctx, s, a); err != nil {
				return err
			}
		}
		return c.each(args, "is asked to end", s.CancelRuns(ctx, ids))
	}
	return cmd
}
