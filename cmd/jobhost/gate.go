package main

import (
	"context"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
)

// gate is the scheduler as the API shows it. Until the jobs of the files are in the store for the first time, calls that read
// or change jobs answer why not, rather than tell of a store that is empty or out of date, or change what is about to be
// replaced. The history, plugins, nodes and the previews of schedule texts are there at once.
//
// When they are not there because the store is full, that is the answer, and what can make room is let through: Delete and
// Pause, and the names and the status of the jobs that are stored.
type gate struct {
	*engine.Engine

	starting func() error // nil once the jobs are there
}

var _ jobhost.Scheduler = gate{}

// shut is why the gate is not open; nil when it is.
func (g gate) shut() error {
	err := g.starting()
	full := g.Problem()
	if err == nil || jobhost.CodeOf(full) != jobhost.StoreFull {
		return err
	}
	return &jobhost.Error{
		Code: jobhost.NotServing, Op: "serve", Msg: "the host is starting, and the jobs of its files do not fit into the store: " + full.Error(), Err: full,
		Hint: "lower history_limit in the files and reload, or `jobhost job delete` a job; `jobhost job ls` lists what is stored",
	}
}

// unlessFull is shut for what a full store still allows.
func (g gate) unlessFull() error {
	if err := g.shut(); err != nil && jobhost.CodeOf(g.Problem()) != jobhost.StoreFull {
		return err
	}
	return nil
}

// closed answers each of n items with why the gate is not open; nil when it is.
func closed[T any](err error, n int) []jobhost.Result[T] {
	if err == nil {
		return nil
	}
	out := make([]jobhost.Result[T], n)
	for i := range out {
		out[i].Err = err
	}
	return out
}

// Schedule waits for the start, as all that follow.
func (g gate) Schedule(ctx context.Context, defs []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
	if out := closed[jobhost.JobInfo](g.shut(), len(defs)); out != nil {
		return out
	}
	return g.Engine.Schedule(ctx, defs)
}

// Restore waits for the start.
func (g gate) Restore(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobInfo] {
	if out := closed[jobhost.JobInfo](g.shut(), len(names)); out != nil {
		return out
	}
	return g.Engine.Restore(ctx, names)
}

// Delete waits for the start, unless the store is full.
func (g gate) Delete(ctx context.Context, names []jobhost.Name) []jobhost.Result[struct{}] {
	if out := closed[struct{}](g.unlessFull(), len(names)); out != nil {
		return out
	}
	return g.Engine.Delete(ctx, names)
}

// Pause waits for the start, unless the store is full.
func (g gate) Pause(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	if out := closed[struct{}](g.unlessFull(), len(targets)); out != nil {
		return out
	}
	return g.Engine.Pause(ctx, targets)
}

// Resume waits for the start.
func (g gate) Resume(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	if out := closed[struct{}](g.shut(), len(targets)); out != nil {
		return out
	}
	return g.Engine.Resume(ctx, targets)
}

// Trigger waits for the start.
func (g gate) Trigger(ctx context.Context, reqs []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
	if out := closed[jobhost.Run](g.shut(), len(reqs)); out != nil {
		return out
	}
	return g.Engine.Trigger(ctx, reqs)
}

// Enqueue waits for the start.
func (g gate) Enqueue(ctx context.Context, reqs []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
	if out := closed[jobhost.RunID](g.shut(), len(reqs)); out != nil {
		return out
	}
	return g.Engine.Enqueue(ctx, reqs)
}

// Status waits for the start, unless the store is full.
func (g gate) Status(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
	if out := closed[jobhost.JobStatus](g.unlessFull(), max(1, len(names))); out != nil {
		return out
	}
	return g.Engine.Status(ctx, names)
}

// JobNames waits for the start, unless the store is full.
func (g gate) JobNames(ctx context.Context, after jobhost.Name, limit int) ([]jobhost.Name, error) {
	if err := g.unlessFull(); err != nil {
		return nil, err
	}
	return g.Engine.JobNames(ctx, after, limit)
}

// Definitions waits for the start.
func (g gate) Definitions(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobDef] {
	if out := closed[jobhost.JobDef](g.shut(), len(names)); out != nil {
		return out
	}
	return g.Engine.Definitions(ctx, names)
}

// Explain waits for the start.
func (g gate) Explain(ctx context.Context, name jobhost.Name) (jobhost.Explanation, error) {
	if err := g.shut(); err != nil {
		return jobhost.Explanation{}, err
	}
	return g.Engine.Explain(ctx, name)
}

// Next waits for the start, unless it is asked about a text.
func (g gate) Next(ctx context.Context, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	if err := g.shut(); err != nil && q.Schedule == "" {
		return nil, err
	}
	return g.Engine.Next(ctx, q)
}
