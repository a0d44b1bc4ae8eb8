package main

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// preview is an engine that runs nothing and has no jobs: it only knows the calendars of the configuration.
func preview(s *config.Settings) (*engine.Engine, error) {
	cfg := engine.Defaults()
	cfg.Calendars = calendars(s)
	return engine.New(memstore.New(memstore.Config{}), nobody{}, cfg)
}

// nobody runs nothing.
type nobody struct{}

func (nobody) Run(context.Context, jobhost.Call) jobhost.Outcome {
	return jobhost.Outcome{Code: jobhost.NotFoundPlugin, Message: "nothing runs here"}
}

func (nobody) Plugins(context.Context) ([]jobhost.Plugin, error) { return nil, nil }

// neverFires finds cron triggers that have no match ahead although nothing ends them (FR-31).
func neverFires(ctx context.Context, s *config.Settings) (config.Problems, error) {
	e, err := preview(s)
	if err != nil {
		return nil, err
	}
	var found config.Problems
	for _, j := range s.Jobs {
		for _, t := range j.Def.Triggers {
			sched, err := jobhost.ParseSchedule(t.Schedule)
			if err != nil || sched.Kind != jobhost.Cron || !sched.End.IsZero() {
				continue
			}
			slots, err := e.Next(ctx, jobhost.NextQuery{Schedule: t.Schedule, Count: 1})
			if err != nil {
				return nil, err
			}
			if len(slots) == 0 {
				found = append(found, config.Problem{
					Pos: j.Pos, Key: fmt.Sprintf("jobs[%s].triggers[%s].schedule", j.Def.Name, t.Name),
					Msg: fmt.Sprintf("%q never fires: no match within five years", t.Schedule),
				})
			}
		}
	}
	return found, nil
}
