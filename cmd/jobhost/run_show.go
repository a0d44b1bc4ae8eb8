package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <run>", Short: "Show a run", Args: takes(1, 1, "the id of a run or its beginning"),
		Example: `  jobhost run show 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d -o json`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = f.onRun(func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error {
		r, err := s.Run(ctx, id)
		if err != nil {
			return err
		}
		if *form == asJSON {
			return c.writeJSON(r)
		}
		return c.describeRun(r, output(ctx, s, r))
	})
	return cmd
}
