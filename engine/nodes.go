package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/jobhost/jobhost"
)

// watchNodes is what the nodes of a shared store do for each other: the leader recovers the runs of lost nodes, and every
// node learns which file jobs no live node defines any more.
func (e *Engine) watchNodes(ctx context.Context, now time.Time) error {
	if !e.store.Shared() {
		return nil
	}
	var nodes []jobhost.Node
	err := e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		nodes, err = tx.Nodes()
		return err
	})
	if err != nil {
		return err
	}
	cutoff := now.Add(-e.cfg.NodeTimeout)
	defined := map[jobhost.Name]bool{}
	for _, n := range nodes {
		if n.Beat.Before(cutoff) && n.ID != e.cfg.NodeID {
			if err := e.recoverLost(ctx, n, cutoff); err != nil {
				return err
			}
			continue
		}
		for _, name := range n.FileJobs {
			defined[name] = true
		}
	}
	return e.findOrphans(ctx, defined)
}

// recoverLost ends a lost node in one transaction: its runs become Lost, with what follows from that, and its record goes.
// Only the leader does it, and only once it has itself sent heartbeats for a node timeout without a gap; otherwise an
// outage of the store would lose every node (SPEC 18).
func (e *Engine) recoverLost(ctx context.Context, n jobhost.Node, cutoff time.Time) error {
	if !e.IsLeader() || !e.steady() {
		return nil
	}
	var lost []jobhost.Run
	now := e.now()
	t := &turn{cfg: &e.cfg, plans: e.plans, now: now, heard: e.events.wanted()}
	err := e.store.Update(ctx, func(tx jobhost.Tx) error {
		lost = lost[:0]
		nodes, err := tx.Nodes()
		if err != nil {
			return err
		}
		gone := false
		for _, m := range nodes {
			gone = gone || m.ID == n.ID && m.Beat.Before(cutoff)
		}
		if !gone {
			return nil // it lives after all, or somebody else was first
		}
		if lost, err = tx.OpenRuns(n.ID); err != nil {
			return err
		}
		why := func(r jobhost.Run) (string, time.Time) {
			return fmt.Sprintf("node %q was lost: its last heartbeat was at %s", n.ID, instant(n.Beat)), n.Beat
		}
		done, err := loseAll(tx, lost, why)
		if err != nil {
			return err
		}
		if err := t.run(tx, done, nil, 0); err != nil {
			return err
		}
		return tx.DeleteNode(n.ID)
	})
	if err != nil {
		return err
	}
	e.log.ErrorContext(ctx, "a node was lost", slog.String("node", n.ID), slog.Time("heartbeat", n.Beat), slog.Int("runs", len(lost)))
	t.report(e.log)
	e.events.publish(t.events)
	e.nudge()
	return nil
}

// steady reports whether this node has sent heartbeats for a node timeout without a gap.
func (e *Engine) steady() bool {
	e.duties.mu.Lock()
	defer e.duties.mu.Unlock()
	d := &e.duties
	return !d.steady.IsZero() && time.Since(d.steady) >= e.cfg.NodeTimeout && time.Since(d.beaten) <= e.cfg.NodeTimeout
}

// findOrphans notes which file jobs are among the files of no live node. They do not fire until one defines them again.
func (e *Engine) findOrphans(ctx context.Context, defined map[jobhost.Name]bool) error {
	orphaned := map[jobhost.Name]bool{}
	err := e.eachJob(ctx, func(j jobhost.JobState) {
		if j.Source == jobhost.SourceFile && !defined[j.Name] {
			orphaned[j.Name] = true
		}
	})
	if err != nil || maps.Equal(orphaned, e.orphaned) {
		return err
	}
	for n := range orphaned {
		if !e.orphaned[n] {
			e.log.WarnContext(ctx, "no live node's files define the job any more; it does not fire", slog.String("job", n))
		}
	}
	e.orphaned = orphaned
	e.mu.Lock()
	defer e.mu.Unlock()
	e.orphansNow = orphaned
	return nil
}

// Nodes lists the nodes that share the store. See [jobhost.Scheduler].
func (e *Engine) Nodes(ctx context.Context) (nodes []jobhost.Node, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		nodes, err = tx.Nodes()
		return err
	})
	return nodes, err
}

// drainRequest is what a node finds among its requests when another one asks it to drain: the id that no run has, since it
// is no valid trace id.
const drainRequest jobhost.RunID = "00000000000000000000000000000000"

// Drain asks a node to fire no more triggers. See [jobhost.Scheduler].
func (e *Engine) Drain(ctx context.Context, node string) error {
	if node == e.cfg.NodeID {
		e.drain()
		return nil
	}
	return e.store.Update(ctx, func(tx jobhost.Tx) error {
		nodes, err := tx.Nodes()
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.ID == node {
				return tx.PutCancel(node, drainRequest)
			}
		}
		return &jobhost.Error{
			Code: jobhost.NotFoundNode, Op: "drain", Msg: fmt.Sprintf("node %q is not there", node), Hint: "`jobhost node ls` lists the nodes",
		}
	})
}
