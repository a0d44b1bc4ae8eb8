package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <job>...", Aliases: []string{"rm"}, Short: "Remove jobs; their history stays", Args: takesJobs(-1, "names of jobs"),
		Long: `Remove jobs with their triggers, planned runs and values. Their history stays until its retention ends, and a run in
progress goes on. On a store that is full, the history of deleted jobs goes first, and at once. A run that was enqueued and has not started is Canceled.

A job of a configuration file, or of a plugin, comes back when that is read again: with the next start, a change of the files or
plugins, or SIGHUP. To be rid of it take it out there; the host then removes it by itself.`,
		Example: `  jobhost job delete import-2025`,
	}
	f := c.client(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return f.ask(func(ctx context.Context, s *api.Client) error {
			return c.each(args, "is deleted", s.Delete(ctx, args))
		})
	}
	return cmd
}
