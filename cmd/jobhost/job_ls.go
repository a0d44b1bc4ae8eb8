package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
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
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		jobs := []jobhost.JobStatus{}
		for _, r := range s.Status(ctx, nil) {
			if r.Err != nil {
				return r.Err
			}
			jobs = append(jobs, r.Value)
		}
		now := time.Now()
		return writeList(c, *form, jobs, "NAME PLUGIN STATE NEXT LAST", func(st jobhost.JobStatus) []string {
			next, fires := nextOf(st)
			return []string{st.Name, st.Plugin, jobState(st), due(next, fires, now), lastRun(st)}
		})
	}
	return cmd
}
