package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) jobPause() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pause <job[/trigger]>...", Short: "Stop the firing of jobs or triggers", Args: takes(1, -1, "names of jobs or job/trigger"),
		Long: "Stop the firing of jobs or triggers until they are resumed. Runs in progress go on, and a run on request still works.",
		Example: `  jobhost job pause nightly --reason "the database is being moved"
  jobhost job pause nightly/workdays nightly/month-end`,
	}
	f := c.client(cmd)
	reason := cmd.Flags().String("reason", "", "shown until the pause is lifted")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return c.onTargets(f, args, jobhost.Target{Reason: *reason}, "is paused", jobhost.Scheduler.Pause)
	}
	return cmd
}

func (c *cli) jobResume() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume <job[/trigger]>...", Short: "Let jobs or triggers fire again", Args: takes(1, -1, "names of jobs or job/trigger"),
		Long:    "Let jobs or triggers fire again. What came due meanwhile is judged by the misfire policy of its trigger,\nor left out with --skip-missed.",
		Example: `  jobhost job resume nightly`,
	}
	f := c.client(cmd)
	skip := cmd.Flags().Bool("skip-missed", false, "do not make up what came due meanwhile")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := c.onTargets(f, args, jobhost.Target{SkipMissed: *skip}, "is resumed", jobhost.Scheduler.Resume); err != nil {
			return err
		}
		return c.sayStillPaused(f, args)
	}
	return cmd
}

// sayStillPaused warns of triggers that were paused by themselves, and stay so when their job is resumed.
func (c *cli) sayStillPaused(f *client, args []string) error {
	jobs := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return target(a).Trigger != "" })
	if len(jobs) == 0 {
		return nil
	}
	return f.ask(func(ctx context.Context, s *api.Client) error {
		for _, r := range s.Status(ctx, jobs) {
			for _, t := range r.Value.Triggers {
				if t.State == paused {
					c.say("warning: trigger %s stays paused; resume %s/%s", t.Name, r.Value.Name, t.Name)
				}
			}
		}
		return nil
	})
}
