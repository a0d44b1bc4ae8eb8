package engine

import (
	"crypto/rand"
	"time"

	"github.com/jobhost/jobhost"
)

// take removes from the queues what the next turn will do, and says how many runs it may start.
func (e *Engine) take(now time.Time, claim bool) (done []*ending, cmds []*command, slots int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, m, claim := e.choose(len(e.done), len(e.cmds), now, claim)
	done = e.done[:n:n] // stays queued until it is stored
	cmds, e.cmds = e.cmds[:m:m], e.cmds[m:]
	if claim {
		slots = max(0, min(e.cfg.AcquireBatchSize, e.cfg.MaxConcurrentRuns-len(e.active)))
	}
	return done, cmds, slots
}

// logChunks is what a run in progress has said since its log was last stored.
type logChunks struct {
	run    jobhost.RunID
	chunks [][]byte
}

// takeLogs takes from runs in progress what they have said, every two seconds.
func (e *Engine) takeLogs(now time.Time) {
	if age := now.Sub(e.flushed); e.split > 0 || age >= 0 && age < logFlush {
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
	e.stored(len(cmds), len(t.started), len(e.done))
	for _, c := range cmds { // it may have less history to keep now
		for _, name := range c.jobs {
			e.cleaning.grew(name)
		}
	}
	if e.apart && len(cmds) > 0 {
		e.cleaned, e.cleaning.scanned = time.Time{}, false
	}
	e.heldNow, e.localNow = t.newHeld, e.locals.copy()
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
