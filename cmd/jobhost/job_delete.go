package main

import "github.com/spf13/cobra"

func (c *cli) jobDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <job>...", Aliases: []string{"rm"}, Short: "Remove jobs; their history stays", Args: takes(1, -1, "names of jobs"),
		Long: `Remove jobs with their triggers, planned runs and values. Their history stays until its retention ends, and a run in
progress goes on. A job of a configuration file comes back with the next start.`,
		Example: `  jobhost job delete import-2025`,
	}
	f := c.client(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		return c.each(args, "is deleted", s.Delete(ctx, args))
	}
	return cmd
}
