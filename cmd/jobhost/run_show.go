package main

import "github.com/spf13/cobra"

func (c *cli) runShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <run>", Short: "Show a run", Args: takes(1, 1, "the id of a run"),
		Example: `  jobhost run show 019b8f3c7d1e4a5b8c9d0e1f2a3b4c5d -o json`,
	}
	f, form := c.client(cmd), format(cmd)
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
		r, err := oneRun(ctx, s, id)
		if err != nil {
			return err
		}
		if *form == asJSON {
			return c.writeJSON(r)
		}
		return c.describeRun(r, output(ctx, s, r))
	}
	return cmd
}
