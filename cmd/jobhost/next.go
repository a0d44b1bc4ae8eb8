package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/cron"
	"github.com/jobhost/jobhost/engine"
)

func (c *cli) next() *cobra.Command {
	cmd := &cobra.Command{
		Use: "next <schedule text | job[/trigger] | ->", Short: "List the coming firings of a schedule, a job or a trigger",
		Args: takes(1, -1, "a schedule text, a job or -"),
		Long: `List the coming firings of a schedule text, or of a job or one of its triggers: as the running host knows it, or when
none runs as the configuration says. It also says in words what the schedule means, and what about it may not be meant.
A slot that a calendar excludes or a clock change skips is listed with the reason; of many in a row only the first, and in JSON no
more than --count, or four.

With - it reads schedule texts and jobs from standard input, one on each line.`,
		Example: `  jobhost next "cron 0 30 9 * * MON-FRI tz=Asia/Shanghai" -n 5
  jobhost next every 90m
  jobhost next nightly/workdays --zone Europe/Berlin
  jobhost next --json - < schedules.txt`,
	}
	f, form := c.client(cmd), format(cmd)
	count := cmd.Flags().IntP("count", "n", 10, "how many, 1 to 1000")
	from := cmd.Flags().String("from", "", "after this instant, RFC 3339 (default: now)")
	zone := cmd.Flags().String("zone", "", "zone to show times in (default: the schedule's own, else the local one)")
	asJSONToo := cmd.Flags().Bool("json", false, "the same as -o json")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *asJSONToo {
			*form = asJSON
		}
		l := lookahead{cli: c, client: f, count: *count, query: jobhost.NextQuery{Count: max(*count, fewSkipped+1)}}
		if *count < 1 || *count > 1000 {
			return usage("--count is %d; want 1 to 1000", *count)
		}
		var err error
		if l.query.From, err = instant("--from", *from); err != nil {
			return err
		}
		if *zone != "" {
			if l.zone, err = cron.LoadZone(*zone); err != nil {
				return usage("--zone: %w", err)
			}
		}
		found, err := l.all(args)
		if *form == asJSON {
			return errors.Join(c.writeJSON(append([]forecast{}, found...)), err)
		}
		for _, x := range found {
			if err := l.write(x, len(found) > 1); err != nil {
				return err
			}
		}
		return err
	}
	return cmd
}

// forecast is what is coming of one schedule.
type forecast struct {
	Job      jobhost.Name `json:"job,omitempty"`
	Trigger  jobhost.Name `json:"trigger,omitempty"`
	Schedule string       `json:"schedule"`
	Words    string       `json:"words"`
	Warnings []string     `json:"warnings,omitempty"`
	Zone     string       `json:"zone"` // that of "local"
	Slots    []slot       `json:"slots"`
}

type slot struct {
	At      time.Time `json:"at"` // UTC
	Local   string    `json:"local"`
	Skipped string    `json:"skipped,omitempty"`
}

// lookahead works out forecasts.
type lookahead struct {
	*cli

	client *client
	count  int               // how many firings
	query  jobhost.NextQuery // asks for more if need be, to see that skipped slots are more than a few
	zone   *time.Location    // nil: the schedule's own
}

// all answers for the arguments, or with - for each line of the input. What is wrong with one does not affect the others.
func (l *lookahead) all(args []string) ([]forecast, error) {
	if !slices.Equal(args, []string{"-"}) {
		return l.of(strings.Join(args, " "))
	}
	var out []forecast
	var errs []error
	lines := bufio.NewScanner(l.in)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		found, err := l.of(text)
		if err != nil {
			errs = append(errs, exit{exitCode(err), fmt.Errorf("line %d: %w", n, err)})
		}
		out = append(out, found...)
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("standard input: %w", err))
	}
	return out, errors.Join(errs...)
}

