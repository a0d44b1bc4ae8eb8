package engine

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
)

// The pages of a history query (SPEC 22).
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Runs lists the history, and before it the enqueued runs that have not started, if they are asked for. See
// [jobhost.Scheduler].
func (e *Engine) Runs(ctx context.Context, q jobhost.RunQuery) (runs []jobhost.Run, err error) {
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Limit < 0 || q.Limit > maxLimit {
		return nil, outOfRange("limit", q.Limit, fmt.Sprintf("1 to %d", maxLimit))
	}
	if q.Skip < 0 {
		return nil, outOfRange("skip", q.Skip, "0 or more")
	}
	if err := checkPrefix(q.Prefix); err != nil {
		return nil, err
	}
	ids, err := e.pendingIDs(ctx, &q)
	if err != nil {
		return nil, err
	}
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		if runs, err = e.selectPending(tx, &q, ids); err != nil {
			return err
		}
		n := len(runs)
		runs = runs[min(q.Skip, n):]
		runs = runs[:min(q.Limit, len(runs))]
		rest := q
		rest.Skip, rest.Limit = max(0, q.Skip-n), q.Limit-len(runs)
		if rest.Limit == 0 || asksForPendingOnly(&q) {
			return nil
		}
		history, err := tx.QueryRuns(rest)
		runs = append(runs, history...)
		return err
	})
	e.addProgress(runs)
	return runs, err
}

// addProgress completes runs that are in progress here with what they have told last.
func (e *Engine) addProgress(runs []jobhost.Run) {
	for i := range runs {
		if runs[i].State != jobhost.RunRunning {
			continue
		}
		if live, _ := e.liveLog(runs[i].ID); live != nil {
			runs[i].Progress = live.lastProgress()
		}
	}
}

// JobNames lists at most limit names of jobs after one, in their order, without describing the jobs.
func (e *Engine) JobNames(ctx context.Context, after jobhost.Name, limit int) (names []jobhost.Name, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		names, err = tx.JobNames(after, limit)
		return err
	})
	return names, err
}

// CountRuns counts the history. See [jobhost.Scheduler].
func (e *Engine) CountRuns(ctx context.Context, q jobhost.RunQuery) (n int, err error) {
	if err := checkPrefix(q.Prefix); err != nil {
		return 0, err
	}
	ids, err := e.pendingIDs(ctx, &q)
	if err != nil {
		return 0, err
	}
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		pending, err := e.selectPending(tx, &q, ids)
		if n = len(pending); err != nil || asksForPendingOnly(&q) {
			return err
		}
		ended, err := tx.CountRuns(q)
		n += ended
		return err
	})
	return n, err
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if _, err := jobhost.ParseRunPrefix(prefix); err != nil {
		return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "runs", Msg: err.Error(), Err: err}
	}
	return nil
}

func outOfRange(key string, value int, want string) error {
	return &jobhost.Error{
		Code: jobhost.InvalidPage, Op: "runs", Msg: fmt.Sprintf("%s is %d, want %s", key, value, want),
		Params: map[string]any{"key": key, "value": value},
	}
}

// Plugins lists what jobs can refer to.
func (e *Engine) Plugins(ctx context.Context) ([]jobhost.Plugin, error) { return e.runner.Plugins(ctx) }

// Output is what a run returned.
func (e *Engine) Output(ctx context.Context, id jobhost.RunID) (out []byte, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		if _, err := e.find(tx, id); err != nil {
			return err
		}
		out, _, err = tx.Output(id)
		return err
	})
	return out, err
}

// Run is one run with its data, also one that has not started. See [jobhost.Scheduler].
func (e *Engine) Run(ctx context.Context, id jobhost.RunID) (run jobhost.Run, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		runs, err := tx.Runs(id)
		run, err = e.orPending(tx, id, runs, err)
		return err
	})
	one := []jobhost.Run{run}
	e.addProgress(one)
	return one[0], err
}

// find is a run without its data, also one that has not started, or the error for one that is not there.
func (e *Engine) find(tx jobhost.Tx, id jobhost.RunID) (jobhost.Run, error) {
	runs, err := tx.QueryRuns(jobhost.RunQuery{IDs: []jobhost.RunID{id}, Limit: 1})
	return e.orPending(tx, id, runs, err)
}

// orPending is the run that was found, or else the pending one of the id.
func (e *Engine) orPending(tx jobhost.Tx, id jobhost.RunID, found []jobhost.Run, err error) (jobhost.Run, error) {
	if err != nil {
		return jobhost.Run{}, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	r, ok, err := e.pendingByID(tx, id)
	if err == nil && !ok {
		err = unknownRun(id)
	}
	return r, err
}
