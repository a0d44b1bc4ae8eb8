package engine

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobhost/jobhost"
)

// releaseTime is how long the release of a lease or of the node's record may take while the engine stops.
const releaseTime = 5 * time.Second

// ledUntilKey is where a private store keeps until when this store's node has led. The empty job holds the engine's own
// values.
const ledUntilKey = "ledUntil"

// duties are what a node does apart from the loop, so that slow work cannot keep it from them: the heartbeat, requests
// from other nodes, the lease (SPEC 18, 19). One goroutine at a time does them.
type duties struct {
	mu      sync.Mutex
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

// IsLeader reports whether this node holds the lease. Without an election it does while it serves.
func (e *Engine) IsLeader() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leads()
}

// leads reports whether this node may act as the leader. The caller holds mu.
func (e *Engine) leads() bool {
	if e.cfg.Leader == nil {
		return e.state == Serving || e.state == Stopping
	}
	return time.Now().Before(e.leadUntil)
}

// keepLease takes or renews the lease while the engine serves, and while it stops straight from serving, so that no other
// node starts a job that is still finishing. While draining it gives the lease away.
func (e *Engine) keepLease(ctx context.Context) {
	d := &e.duties
	switch state := e.State(); {
	case e.cfg.Leader == nil:
	case state == Draining:
		e.releaseLease(ctx)
	case e.store.Shared() && time.Since(d.beaten) > e.cfg.NodeTimeout:
		e.releaseLease(ctx) // a node that cannot reach the store must not keep others from recovering its runs
	case state == Serving && d.lease == nil:
		e.acquireLease(ctx)
	case state != Started && d.lease != nil && time.Since(d.renewed) >= e.cfg.LeaseTTL/3:
		e.renewLease(ctx)
	}
}

func (e *Engine) acquireLease(ctx context.Context) {
	d := &e.duties
	began := time.Now()
	lease, err := e.cfg.Leader.Acquire(ctx, e.cfg.LeaseResource, e.cfg.NodeID, e.cfg.LeaseTTL)
	switch {
	case jobhost.CodeOf(err) == jobhost.LeaseHeld:
		e.log.DebugContext(ctx, "another node leads", slog.Any("err", err))
		return
	case err != nil:
		e.log.WarnContext(ctx, "the election is unreachable", slog.Any("err", err))
		return
	}
	if err := e.takeOver(ctx, lease.PreviousHeldUntil()); err != nil {
		e.log.ErrorContext(ctx, "taking over failed", slog.Any("err", err))
		return // the lease runs out, or is acquired again at the next look
	}
	d.lease = lease
	e.hold(ctx, began)
	e.log.InfoContext(ctx, "this node leads", slog.String("resource", e.cfg.LeaseResource), slog.Uint64("term", lease.Term()))
}

func (e *Engine) renewLease(ctx context.Context) {
	d := &e.duties
	began := time.Now()
	err := d.lease.Renew(ctx)
	switch {
	case err == nil:
		e.hold(ctx, began)
	case jobhost.CodeOf(err) == jobhost.LeaseHeld:
		e.log.WarnContext(ctx, "the lease was lost", slog.Any("err", err))
		e.letGo()
	default: // believed until its time has passed
		e.log.WarnContext(ctx, "the lease cannot be renewed", slog.Any("err", err))
	}
}

// hold notes that the lease was confirmed by a request that began at an instant, and on a private store until when this
// node has led, which it needs to take over from itself.
func (e *Engine) hold(ctx context.Context, began time.Time) {
	e.duties.renewed = began
	e.mu.Lock()
	e.leadUntil = began.Add(e.cfg.LeaseTTL)
	e.mu.Unlock()
	e.nudge()
	e.noteLed(ctx)
}

// noteLed stores on a private store that this node leads.
func (e *Engine) noteLed(ctx context.Context) {
	if e.store.Shared() {
		return
	}
	now, _ := e.now().MarshalText()
	err := e.store.Update(ctx, func(tx jobhost.Tx) error { return tx.PutValue("", ledUntilKey, now) })
	if err != nil {
		e.log.ErrorContext(ctx, "the time of leading cannot be stored", slog.Any("err", err))
	}
}

func (e *Engine) letGo() {
	e.duties.lease = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leadUntil = time.Time{}
}

// releaseLease frees the lease for others, also when ctx has ended.
func (e *Engine) releaseLease(ctx context.Context) {
	d := &e.duties
	if d.lease == nil {
		return
	}
	lease := d.lease
	e.letGo()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	e.noteLed(ctx)
	if err := lease.Release(ctx); err != nil {
		e.log.WarnContext(ctx, "the lease cannot be released; it runs out by itself", slog.Any("err", err))
	}
}

// takeOver is T21: on a private store, scheduled triggers whose due is not later than the previous leader's last sign were
// its business and move on without a run, unless this node led then (SPEC 19.4).
func (e *Engine) takeOver(ctx context.Context, heldUntil time.Time) error {
	if e.store.Shared() || heldUntil.IsZero() {
		return nil
	}
	heldUntil = heldUntil.UTC()
	var ledUntil time.Time
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		text, ok, err := tx.Value("", ledUntilKey)
		if err != nil || !ok {
			return err
		}
		return ledUntil.UnmarshalText(text)
	})
	if err != nil {
		return err
	}
	return e.eachTrigger(ctx, func(t jobhost.Trigger, p *plan) (jobhost.Trigger, bool) {
		if t.State != jobhost.TriggerWaiting || t.Due.After(heldUntil) || !t.Due.After(ledUntil) {
			return t, false
		}
		return wait(t, p.next(heldUntil)), true
	})
}

// eachTrigger changes the scheduled triggers for which f says so, a page of jobs at a time.
func (e *Engine) eachTrigger(ctx context.Context, f func(jobhost.Trigger, *plan) (jobhost.Trigger, bool)) error {
	var names []jobhost.Name
	if err := e.eachJob(ctx, func(j jobhost.JobState) { names = append(names, j.Name) }); err != nil {
		return err
	}
	const page = 500
	for part := range slices.Chunk(names, page) {
		changes := false
		change := func(tx jobhost.Tx, put func(...jobhost.Trigger) error) error {
			jobs, err := tx.Jobs(part...)
			if err != nil {
				return err
			}
			for _, j := range jobs {
				ts, err := tx.TriggersOf(j.Name)
				if err != nil {
					return err
				}
				for _, t := range ts {
					p, err := e.plans.of(t.Schedule)
					if t.OneShot != nil || err != nil {
						continue
					}
					n, changed := f(t, p)
					if !changed {
						continue
					}
					n.Ready = time.Time{}
					if err := put(ready(n, j.Job)); err != nil {
						return err
					}
				}
			}
			return nil
		}
		err := e.store.View(ctx, func(tx jobhost.Tx) error { // most pages need no change, so no commit
			return change(tx, func(...jobhost.Trigger) error { changes = true; return nil })
		})
		if err == nil && changes {
			err = e.store.Update(ctx, func(tx jobhost.Tx) error { return change(tx, tx.PutTriggers) })
		}
		if err != nil {
			return err
		}
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