// of is what is coming of a schedule text, or of each trigger of a job.
func (l *lookahead) of(text string) ([]forecast, error) {
	t := target(text)
	if t.Trigger == "" && t.Job+"/" == text && jobhost.ValidName(t.Job) {
		return nil, usage("%q has no trigger after the slash; want job/trigger, or %s for all of the job", text, t.Job)
	}
	named := jobhost.ValidName(t.Job) && (t.Trigger == "" || jobhost.ValidName(t.Trigger))
	if _, err := jobhost.ParseSchedule(text); err == nil || !named {
		return l.ofSchedules(forecast{Schedule: text})
	}
	found, err := l.ofHost(t)
	if exitCode(err) != exitUnreachable {
		return found, err
	}
	s, files, wrong := l.settings(*l.client.config)
	switch {
	case wrong != nil:
		return nil, exit{exitCode(wrong), multi{err, wrong}}
	case len(files) == 0 && len(s.Jobs) == 0:
		return nil, err // neither a host nor a configuration
	}
	return l.ofConfiguration(s, t)
}

// onRequest is the schedule of a job without triggers.
const onRequest = "manual"

// ofHost asks the running host.
func (l *lookahead) ofHost(t jobhost.Target) ([]forecast, error) {
	var out []forecast
	err := l.client.ask(func(ctx context.Context, s *api.Client) error {
		status, err := jobhost.One(s.Status(ctx, []jobhost.Name{t.Job}))
		if err != nil {
			return err
		}
		q := l.query
		q.Job, q.Trigger = t.Job, t.Trigger
		if q.Trigger != "" {
			if _, err := s.Next(ctx, q); err != nil {
				return err
			}
		}
		if len(status.Triggers) == 0 {
			out = append(out, l.forecast(forecast{Job: t.Job, Schedule: onRequest}, nil))
		}
		for _, trigger := range status.Triggers {
			if t.Trigger != "" && trigger.Name != t.Trigger {
				continue
			}
			q.Trigger = trigger.Name
			slots, err := s.Next(ctx, q)
			if err != nil {
				return err
			}
			out = append(out, l.forecast(forecast{Job: t.Job, Trigger: trigger.Name, Schedule: trigger.Schedule}, slots))
		}
		return nil
	})
	return out, err
}

// ofConfiguration looks the job up in the configuration.
func (l *lookahead) ofConfiguration(s *config.Settings, t jobhost.Target) ([]forecast, error) {
	l.say("no host answers; this is what the configuration says")
	i := slices.IndexFunc(s.Jobs, func(j config.Job) bool { return j.Def.Name == t.Job })
	if i < 0 {
		var names []string
		for _, j := range s.Jobs {
			names = append(names, j.Def.Name)
		}
		return nil, exit{exitNotFound, fmt.Errorf("no job %q is configured; there %s", t.Job, known(names))}
	}
	var wanted []forecast
	var names []string
	for _, trigger := range s.Jobs[i].Def.Triggers {
		names = append(names, trigger.Name)
		if t.Trigger == "" || t.Trigger == trigger.Name {
			wanted = append(wanted, forecast{Job: t.Job, Trigger: trigger.Name, Schedule: trigger.Schedule})
		}
	}
	if t.Trigger != "" && len(wanted) == 0 {
		return nil, exit{exitNotFound, fmt.Errorf("job %q has no trigger %q; there %s", t.Job, t.Trigger, known(names))}
	}
	if len(wanted) == 0 {
		wanted = append(wanted, forecast{Job: t.Job, Schedule: onRequest})
	}
	return l.ofSchedules(wanted...)
}

// known goes on with "there": which names are, at most 20.
func known(names []string) string {
	const most = 20
	switch n := len(names); {
	case n == 0:
		return "is none"
	case n > most:
		return fmt.Sprintf("are %s and %d more", strings.Join(names[:most], ", "), n-most)
	case n == 1:
		return "is " + names[0]
	}
	return "are " + strings.Join(names, ", ")
}

