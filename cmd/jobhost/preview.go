package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/cron"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// preview is an engine that runs nothing and has no jobs: it only knows the calendars of the configuration.
func preview(s *config.Settings) (*engine.Engine, error) {
	cfg := engine.Defaults()
	cfg.Calendars = s.Calendars
	return engine.New(memstore.New(memstore.Config{}), nobody{}, cfg)
}

// nobody runs nothing.
type nobody struct{}

func (nobody) Run(context.Context, jobhost.Call) jobhost.Outcome {
	return jobhost.Outcome{Code: jobhost.NotFoundPlugin, Message: "nothing runs here"}
}

func (nobody) Plugins(context.Context) ([]jobhost.Plugin, error) { return nil, nil }

// lookAt says what about the schedules of jobs their author may not have meant. A cron expression that never matches,
// though nothing ends it, is a problem and no warning (FR-31).
func lookAt(s *config.Settings, now time.Time) (problems, warnings config.Problems) {
	e, err := preview(s)
	if err != nil {
		return config.Problems{{Msg: flat(err.Error())}}, nil
	}
	problems = append(problems, s.LeftOut...)
	for _, j := range s.Jobs {
		for _, t := range j.Def.Triggers {
			sched, err := jobhost.ParseSchedule(t.Schedule)
			if _, there := s.Calendars[sched.Calendar]; err != nil || sched.Calendar != "" && !there {
				continue // which is reported already
			}
			problem := func(text string) config.Problem {
				return config.Problem{
					Pos: j.Pos, Key: fmt.Sprintf("jobs[%s].triggers[%s].schedule", j.Def.Name, t.Name),
					Msg: fmt.Sprintf("%q %s", scheduleText(t.Schedule), text),
				}
			}
			slots, err := e.Next(context.Background(), jobhost.NextQuery{Schedule: t.Schedule, From: now, Count: 1})
			if err != nil {
				problems = append(problems, problem(flat(err.Error())))
				continue
			}
			if why := barren(sched, s.Calendars, slots, now.Add(-s.Scheduler.MisfireThreshold)); why != "" {
				warnings = append(warnings, problem(why))
			}
			for _, w := range sched.Warnings(now) {
				p := problem(w.Text)
				if w.Kind == cron.NeverFires && sched.Kind == jobhost.Cron && sched.End.IsZero() {
					problems = append(problems, p)
				} else {
					warnings = append(warnings, p)
				}
			}
		}
	}
	return problems, warnings
}

// barren says that a schedule never fires after an instant, because its own instant is over or its calendar leaves nothing of
// it; empty: it fires, or [jobhost.Schedule.Warnings] says why not. Slots are those that come next.
func barren(s jobhost.Schedule, calendars calendar.Set, slots []jobhost.Slot, after time.Time) string {
	cal := calendars[s.Calendar]
	switch {
	case s.Kind == jobhost.Once && s.At.Before(after):
		return "never fires: the instant is over"
	case s.Kind == jobhost.Once && cal != nil && cal.IsExcluded(s.At):
		return fmt.Sprintf("never fires: calendar %q excludes the instant", s.Calendar)
	case s.Kind == jobhost.Once, s.Calendar == "", len(slots) == 0:
		return ""
	case slices.ContainsFunc(slots, func(s jobhost.Slot) bool { return s.Skipped == "" }):
		return ""
	}
	return fmt.Sprintf("never fires: calendar %q excludes each of the times to come", s.Calendar)
}
