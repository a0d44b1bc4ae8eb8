package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain <job>", Aliases: []string{"why"}, Short: "Say why a job is not running now", Args: takesJobs(1, "the name of a job"),
		Long: `Say why a job is not running now: the first reason that holds, for the job and for each of its triggers, and what became
of firings that did not turn into runs.`,
		Example: `  jobhost job explain nightly`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return f.ask(func(ctx context.Context, s *api.Client) error {
			x, err := s.Explain(ctx, args[0])
			if err != nil {
				return err
			}
			if *form == asJSON {
				return c.writeJSON(x)
			}
			return c.describeExplanation(x)
		})
	}
	return cmd
}

func (c *cli) describeExplanation(x jobhost.Explanation) error {
	if _, err := fmt.Fprintf(c.out, "%s: %s\n", x.Job, oneLine(x.Answer)); err != nil || len(x.Triggers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	return writeList(c, asTable, x.Triggers, "TRIGGER STATE DUE NOW NOT-FIRED", func(t jobhost.TriggerExplanation) []string {
		return []string{t.Trigger, t.State, clock(t.Due), shortAnswer(x, t), refused(t.Refused)}
	})
}

// shortAnswer is why a trigger does not run. What is long and stands above the table is not repeated in it.
func shortAnswer(x jobhost.Explanation, t jobhost.TriggerExplanation) string {
	const long = 60
	if len(t.Answer) > long && strings.HasSuffix(x.Answer, t.Answer) {
		return "as above"
	}
	return t.Answer
}

// refused says which firings did not become runs, and why the last one did not.
func refused(r *jobhost.Refusals) string {
	if r == nil || r.Last == "" {
		return ""
	}
	most, last := "", r.Slot
	if r.AtLeast {
		most = "at least "
	}
	if last.IsZero() {
		last = r.At
	}
	return fmt.Sprintf("%s%d not fired, last that of %s: %s", most, r.Count(), clock(last), r.Last)
}
