package main

import (
	"github.com/spf13/cobra"
)

func (c *cli) runOutput() *cobra.Command {
	cmd := &cobra.Command{
		Use: "output <run>", Short: "Write what a run returned, as it is", Args: takes(1, 1, "the id of a run"),
		Long:    "Write what a run returned, byte by byte. On a terminal what would steer it is written visibly.",
		Example: `  jobhost run output 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d | jq .`,
	}
	f := c.client(cmd)
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
		out, err := s.Output(ctx, id)
		if err != nil {
			return err
		}
		return writeGuest(c.out, out)
	}
	return cmd
}
