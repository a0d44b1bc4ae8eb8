package engine

import (
	"crypto/rand"
	"time"

	"github.com/jobhost/jobhost"
)

// mostCompletions and mostCommands bound one turn, so that one commit stays short.
const (
	mostCompletions = 1000
	mostCommands    = 1000
)

// take removes from the queues what the next turn will do, and says how many runs it may start.
func (e *Engine) take(now time.Time, claim bool) (done []*ending, cmds []*command, slots int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.done), mostCompletions)
	switch {
	case e.cramped:
		return nil, nil, 0
	case e.most > 0: // turns fail: completions only
		return e.done[:min(n, e.most):min(n, e.most)], nil, 0
	case e.full: // the same, so that what asks for more room does not keep them from being stored
		return e.done[:n:n], nil, 0
	}
	m := min(len(e.cmds), mostCommands)
	switch {
	case !e.apart:
	case n > 0 && (m == 0 || !now.Before(e.again)):
		return e.done[:n:n], nil, 0
	case m > 0:
		m = 1
		if e.asked = !claim || n > 0 || !e.asked; e.asked {
			claim = false
		} else {
			m = 0
		}
	}
	cmds, e.cmds = e.cmds[:m:m], e.cmds[m:]
	if claim {
		slots = max(0, min(e.cfg.AcquireBatchSize, e.cfg.MaxConcurrentRuns-len(e.active)))
	}
	return e.done[:n:n], cmds, slots
}

// logChunks is what a run in progress has said since its log was last stored.
type logChunks struct {
	run    jobhost.RunID
	chunks [][]byte
}

// takeLogs takes from runs in progress what they have said, every two seconds.
func (e *Engine) takeLogs(now time.Time) {
	if age := now.Sub(e.flushed); e.most > 0 || age >= 0 && age < logFlush {
		return
	}
	e.flushed = now
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, a := range e.active {
		if chunks := a.log.unsaved(); len(chunks) > 0 {
			e.logs = append(e.logs, logChunks{id, chunks})
		}
	}
}

// recorded takes what is stored off the queue and answers those who wait for it.
func (e *Engine) recorded(done []*ending, cmds []*command, t *turn) {
	e.mu.Lock()
	e.done = e.done[len(done):]
	for _, d := range done {
		e.tell(d)
		e.cleaning.grew(d.run.Job)
	}
	if len(e.done) == 0 {
		e.most = 0
	}
	if len(t.started) > 0 {
		e.apart = false
	}
	for _, c := range cmds { // it may have less history to keep now
		for _, name := range c.jobs {
			e.cleaning.grew(name)
		}
	}
	if e.apart && len(cmds) > 0 {
		e.again, e.cleaned, e.cleaning.scanned = time.Time{}, time.Time{}, false
	}
	e.heldNow, e.localNow, e.trouble = t.newHeld, e.locals.copy(), trouble{}
	e.signal()
	e.mu.Unlock()
	for _, c := range cmds {
		c.done <- c.err
	}
}

// oneShotsOnly reports whether this node may claim nothing but one-shots: its store is private and another node leads.
func (e *Engine) oneShotsOnly() bool { return !e.store.Shared() && !e.IsLeader() }

// localRuns counts the runs in progress of local jobs on this node.
func (e *Engine) localRuns() map[jobhost.Name]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out map[jobhost.Name]int
	for _, a := range e.active {
		if a.local {
			if out == nil {
				out = map[jobhost.Name]int{}
			}
			out[a.job]++
		}
	}
	return out
}

// drawIDs draws n ids at once.
func drawIDs(now time.Time, n int) []jobhost.RunID {
	if n == 0 {
		return nil
	}
	random := make([]byte, 10*n)
	_, _ = rand.Read(random) // never fails
	ids := make([]jobhost.RunID, n)
	for i := range ids {
		ids[i] = jobhost.NewRunID(now, [10]byte(random[10*i:]))
	}
	return ids
}
