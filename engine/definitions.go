package engine

import (
	"context"

	"github.com/jobhost/jobhost"
)

// Definitions answers for each job how it is defined now: with its triggers by name, and without the one-shots of the
// engine. Errors: [jobhost.NotFoundJob], and those of the store.
func (e *Engine) Definitions(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobDef] {
	out := make([]jobhost.Result[jobhost.JobDef], len(names))
	for i, name := range names {
		out[i].Value, out[i].Err = e.definition(ctx, name)
	}
	return out
}

func (e *Engine) definition(ctx context.Context, name jobhost.Name) (def jobhost.JobDef, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		jobs, err := tx.Jobs(name)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return notFoundJob(name)
		}
		triggers, err := tx.TriggersOf(name)
		def = jobs[0].JobDef
		def.Triggers = nil
		for _, t := range triggers {
			if t.OneShot == nil {
				def.Triggers = append(def.Triggers, t.TriggerDef)
			}
		}
		return err
	})
	return def, err
}
