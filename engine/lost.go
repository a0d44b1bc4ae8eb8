package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// A lostReason says why a run is lost, and when its node was last heard of; zero: it is not known.
type lostReason func(jobhost.Run) (text string, heard time.Time)

// loseAll are the ends of runs that are lost. Nobody saw them end, so each ends with the last that is known of it: its
// node's last heartbeat, its own start or the last line of its log, whichever is latest. What follows from the end counts
// from now (T12).
func loseAll(tx jobhost.Tx, runs []jobhost.Run, why lostReason) ([]*ending, error) {
	done := make([]*ending, len(runs))
	for i, r := range runs {
		text, heard := why(r)
		chunks, err := tx.Log(r.ID)
		if err != nil {
			return nil, err
		}
		if said := entries(chunks); len(said) > 0 {
			heard = later(heard, said[len(said)-1].Time.UTC().Truncate(precision))
		}
		r.State, r.EndedAt, r.ErrorMessage = jobhost.RunLost, later(r.StartedAt, heard), cut(text, jobhost.MaxErrorMessage)
		done[i] = &ending{run: r, awaited: r.Kind == jobhost.KindSchedule}
	}
	return done, nil
}

// reconcile is done once, before the first turn, on a private store: every open run there is of a process that is gone,
// since the store's lock proves it (SPEC 18). So is every other node.
func (e *Engine) reconcile(ctx context.Context) error {
	if e.reconciled || e.store.Shared() {
		e.reconciled = true
		return nil
	}
	nodes, err := e.Nodes(ctx)
	if err != nil {
		return err
	}
	heard := map[string]time.Time{}
	for _, n := range nodes {
		heard[n.ID] = n.Beat
	}
	if err := e.lose(ctx, "", nil, e.processEnded(heard)); err != nil {
		return err
	}
	if err := e.forget(ctx, nodes); err != nil {
		return err
	}
	e.reconciled = true
	return nil
}

// processEnded is the reason for runs of processes that are gone. The record of one that had this node's id is this one's by
// now; what it said before was kept.
func (e *Engine) processEnded(heard map[string]time.Time) lostReason {
	return func(r jobhost.Run) (string, time.Time) {
		at := heard[r.Node]
		if r.Node == e.cfg.NodeID {
			_, at = e.origin()
		}
		if at.IsZero() {
			return fmt.Sprintf("the process of node %q ended while the run was in progress; when is not known", r.Node), at
		}
		return fmt.Sprintf("the process of node %q ended while the run was in progress; its last heartbeat was at %s", r.Node, instant(at)), at
	}
}

// origin is when this process's node record was made, and the last heartbeat of a process that had its id before; zero: there
// is none.
func (e *Engine) origin() (born, before time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.born, e.before
}

// forget removes the records of other nodes.
func (e *Engine) forget(ctx context.Context, nodes []jobhost.Node) error {
	others := slices.DeleteFunc(nodes, func(n jobhost.Node) bool { return n.ID == e.cfg.NodeID })
	if len(others) == 0 {
		return nil
	}
	return e.store.Update(ctx, func(tx jobhost.Tx) error {
		for _, n := range others {
			if err := tx.DeleteNode(n.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// loseOwn ends this node's records that have no run behind them: a process before this one has left them, or a commit whose
// outcome was unknown.
func (e *Engine) loseOwn(ctx context.Context) error {
	return e.lose(ctx, e.cfg.NodeID, e.inHand(), func(r jobhost.Run) (string, time.Time) {
		if born, _ := e.origin(); r.StartedAt.Before(born) {
			return e.processEnded(nil)(r)
		}
		return fmt.Sprintf("node %q has put the run on record and did not learn of it, so it never began", r.Node), time.Time{}
	})
}

// lose marks open runs of a node, with "" of all nodes, as Lost, unless keep says that they are in progress here. What
// follows from their end happens in the same commit.
func (e *Engine) lose(ctx context.Context, node string, keep map[jobhost.RunID]bool, why lostReason) error {
	orphans, err := e.orphans(ctx, node, keep)
	if err != nil || len(orphans) == 0 {
		return err
	}
	now := e.now()
	for batch := range slices.Chunk(orphans, mostOutcomes) {
		t := &turn{cfg: &e.cfg, plans: e.plans, now: now, heard: e.events.wanted(), narrow: !e.store.Shared()}
		err := e.store.Update(ctx, func(tx jobhost.Tx) error {
			done, err := loseAll(tx, batch, why)
			if err != nil {
				return err
			}
			return t.run(tx, done, nil, 0)
		})
		if err != nil {
			return err
		}
		e.unfreed = append(e.unfreed, t.unfreed...)
		t.report(e.log)
		e.events.publish(t.events)
	}
	return nil
}

func (e *Engine) orphans(ctx context.Context, node string, keep map[jobhost.RunID]bool) (orphans []jobhost.Run, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) error {
		open, err := tx.OpenRuns(node)
		orphans = slices.DeleteFunc(open, func(r jobhost.Run) bool { return keep[r.ID] })
		return err
	})
	return orphans, err
}

// instant writes an instant for people.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
