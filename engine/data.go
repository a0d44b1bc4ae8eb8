package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jobhost/jobhost"
)

// checkPluginData reports whether the plugin of a definition would refuse the data of its runs, as far as it is known: that of
// each trigger, or without one the job's, to which a request may add. A runner that is no [jobhost.DataChecker] refuses none.
func (e *Engine) checkPluginData(ctx context.Context, def jobhost.JobDef) error {
	c, strict := e.schemas()
	if !slices.Contains(strict, def.Plugin) {
		return nil
	}
	if len(def.Triggers) == 0 {
		return refused(ctx, c.CheckData(ctx, def.Plugin, def.Data, false), def.Plugin, fmt.Sprintf("job %q", def.Name))
	}
	for _, t := range def.Triggers {
		merged, err := jobhost.MergeData(def.Data, t.Data)
		if err != nil {
			return invalid("job %q: trigger %q: data cannot be merged: %v", def.Name, t.Name, err)
		}
		where := fmt.Sprintf("job %q: trigger %q", def.Name, t.Name)
		if err := refused(ctx, c.CheckData(ctx, def.Plugin, merged, true), def.Plugin, where); err != nil {
			return err
		}
	}
	return nil
}

// A manual is what a request asks for: a run of a job, with the request's layer of data.
type manual struct {
	job  jobhost.Name
	data []byte
}

// checkRequests says of each request whether its data can be a layer, and whether the plugin of its job would refuse the run.
// Plugins are asked before the requests become commands, so that it holds up nobody else; the runner asks again before the run,
// since a job may change meanwhile. A job that is not there is the command's affair.
func checkRequests[R any](ctx context.Context, e *Engine, reqs []R, asks func(R) manual) []error {
	errs := make([]error, len(reqs))
	of := map[jobhost.Name][]int{}
	for i := range reqs {
		r := asks(reqs[i])
		if err := jobhost.CheckData(r.data); err != nil {
			errs[i] = invalid("request: %v", err)
			continue
		}
		of[r.job] = append(of[r.job], i)
	}
	c, strict := e.schemas()
	if len(strict) == 0 {
		return errs
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(of)), 16) { // each job may have 1 MiB of data
		var jobs []jobhost.JobState
		err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
			jobs, err = tx.Jobs(names...)
			return err
		})
		if err != nil {
			for _, name := range names {
				for _, i := range of[name] {
					errs[i] = err
				}
			}
			continue
		}
		for _, j := range jobs {
			if !slices.Contains(strict, j.Plugin) {
				continue
			}
			for _, i := range of[j.Name] {
				merged, err := mergeRequest(j.Job, asks(reqs[i]).data)
				if err == nil {
					err = refused(ctx, c.CheckData(ctx, j.Plugin, merged, true), j.Plugin, fmt.Sprintf("job %q", j.Name))
				}
				errs[i] = err
			}
		}
	}
	return errs
}

// schemas are the plugins that refuse some data, and who to ask about them.
func (e *Engine) schemas() (jobhost.DataChecker, []jobhost.Name) {
	c, ok := e.runner.(jobhost.DataChecker)
	if !ok {
		return nil, nil
	}
	return c, c.WithSchema()
}

// refused gives the plugin's refusal its code. The end of ctx passes through.
func refused(ctx context.Context, err error, plugin jobhost.Name, where string) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return invalid("%s: %v; so says the schema of the plugin %q", where, err, plugin)
}
