package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func (c *cli) job() *cobra.Command {
	return c.group("job", "Look at and steer the jobs of a running host", `  jobhost job ls
  jobhost job trigger nightly --data '{"full": true}'
  jobhost job pause nightly/workdays --reason "the database is being moved"`,
		c.jobLs(), c.jobShow(), c.jobExplain(), c.jobTrigger(), c.jobEnqueue(), c.jobPause(), c.jobResume(), c.jobApply(), c.jobDiff(), c.jobRestore(), c.jobDelete())
}

// takesJobs accepts names of jobs, at least one and at most so many, as [takes] does.
func takesJobs(most int, what string) cobra.PositionalArgs {
	counted := takes(1, most, what)
	return func(cmd *cobra.Command, args []string) error {
		if err := counted(cmd, args); err != nil {
			return err
		}
		for _, a := range args {
			if job, _, is := strings.Cut(a, "/"); is {
				return usage("%s: %q names a trigger; want its job, %s", cmd.CommandPath(), a, job)
			}
		}
		return nil
	}
}

// each asks for several items and says for each what became of it. The error joins those that failed.
func (c *cli) each(items []string, did string, rs []jobhost.Result[struct{}]) error {
	var errs []error
	for i, r := range rs {
		if r.Err != nil {
			errs = append(errs, r.Err)
			continue
		}
		c.say("%s %s", items[i], did)
	}
	return joined(errs)
}

// joined is one error for several, with the exit code of the first.
func joined(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return exit{exitCode(errs[0]), multi(errs)}
}

// multi are errors that are printed one by one.
type multi []error

// Error joins the messages.
func (m multi) Error() string {
	texts := make([]string, len(m))
	for i, err := range m {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns them.
func (m multi) Unwrap() []error { return m }

// target reads job or job/trigger.
func target(s string) jobhost.Target {
	job, trigger, _ := strings.Cut(s, "/")
	return jobhost.Target{Job: job, Trigger: trigger}
}

// onTargets is the body of pause and resume. Like has what is the same for all of them.
func (c *cli) onTargets(f *client, args []string, like jobhost.Target, did string, do func(jobhost.Scheduler, context.Context, []jobhost.Target) []jobhost.Result[struct{}]) error {
	targets := make([]jobhost.Target, len(args))
	for i, a := range args {
		t := target(a)
		if t.Trigger == "" && t.Job != a {
			return usage("%q has no trigger after the slash; want job/trigger, or %s for all of the job", a, t.Job)
		}
		targets[i] = like
		targets[i].Job, targets[i].Trigger = t.Job, t.Trigger
	}
	return f.ask(func(ctx context.Context, s *api.Client) error {
		return c.each(args, did, do(s, ctx, targets))
	})
}

// jobState is what a job is doing, in one word. One whose triggers are all paused is as paused as they are.
func jobState(st jobhost.JobStatus) string {
	next, fires := nextOf(st)
	halted := st.Paused || !next.IsZero() && !fires
	switch {
	case halted && st.IsRunning:
		return paused + ", Running"
	case halted:
		return paused
	case st.IsRunning:
		return "Running"
	case !next.IsZero():
		return "Waiting"
	}
	return "Idle"
}

// paused is the state of a trigger that is paused, by itself or with its job.
const paused = "Paused"

// nextOf is the earliest due of the triggers that are not paused, and when all are, of these.
func nextOf(st jobhost.JobStatus) (at time.Time, fires bool) {
	for _, t := range st.Triggers {
		if !st.Paused && t.State != paused && !t.NextFireAt.IsZero() && (at.IsZero() || t.NextFireAt.Before(at)) {
			at, fires = t.NextFireAt, true
		}
	}
	if !fires {
		at = st.NextRun
	}
	return at, fires
}

// overdueAfter is how long after its due a trigger is shown as overdue: a host that is busy may be a little late.
const overdueAfter = 10 * time.Second

// due writes when something fires: in brackets if it will not, since it is paused, and with a word if that is past.
func due(at time.Time, fires bool, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case !fires:
		return "(" + clock(at) + ")"
	case now.Sub(at) > overdueAfter:
		return clock(at) + " overdue"
	}
	return clock(at)
}

// lastRun is how a job's last run ended and when.
func lastRun(st jobhost.JobStatus) string {
	if st.Last == nil {
		return ""
	}
	return st.Last.State.String() + " " + clock(st.Last.EndedAt)
}

func number(n int) string { return strconv.Itoa(n) }
