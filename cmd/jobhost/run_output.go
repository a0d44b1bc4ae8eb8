package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runOutput() *cobra.Command {
	cmd := &cobra.Command{
		Use: "output <run>", Short: "Write what a run returned, as it is", Args: takes(1, 1, "the id of a run or its beginning"),
		Long:    "Write what a run returned, byte by byte. On a terminal what would steer it is written visibly.",
		Example: `  jobhost run output 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d | jq .`,
	}
	f := c.client(cmd)
	cmd.RunE = f.onRun(func(ctx context.Context, s jobhost.Scheduler, id jobhost.RunID) error {
		out, err := s.Output(ctx, id)
		if err != nil {
			return err
		}
		return writeGuest(c.out, out)
	})
	return cmd
}
