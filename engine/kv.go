package engine

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// kv gives one run the durable values of its job, see [jobhost.KV]. What it reads is what is stored; what it writes is part
// of the loop's next turn, and shares its commit.
type kv struct {
	engine *Engine
	job    jobhost.Name // never empty: the values of the empty name are the engine's own
	run    jobhost.RunID
}

// Get returns what is stored under a key.
func (v kv) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = v.view(ctx, func(tx jobhost.Tx) error {
		value, ok, err = tx.Value(v.job, key)
		return err
	})
	return value, ok, err
}

// Keys lists the keys with a prefix, sorted.
func (v kv) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	err = v.view(ctx, func(tx jobhost.Tx) error {
		keys, _, err = tx.ValueKeys(v.job, prefix)
		return err
	})
	return keys, err
}

func (v kv) view(ctx context.Context, f func(jobhost.Tx) error) error {
	err := v.engine.store.View(ctx, f)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Set stores a value of up to 64 KiB under a key of up to 256 bytes; longer ones are InvalidDefinition. With an error of the
// store the value may have been stored all the same.
func (v kv) Set(ctx context.Context, key string, value []byte) error {
	switch {
	case len(key) > abi.MaxKey:
		return invalid("a key has %d bytes, at most %d are allowed", len(key), abi.MaxKey)
	case len(value) > abi.MaxValue:
		return invalid("the value of %q has %d bytes, at most %d are allowed", key, len(value), abi.MaxValue)
	}
	return v.write(ctx, key, append([]byte{}, value...)) // it may be carried out when the caller has gone on
}

// Delete removes a key.
func (v kv) Delete(ctx context.Context, key string) error { return v.write(ctx, key, nil) }

// write puts a value, or with nil deletes it, in the next turn. The end of ctx ends the waiting, not the turn.
func (v kv) write(ctx context.Context, key string, value []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := &command{jobs: []jobhost.Name{v.job}}
	c.do = func(t *turn) (err error) {
		c.err, err = t.putValue(v.job, v.run, key, value)
		return err
	}
	if err := v.engine.queue(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	return c.wait(ctx)
}

// putValue writes a value for a run, or says why it may not.
func (t *turn) putValue(job jobhost.Name, run jobhost.RunID, key string, value []byte) (refusal, err error) {
	records, err := t.tx.Runs(run)
	switch {
	case err != nil:
		return nil, err
	case len(records) == 0 || records[0].State != jobhost.RunRunning || records[0].Node != t.cfg.NodeID:
		return jobhost.ErrRunOver, nil
	case t.jobs[job] == nil: // its values went with it
		return fmt.Errorf("job %q was deleted: %w", job, jobhost.ErrRunOver), nil
	}
	before, there, err := t.tx.Value(job, key)
	if err != nil {
		return nil, err
	}
	size, err := t.valuesSize(job)
	if err != nil {
		return nil, err
	}
	if there {
		size -= len(key) + len(before)
	}
	if value != nil {
		size += len(key) + len(value)
	}
	if value != nil && size > abi.MaxValues {
		return fmt.Errorf("job %q: with %q its values would have %d bytes, at most %d are allowed: %w", job, key, size, abi.MaxValues, jobhost.ErrFull), nil
	}
	t.newSizes[job] = size
	return nil, t.tx.PutValue(job, key, value)
}

// valuesSize is how many bytes a job's values have. The store counts them one by one, so it is asked once per job where
// nobody else can change them.
func (t *turn) valuesSize(job jobhost.Name) (int, error) {
	if n, ok := t.newSizes[job]; ok {
		return n, nil
	}
	if n, ok := t.sizes[job]; ok {
		return n, nil
	}
	const noKey = "\x00" // so that few keys are listed
	_, size, err := t.tx.ValueKeys(job, noKey)
	return size, err
}

// keepSizes remembers what a stored turn has counted. On a shared store other nodes write too.
func (e *Engine) keepSizes(t *turn) {
	if e.store.Shared() {
		return
	}
	if e.sizes == nil {
		e.sizes = map[jobhost.Name]int{}
	}
	for job, n := range t.newSizes {
		if n == 0 {
			delete(e.sizes, job)
			continue
		}
		e.sizes[job] = n
	}
}
