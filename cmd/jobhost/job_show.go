package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <job>", Short: "Describe a job and its triggers", Args: takesJobs(1, "the name of a job"),
		Long: `Describe a job: what it does now, how it is defined, its triggers, and what the host that answers lets it use. Secrets and
the values of variables are not shown.`,
		Example: `  jobhost job show nightly
  jobhost job show nightly -o json`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return f.ask(func(ctx context.Context, s *api.Client) error {
			st, err := jobhost.One(s.Status(ctx, args))
			if err != nil {
				return err
			}
			def, err := jobhost.One(s.Definitions(ctx, args))
			if err != nil {
				return err
			}
			grants, err := s.Grants(ctx, args[0])
			if err != nil {
				return err
			}
			if *form == asJSON {
				return c.writeJSON(shownJob{st, api.DefinitionOf(def), grants})
			}
			x, err := s.Explain(ctx, args[0])
			if err != nil {
				return err
			}
			good, err := lastSuccess(ctx, s, st)
			if err != nil {
				return err
			}
			return c.describeJob(st, def, grants, x.Answer, good)
		})
	}
	return cmd
}

// shownJob is all about a job: what it does, how it is defined, and what this node lets it use.
type shownJob struct {
	jobhost.JobStatus

	Definition api.Definition `json:"definition"`
	Grants     []string       `json:"grants"`
}

// lastSuccess is when a job succeeded the last time, if its last run did not.
func lastSuccess(ctx context.Context, s jobhost.Scheduler, st jobhost.JobStatus) (string, error) {
	if st.Last == nil || st.Last.State == jobhost.RunSucceeded {
		return "", nil
	}
	runs, err := s.Runs(ctx, jobhost.RunQuery{Job: st.Name, States: []jobhost.RunState{jobhost.RunSucceeded}, Limit: 1})
	switch {
	case err != nil:
		return "", err
	case len(runs) == 0:
		return "none on record", nil
	}
	return clock(runs[0].EndedAt) + ", run " + string(runs[0].ID), nil
}

func (c *cli) describeJob(st jobhost.JobStatus, def jobhost.JobDef, grants []string, answer, good string) error {
	last := lastRun(st)
	if st.Last != nil {
		last += ", run " + string(st.Last.ID)
	}
	now := time.Now()
	next, fires := nextOf(st)
	err := c.pairs("Name", st.Name, "Plugin", st.Plugin, "Description", st.Description, "Source", st.Source.String(),
		"State", jobState(st), "Paused because", st.PauseReason, "Now", answer, "Next", due(next, fires, now), "Last", last, "Last success", good,
		"Timeout", orNone(def.Timeout), "Retry", retryWords(def.Retry), "Overlap", overlapWords(def), "Data", string(def.Data),
		"Grants", strings.Join(grants, "; "))
	if err != nil || len(st.Triggers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.out); err != nil {
		return err
	}
	return writeList(c, asTable, st.Triggers, "TRIGGER STATE NEXT LAST FIRED SCHEDULE REMARK", func(t jobhost.TriggerStatus) []string {
		return []string{t.Name, t.State, due(t.NextFireAt, !st.Paused && t.State != paused, now), clock(t.LastFiredAt), number(t.FiredCount), scheduleText(t.Schedule), remark(t)}
	})
}

func orNone(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return durationText(d)
}

func retryWords(r *jobhost.RetryPolicy) string {
	switch {
	case r == nil:
		return "none"
	case r.Exponential && r.MaxDelay > 0:
		return fmt.Sprintf("%d times, after %s and twice as long each time, at most %s", r.MaxRetries, durationText(r.Delay), durationText(r.MaxDelay))
	case r.Exponential:
		return fmt.Sprintf("%d times, after %s and twice as long each time", r.MaxRetries, durationText(r.Delay))
	}
	return fmt.Sprintf("%d times, %s apart", r.MaxRetries, durationText(r.Delay))
}

// overlapWords says what else is special about the runs of a job.
func overlapWords(def jobhost.JobDef) string {
	words := []string{"never overlaps itself"}
	if def.AllowConcurrent {
		words[0] = "runs may overlap"
	}
	if def.RunOnEveryInstance {
		words = append(words, "runs on every node")
	}
	if def.RequestsRecovery {
		words = append(words, "runs again when its node is lost")
	}
	return strings.Join(words, ", ")
}

// remark is what should be known about a trigger beside its state.
func remark(t jobhost.TriggerStatus) string {
	return strings.Join(slices.DeleteFunc([]string{t.Why, refused(t.Refused)}, func(s string) bool { return s == "" }), "; ")
}
