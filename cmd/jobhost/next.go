package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/cron"
)

func (c *cli) next() *cobra.Command {
	cmd := &cobra.Command{
		Use: "next <schedule text | job[/trigger]>", Short: "List the coming firings of a schedule, a job or a trigger",
		Args: takes(1, -1, "a schedule text or a job"),
		Long: `List the coming firings of a schedule text, which needs no host, or of a job or one of its triggers, which asks the
running one. What the text means, and what about it may not be meant, is said on standard error. A slot that a calendar excludes is listed with the reason.`,
		Example: `  jobhost next "cron 0 30 9 * * MON-FRI tz=Asia/Shanghai" -n 5
  jobhost next every 90m
  jobhost next nightly/workdays --zone Europe/Berlin`,
	}
	f, form := c.client(cmd), format(cmd)
	count := cmd.Flags().IntP("count", "n", 10, "how many, 1 to 1000")
	from := cmd.Flags().String("from", "", "after this instant, RFC 3339 (default: now)")
	zone := cmd.Flags().String("zone", "", "zone to show times in (default: the local one)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		q := jobhost.NextQuery{Count: *count}
		if *count < 1 || *count > 1000 {
			return usage("--count is %d; want 1 to 1000", *count)
		}
		var err error
		if q.From, err = instant("--from", *from); err != nil {
			return err
		}
		loc := time.Local
		if *zone != "" {
			if loc, err = cron.LoadZone(*zone); err != nil {
				return usage("--zone: %w", err)
			}
		}
		slots, err := c.slots(f, strings.Join(args, " "), q)
		if err != nil {
			return err
		}
		if len(slots) == 0 {
			c.say("nothing is coming")
		}
		return writeList(c, *form, slots, "AT TRIGGER SKIPPED", func(s jobhost.Slot) []string {
			return []string{s.At.In(loc).Format("Mon 2006-01-02 15:04:05 -07:00"), s.Trigger, s.Skipped}
		})
	}
	return cmd
}

// explain says in words what a schedule means, and what about it may not be meant.
func (c *cli) explain(text string) {
	s, err := jobhost.ParseSchedule(text)
	if err != nil {
		return // the engine says what is wrong
	}
	c.say("%s", s.Describe())
	for _, w := range s.Warnings(time.Now()) {
		c.say("warning: %s", w.Text)
	}
}

// slots asks the running host about a name, and works out a schedule text itself.
func (c *cli) slots(f *client, text string, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	t := target(text)
	if _, err := jobhost.ParseSchedule(text); err != nil && jobhost.ValidName(t.Job) && (t.Trigger == "" || jobhost.ValidName(t.Trigger)) {
		ctx, s, done, err := f.dial()
		if err != nil {
			return nil, err
		}
		defer done()
		q.Job, q.Trigger = t.Job, t.Trigger
		return s.Next(ctx, q)
	}
	s, _, err := c.settings(*f.config)
	if err != nil {
		return nil, err
	}
	e, err := preview(s)
	if err != nil {
		return nil, err
	}
	c.explain(text)
	q.Schedule = text
	return e.Next(context.Background(), q)
}
