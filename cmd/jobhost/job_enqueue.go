package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobEnqueue() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enqueue <job>", Short: "Plan one run of a job and print its id", Args: takesJobs(1, "the name of a job"),
		Example: `  jobhost job enqueue nightly
  jobhost job enqueue nightly --at 2026-10-01T08:00:00+08:00 --priority 9
  jobhost run wait $(jobhost job enqueue nightly)`,
	}
	f, form, data := c.client(cmd), format(cmd), dataFlag(cmd)
	at := cmd.Flags().String("at", "", "not before this instant, RFC 3339 (default: now)")
	priority := cmd.Flags().Int32("priority", jobhost.DefaultPriority, "larger goes first")
	key := cmd.Flags().String("key", "", "idempotency key: for 24 hours a second request with it gets the first one's run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := jobhost.EnqueueRequest{Job: args[0], IdempotencyKey: *key}
		var err error
		if req.Data, err = c.data(*data); err != nil {
			return err
		}
		if req.At, err = instant("--at", *at); err != nil {
			return err
		}
		if cmd.Flags().Changed("priority") {
			req.Priority = priority
		}
		return f.ask(func(ctx context.Context, s *api.Client) error {
			id, err := jobhost.One(s.Enqueue(ctx, []jobhost.EnqueueRequest{req}))
			if err != nil {
				return err
			}
			if node := aloneAndDraining(ctx, s); node != "" {
				c.say("warning: node %s drains, so that the run stays Pending until its next start; jobhost job trigger runs the job now", visible(node))
			}
			if *form == asJSON {
				return c.writeJSON(api.Enqueued{ID: id})
			}
			_, err = fmt.Fprintln(c.out, id)
			return err
		})
	}
	return cmd
}

// instant reads a flag that is an instant.
func instant(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usage("%s is %q; want an instant such as 2026-10-01T08:00:00Z", flag, text)
	}
	return t.UTC(), nil
}
