package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) jobShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <job>", Short: "Describe a job and its triggers", Args: takes(1, 1, "the name of a job"),
		Example: `  jobhost job show nightly
  jobhost job show nightly -o json`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		st, err := jobhost.One(s.Status(ctx, args))
		if err != nil {
			return err
		}
		if *form == asJSON {
			return c.writeJSON(st)
		}
		x, err := s.Explain(ctx, args[0])
		if err != nil {
			return err
		}
		return c.describeJob(st, x.Answer)
	}
	return cmd
}

func (c *cli) describeJob(st jobhost.JobStatus, now string) error {
	last := lastRun(st)
	if st.Last != nil {
		last += ", run " + string(st.Last.ID)
	}
	err := c.pairs("Name", st.Name, "Plugin", st.Plugin, "Description", st.Description, "Source", st.Source.String(),
		"State", jobState(st), "Paused because", st.PauseReason, "Now", oneLine(now), "Next", clock(st.NextRun), "Last", last)
	if err != nil || len(st.Triggers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	return writeList(c, asTable, st.Triggers, "TRIGGER STATE NEXT LAST FIRED SCHEDULE REMARK", func(t jobhost.TriggerStatus) []string {
		return []string{t.Name, t.State, clock(t.NextFireAt), clock(t.LastFiredAt), number(t.FiredCount), t.Schedule, remark(t)}
	})
}

// remark is what should be known about a trigger beside its state.
func remark(t jobhost.TriggerStatus) string {
	return strings.Join(slices.DeleteFunc([]string{t.Why, refused(t.Refused)}, func(s string) bool { return s == "" }), "; ")
}
