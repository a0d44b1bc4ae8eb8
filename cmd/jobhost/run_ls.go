package main

import (
	"encoding"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) runLs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List runs, newest first", Args: takes(0, 0, "no arguments"),
		Long: "List runs, newest first. Those that have not started are listed with --state pending only.",
		Example: `  jobhost run ls --job nightly -n 5
  jobhost run ls --job nightly --state succeeded -n 1
  jobhost run ls --state failed,lost --from 2026-10-01T00:00:00Z -o json`,
	}
	f, form := c.client(cmd), format(cmd)
	flags := cmd.Flags()
	var q jobhost.RunQuery
	flags.StringVar(&q.Job, "job", "", "of this job")
	flags.StringVar(&q.Trigger, "trigger", "", "of this trigger")
	flags.StringVar(&q.Node, "node", "", "of this node")
	states := flags.StringSlice("state", nil, runStates)
	kinds := flags.StringSlice("kind", nil, runKinds)
	from := flags.String("from", "", "started at this instant, RFC 3339, or later")
	to := flags.String("to", "", "started before this instant")
	retryOf := flags.String("retry-of", "", "retries of this run")
	flags.IntVarP(&q.Limit, "limit", "n", 20, "at most this many, 1 to 1000")
	flags.IntVar(&q.Skip, "skip", 0, "leave out the first ones")
	cmd.RunE = func(*cobra.Command, []string) error {
		var err error
		if q.States, err = words[jobhost.RunState]("--state", *states, runStates); err != nil {
			return err
		}
		if q.Kinds, err = words[jobhost.RunKind]("--kind", *kinds, runKinds); err != nil {
			return err
		}
		if q.From, err = instant("--from", *from); err != nil {
			return err
		}
		if q.To, err = instant("--to", *to); err != nil {
			return err
		}
		if *retryOf != "" {
			if _, err = runID(*retryOf); err != nil {
				return err
			}
		}
		if q.Limit < 1 || q.Limit > 1000 {
			return usage("--limit is %d; want 1 to 1000", q.Limit)
		}
		if q.Skip < 0 {
			return usage("--skip is %d; want 0 or more", q.Skip)
		}
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		if *retryOf != "" {
			if q.RetryOf, err = jobhost.FindRunID(ctx, s, *retryOf); err != nil {
				return err
			}
		}
		runs, err := s.Runs(ctx, q)
		if err != nil {
			return err
		}
		if len(runs) == 0 && q.Job != "" {
			if _, err := jobhost.One(s.Status(ctx, []jobhost.Name{q.Job})); jobhost.CodeOf(err) == jobhost.NotFoundJob {
				c.say("there is no job %q, and no run of one; jobhost job ls lists the jobs", q.Job)
			}
		}
		now := time.Now()
		return writeList(c, *form, runs, "ID JOB TRIGGER KIND STATE STARTED TOOK ERROR", func(r jobhost.Run) []string {
			return []string{string(r.ID), r.Job, r.Trigger, r.Kind.String(), r.State.String(), clock(r.StartedAt), length(r, now), string(r.ErrorCode)}
		})
	}
	return cmd
}

// The words of --state and --kind.
const (
	runStates = "Pending, Running, Succeeded, Failed, Canceled, Lost"
	runKinds  = "Schedule, Manual, Recovery, Retry"
)

// words reads a flag that lists names, in capitals or not. Known are those that there are.
func words[E any, P interface {
	*E
	encoding.TextUnmarshaler
}](flag string, names []string, known string) ([]E, error) {
	var out []E
	for _, name := range names {
		var e E
		word := strings.ToUpper(name[:min(1, len(name))]) + strings.ToLower(name[min(1, len(name)):])
		if P(&e).UnmarshalText([]byte(word)) != nil {
			if err := P(&e).UnmarshalText([]byte(name)); err != nil {
				what, _, _ := strings.Cut(err.Error(), ";")
				return nil, usage("%s: %s; want some of %s", flag, what, known)
			}
		}
		out = append(out, e)
	}
	return out, nil
}
