package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore <job>...", Short: "Put the definitions of the configuration back", Args: takesJobs(-1, "names of jobs"),
		Long: `Put the definitions of the host's own configuration back, for jobs that were changed or deleted while it runs. Whether
they are paused stays as it is.`,
		Example: `  jobhost job restore nightly`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return f.ask(func(ctx context.Context, s *api.Client) error {
			return c.showDefined(*form, s.Restore(ctx, args))
		})
	}
	return cmd
}
