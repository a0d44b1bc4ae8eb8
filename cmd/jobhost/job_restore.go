package main

import "github.com/spf13/cobra"

func (c *cli) jobRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore <job>...", Short: "Put the definitions of the configuration back", Args: takes(1, -1, "names of jobs"),
		Long: `Put the definitions of the host's own configuration back, for jobs that were changed or deleted while it runs. Whether
they are paused stays as it is.`,
		Example: `  jobhost job restore nightly`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		return c.showDefined(*form, s.Restore(ctx, args))
	}
	return cmd
}