// ofSchedules works out schedule texts, with the calendars of the configuration. What is wrong with that matters only where a
// calendar may be missing for it.
func (l *lookahead) ofSchedules(wanted ...forecast) ([]forecast, error) {
	files, err := readConfig(*l.client.config)
	if err != nil {
		return nil, err
	}
	s, wrong := l.read(files)
	for _, x := range wanted {
		sched, err := jobhost.ParseSchedule(x.Schedule)
		if _, there := s.Calendars[sched.Calendar]; err == nil && sched.Calendar != "" && !there && len(wrong) > 0 {
			return nil, exit{exitUsage, wrong}
		}
	}
	var e *engine.Engine
	if e, err = preview(s); err != nil {
		return nil, err
	}
	var out []forecast
	for _, x := range wanted {
		q := l.query
		q.Schedule = x.Schedule
		slots, err := e.Next(context.Background(), q)
		if err != nil {
			return out, err
		}
		next := l.forecast(x, slots)
		from := q.From
		if from.IsZero() {
			from = time.Now()
		}
		if sched, err := jobhost.ParseSchedule(x.Schedule); err == nil {
			if why := barren(sched, s.Calendars, slots, from); why != "" {
				next.Warnings = append(next.Warnings, why)
			}
		}
		out = append(out, next)
	}
	return out, nil
}

// forecast fills in what a schedule means and its slots.
func (l *lookahead) forecast(x forecast, slots []jobhost.Slot) forecast {
	zone := time.Local
	if s, err := jobhost.ParseSchedule(x.Schedule); err == nil {
		x.Words = s.Describe()
		for _, w := range s.Warnings(time.Now()) {
			x.Warnings = append(x.Warnings, w.Text)
		}
		if own, err := cron.LoadZone(s.Zone); err == nil && s.Zone != "" {
			zone = own
		}
	}
	if l.zone != nil {
		zone = l.zone
	}
	x.Zone, x.Slots = zoneName(zone), []slot{}
	fired := 0
	for _, s := range slots {
		if s.Skipped == "" {
			fired++
		}
		x.Slots = append(x.Slots, slot{At: s.At.UTC(), Local: s.At.In(zone).Format(time.RFC3339), Skipped: s.Skipped})
		if fired == l.count {
			break
		}
	}
	return x
}

// write writes a forecast for people. One of several has a heading.
func (l *lookahead) write(x forecast, several bool) error {
	if several {
		heading := scheduleText(x.Schedule)
		if x.Job != "" {
			heading = x.Job + "/" + x.Trigger + ": " + heading
		}
		if _, err := fmt.Fprintf(l.out, "%s\n", heading); err != nil {
			return err
		}
	}
	l.say("%s", x.Words)
	for _, w := range x.Warnings {
		l.say("warning: %s", w)
	}
	if len(x.Slots) == 0 {
		l.say("nothing is coming")
		return nil
	}
	return writeList(l.cli, asTable, shorten(x.Slots), "AT UTC SKIPPED", func(s slot) []string {
		if s.At.IsZero() {
			return []string{"…", "…", s.Skipped}
		}
		local, err := time.Parse(time.RFC3339, s.Local)
		if err != nil {
			local = s.At
		}
		return []string{local.Format("Mon 2006-01-02 15:04:05 -07:00"), s.At.Format(time.RFC3339), s.Skipped}
	})
}

// fewSkipped is how many slots in a row that are skipped for the same reason are listed all.
const fewSkipped = 3

// shorten leaves the first of many slots that are skipped one after the other for the same reason, and one without a time for the
// rest. There can be more of them than are listed: a preview counts only so many.
func shorten(slots []slot) (out []slot) {
	for len(slots) > 0 {
		first, n := slots[0], 1
		for n < len(slots) && slots[n].Skipped == first.Skipped {
			n++
		}
		if first.Skipped == "" || n <= fewSkipped {
			out = append(out, slots[:n]...)
		} else {
			out = append(out, first, slot{Skipped: "and so on"})
		}
		slots = slots[n:]
	}
	return out
}
