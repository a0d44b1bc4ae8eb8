package engine

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
)

// checkPluginData reports whether the plugin of a definition would refuse the data of its runs, as far as it is known: that of
// each trigger, or without one the job's, to which a request may add. A runner that is no [jobhost.DataChecker] refuses none.
func (e *Engine) checkPluginData(ctx context.Context, def jobhost.JobDef) error {
	c, ok := e.runner.(jobhost.DataChecker)
	if !ok {
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

// checkRequestData reports whether the plugin of a job would refuse a manual run with a request's data. It is asked before the
// request becomes a command, so that it holds up nobody else; the runner asks again before the run, since the job may change
// meanwhile. A job that is not there is the command's affair.
func (e *Engine) checkRequestData(ctx context.Context, name jobhost.Name, data []byte) error {
	c, ok := e.runner.(jobhost.DataChecker)
	if !ok {
		return nil
	}
	var jobs []jobhost.JobState
	err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		jobs, err = tx.Jobs(name)
		return err
	})
	if err != nil || len(jobs) == 0 || jobs[0].Plugin == "" {
		return err
	}
	job := jobs[0].Job
	merged, err := mergeRequest(job, data)
	if err != nil {
		return err
	}
	return refused(ctx, c.CheckData(ctx, job.Plugin, merged, true), job.Plugin, fmt.Sprintf("job %q", name))
}

// refused gives the plugin's refusal its code. The end of ctx passes through.
func refused(ctx context.Context, err error, plugin jobhost.Name, where string) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return invalid("%s: %v; so says the schema of the plugin %q", where, err, plugin)
}
