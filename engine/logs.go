package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/jobhost/jobhost"
)

// Log reads a run's log; with Follow it goes on until the run's end is on record. See [jobhost.Scheduler].
func (e *Engine) Log(ctx context.Context, id jobhost.RunID, q jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
	return func(yield func(jobhost.LogEntry, error) bool) {
		last := q.After
		for {
			live, pulse := e.liveLog(id)
			if live != nil {
				entries, over, more := live.after(last)
				for _, entry := range entries {
					last = entry.Seq
					if !yield(entry, nil) {
						return
					}
				}
				if !q.Follow {
					return
				}
				if over {
					more = pulse // its end is about to be recorded
				}
				if !waitFor(ctx, more, yield) {
					return
				}
				continue
			}
			state, entries, err := e.storedLog(ctx, id)
			if err != nil {
				yield(jobhost.LogEntry{}, err)
				return
			}
			for _, entry := range entries {
				if entry.Seq > last {
					last = entry.Seq
					if !yield(entry, nil) {
						return
					}
				}
			}
			if state.Ended() || !q.Follow || !waitFor(ctx, pulse, yield) {
				return
			}
		}
	}
}

// waitFor waits for a channel; when ctx ends first it yields its error and returns false.
func waitFor(ctx context.Context, more <-chan struct{}, yield func(jobhost.LogEntry, error) bool) bool {
	select {
	case <-more:
		return true
	case <-ctx.Done():
		yield(jobhost.LogEntry{}, context.Cause(ctx))
		return false
	}
}

// liveLog is the log of a run in progress or not yet recorded here, and a channel that is closed when that may change.
func (e *Engine) liveLog(id jobhost.RunID) (*runLog, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.active[id]; a != nil {
		return a.log, e.pulse
	}
	for _, d := range e.done {
		if d.run.ID == id {
			return d.live, e.pulse
		}
	}
	return nil, e.pulse
}

func (e *Engine) storedLog(ctx context.Context, id jobhost.RunID) (jobhost.RunState, []jobhost.LogEntry, error) {
	var state jobhost.RunState
	var chunks [][]byte
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		r, err := e.find(tx, id)
		if err != nil {
			return err
		}
		state = r.State
		chunks, err = tx.Log(id)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return state, entries(chunks), nil
}

// entries are the lines of a stored log.
func entries(chunks [][]byte) (out []jobhost.LogEntry) {
	for line := range bytes.Lines(bytes.Join(chunks, nil)) {
		var entry jobhost.LogEntry
		if json.Unmarshal(line, &entry) == nil { // a damaged line is left out
			out = append(out, entry)
		}
	}
	return out
}
