package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/jobhost/jobhost"
)

// ledUntilKey is where a private store keeps until when this store's node has led. The empty job holds the engine's own
// values.
const ledUntilKey = "ledUntil"

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
	return e.eachTrigger(ctx, nil, func(t jobhost.Trigger, p *plan) (jobhost.Trigger, bool) {
		if t.State != jobhost.TriggerWaiting || t.Due.After(heldUntil) || !t.Due.After(ledUntil) {
			return t, false
		}
		return wait(t, p.next(heldUntil)), true
	})
}
