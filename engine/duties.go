package engine

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jobhost/jobhost"
)

// releaseTime is how long the release of a lease or of the node's record may take while the engine stops.
const releaseTime = 5 * time.Second

// duties are what a node does apart from the loop, so that slow work cannot keep it from them: the heartbeat, requests
// from other nodes, the lease (SPEC 18, 19). One goroutine at a time does them.
type duties struct {
	mu      token
	started time.Time   // of the node's record; zero before the first heartbeat
	beaten  time.Time   // the last successful heartbeat
	steady  time.Time   // since when heartbeats have been sent without a gap
	renew   atomic.Bool // the record is out of date; send it at the next look
	lease   jobhost.Lease
	renewed time.Time // when the last successful renewal began

	unheard []jobhost.RunID // asked to end, but not in progress: they may have been about to start, and are asked once more
}

// attend does the duties every poll interval, or more often where a lease or a heartbeat needs it, until over is closed.
func (e *Engine) attend(ctx context.Context, over <-chan struct{}) {
	every := min(e.cfg.PollInterval, e.cfg.LeaseTTL/3, e.cfg.NodeTimeout/3)
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			e.doDuties(ctx)
		}
	}
}

// doDuties does once what is due of the duties.
func (e *Engine) doDuties(ctx context.Context) {
	e.duties.mu.Lock()
	defer e.duties.mu.Unlock()
	if err := e.heartbeat(ctx); err != nil {
		e.log.ErrorContext(ctx, "the heartbeat failed", slog.Any("err", err))
	}
	if err := e.takeRequests(ctx); err != nil {
		e.log.ErrorContext(ctx, "requests of other nodes cannot be read", slog.Any("err", err))
	}
	e.keepLease(ctx)
}

// heartbeat writes the node's record when it is due. A record that is gone means that the node was declared lost.
func (e *Engine) heartbeat(ctx context.Context) error {
	d := &e.duties
	began := time.Now()
	if !d.renew.Swap(false) && !d.beaten.IsZero() && began.Sub(d.beaten) < e.cfg.NodeTimeout/3 {
		return nil
	}
	now := e.now()
	first := d.beaten.IsZero()
	if d.started.IsZero() {
		d.started = now
	}
	host, _ := os.Hostname() // only for people to read
	node := jobhost.Node{ID: e.cfg.NodeID, Host: host, Version: e.cfg.Version, Started: d.started, Beat: now, FileJobs: e.fileNames()}
	var existed bool
	var before time.Time
	err := e.store.Update(ctx, func(tx jobhost.Tx) (err error) {
		if first {
			if before, err = lastBeat(tx, node); err != nil {
				return err
			}
		}
		existed, err = tx.PutNode(node)
		return err
	})
	if err != nil {
		d.steady = time.Time{}
		d.renew.Store(true)
		return err
	}
	if d.steady.IsZero() || began.Sub(d.beaten) > e.cfg.NodeTimeout {
		d.steady = began
	}
	d.beaten = began
	if first {
		e.mu.Lock()
		e.born, e.before = d.started, before
		e.mu.Unlock()
	}
	if first || existed {
		return nil
	}
	e.log.WarnContext(ctx, "this node was declared lost; it has registered again", slog.String("node", e.cfg.NodeID))
	return e.disown(ctx)
}

// lastBeat is the last heartbeat of a process that had a node's id before it; zero: there is no record of one.
func lastBeat(tx jobhost.Tx, node jobhost.Node) (time.Time, error) {
	nodes, err := tx.Nodes()
	if i := slices.IndexFunc(nodes, func(n jobhost.Node) bool { return n.ID == node.ID && !n.Started.Equal(node.Started) }); i >= 0 {
		return nodes[i].Beat, err
	}
	return time.Time{}, err
}

// disown ends the runs of this node whose records are no longer Running. Nothing of them is written.
func (e *Engine) disown(ctx context.Context) error {
	mine := e.inHand()
	ids := make([]jobhost.RunID, 0, len(mine))
	for id := range mine {
		ids = append(ids, id)
	}
	var records []jobhost.Run
	err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		records, err = tx.Runs(ids...)
		return err
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range records {
		if a := e.active[r.ID]; a != nil && r.State != jobhost.RunRunning {
			a.cause = jobhost.Unexpected
			a.end(errDisowned)
		}
	}
	return nil
}

// takeRequests carries out what other nodes have asked of this one.
func (e *Engine) takeRequests(ctx context.Context) error {
	if !e.store.Shared() {
		return nil
	}
	var ids []jobhost.RunID
	err := e.store.Update(ctx, func(tx jobhost.Tx) (err error) {
		ids, err = tx.TakeCancels(e.cfg.NodeID)
		return err
	})
	if err != nil {
		return err
	}
	if slices.Contains(ids, drainRequest) {
		e.drain()
	}
	before := e.duties.unheard
	e.duties.unheard = nil
	for _, id := range ids {
		if !e.askHere(id) {
			e.duties.unheard = append(e.duties.unheard, id)
		}
	}
	for _, id := range before {
		e.askHere(id)
	}
	return nil
}

// leave removes the node's record and, last, gives the lease away (SPEC 20).
func (e *Engine) leave(ctx context.Context) error {
	e.duties.mu.Lock()
	defer e.duties.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	var err error
	if !e.duties.started.IsZero() {
		err = e.store.Update(short, func(tx jobhost.Tx) error { return tx.DeleteNode(e.cfg.NodeID) })
	}
	e.releaseLease(ctx)
	return err
}
