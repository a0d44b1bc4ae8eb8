package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobLs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the jobs", Args: takes(0, 0, "no arguments"),
		Long: `List the jobs. NEXT is in brackets while it is paused, and overdue when it should have fired already: job explain says why
it did not.`,
		Example: `  jobhost job ls
  jobhost job ls -o json | jq '.[] | select(.paused) | .name'`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return f.ask(func(ctx context.Context, s *api.Client) error {
			jobs := []jobhost.JobStatus{}
			for _, r := range s.Status(ctx, nil) {
				if r.Err != nil {
					return r.Err
				}
				jobs = append(jobs, r.Value)
			}
			if node := aloneAndDraining(ctx, s); node != "" {
				c.say("warning: node %s drains: no trigger fires until its next start", visible(node))
			}
			now := time.Now()
			if late := overdue(jobs, now); late != "" {
				c.say("warning: %s should have fired by now; jobhost job explain %s says why it did not", late, late)
			}
			return writeList(c, *form, jobs, "NAME PLUGIN STATE NEXT LAST", func(st jobhost.JobStatus) []string {
				next, fires := nextOf(st)
				return []string{st.Name, st.Plugin, jobState(st), due(next, fires, now), lastRun(st)}
			})
		})
	}
	return cmd
}

// overdue is the first job that waits for something which is past, while none of it runs; empty: none does.
func overdue(jobs []jobhost.JobStatus, now time.Time) jobhost.Name {
	for _, st := range jobs {
		if next, fires := nextOf(st); fires && !st.IsRunning && !next.IsZero() && now.Sub(next) > overdueAfter {
			return st.Name
		}
	}
	return ""
}
