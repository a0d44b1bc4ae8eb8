package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
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
	for _, j := range s.Jobs {
		for _, t := range j.Def.Triggers {
			sched, err := jobhost.ParseSchedule(t.Schedule)
			if err != nil {
				continue // definitions of files are checked
			}
			for _, w := range sched.Warnings(now) {
				p := config.Problem{
					Pos: j.Pos, Key: fmt.Sprintf("jobs[%s].triggers[%s].schedule", j.Def.Name, t.Name),
					Msg: fmt.Sprintf("%q %s", t.Schedule, w.Text),
				}
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
