package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestLostNodes(t *testing.T) {
	onCluster(t, "S-95 S-96 S-97 S-161 FR-12 FR-13 a lost node's runs are Lost and recovered once", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		local := recovered("local", "every 1h")
		local.RunOnEveryInstance = true
		a.define(recovered("j", "cron 0 0 1 * * *"), recovered("i", "every 90m"), job("plain", "cron 0 0 1 * * *"), local)
		for _, name := range []jobhost.Name{"j", "i", "plain", "local"} {
			a.forever(name)
			a.startManual(name)
		}
		for range 3 { // the whole second node leads by now
			time.Sleep(minute)
		}
		a.until(hour)
		is(a, "state", a.trigger("j").State, jobhost.TriggerBlocked)
		a.cutOff(true)
		is(a, "first leader", a.eng().IsLeader(), true)
		b.until(hour + 5*minute)
		is(b, "leads", b.eng().IsLeader(), true)
		for _, name := range []jobhost.Name{"j", "i", "plain", "local"} {
			is(b, "state of "+name, b.runs(name)[0].State, jobhost.RunLost)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				_ = b.eng().recoverLost(b.Context(), jobhost.Node{ID: "n1"}, b.eng().now().Add(-90*second))
			})
		}
		wg.Wait()
		kinds := func(name jobhost.Name) map[jobhost.RunKind]int {
			out := map[jobhost.RunKind]int{}
			for _, r := range b.runs(name) {
				out[r.Kind]++
				if r.Kind == jobhost.KindRecovery {
					first := b.runs(name)[0]
					is(b, "recoveryOf", r.RecoveryOf, first.ID)
					is(b, "attempt", r.Attempt, first.Attempt)
					is(b, "data", string(r.Data), string(first.Data))
				}
			}
			return out
		}
		is(b, "runs of j", fmt.Sprint(kinds("j")), "map[Schedule:1 Manual:1 Recovery:1]")
		is(b, "runs of i", fmt.Sprint(kinds("i")), "map[Manual:1 Recovery:1]")
		is(b, "runs of plain", fmt.Sprint(kinds("plain")), "map[Schedule:1 Manual:1]")
		is(b, "recoveries of local", kinds("local")[jobhost.KindRecovery], 0)
		b.view(func(tx jobhost.Tx) error {
			nodes, err := tx.Nodes()
			is(b, "nodes", len(nodes), 1)
			return err
		})
		a.cutOff(false)
		stop()
	})

	onCluster(t, "S-162 a Recovery run that is lost is not recovered again", 3, func(ws []*world) {
		stop := serveAll(ws)
		ws[0].define(recovered("j", "once 2026-01-05T00:10:00Z"))
		for _, w := range ws {
			w.forever("j")
		}
		ws[0].until(10*minute + second)
		owner := func() *world {
			rs := ws[0].runs("j")
			for _, w := range ws {
				if r := rs[len(rs)-1]; r.Node == w.cfg.NodeID && r.State == jobhost.RunRunning {
					return w
				}
			}
			return nil
		}
		first := owner()
		first.cutOff(true)
		time.Sleep(5 * minute)
		is(ws[0], "runs", len(ws[0].runs("j")), 2)
		second := owner()
		second.cutOff(true)
		time.Sleep(10 * minute)
		is(ws[0], "runs", len(ws[0].runs("j")), 2)
		for _, r := range ws[0].runs("j") {
			is(ws[0], "state", r.State, jobhost.RunLost)
		}
		first.cutOff(false)
		second.cutOff(false)
		stop()
	})

	onCluster(t, "S-163 S-90 FR-13 a node that was only away ends what is no longer its own", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		a.define(recovered("j", "cron 0 0 0 * * *"))
		a.forever("j")
		a.startManual("j")
		a.until(5 * minute)
		a.cutOff(true)
		a.until(10 * minute)
		is(b, "state", b.runs("j")[0].State, jobhost.RunLost)
		is(a, "still runs", a.eng().RunningCount(), 1)
		a.cutOff(false)
		a.until(11 * minute)
		is(a, "runs in progress", a.eng().RunningCount(), 0)
		is(b, "state", b.runs("j")[0].State, jobhost.RunLost)
		b.view(func(tx jobhost.Tx) error {
			nodes, err := tx.Nodes()
			is(b, "nodes", len(nodes), 2)
			return err
		})
		stop()
	})

	onCluster(t, "S-161 a node that does not lead recovers nobody", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		b.cfg.Leader = &election{fail: &jobhost.Error{Code: jobhost.LeaseHeld, Op: "test", Msg: "held by n9"}}
		stop := serveAll(ws)
		a.define(recovered("j", "cron 0 0 0 * * *"))
		a.forever("j")
		a.startManual("j")
		a.until(5 * minute)
		a.cutOff(true)
		a.until(15 * minute)
		is(b, "state", b.only("j").State, jobhost.RunRunning)
		a.cutOff(false)
		stop()
	})

	onCluster(t, "S-164 two that lead for a moment recover a run once", 3, func(ws []*world) {
		a, b, c := ws[0], ws[1], ws[2]
		b.cfg.Leader, c.cfg.Leader = nil, nil // both believe that they lead
		stop := serveAll(ws)
		a.define(recovered("j", "cron 0 0 0 * * *"))
		a.forever("j")
		a.startManual("j")
		a.until(5 * minute)
		a.cutOff(true)
		a.until(10 * minute)
		is(b, "runs", len(b.runs("j")), 2)
		a.cutOff(false)
		stop()
	})

	onCluster(t, "FR-13 a long run on a healthy node is left alone", 2, func(ws []*world) {
		stop := serveAll(ws)
		ws[0].define(recovered("j", "once 2026-01-05T00:01:00Z"))
		for _, w := range ws {
			w.takes("j", 5*w.cfg.NodeTimeout)
		}
		ws[0].until(hour)
		is(ws[0], "state", ws[0].only("j").State, jobhost.RunSucceeded)
		stop()
	})

	onCluster(t, "S-95 FR-13 an outage of the store loses no node", 2, func(ws []*world) {
		stop := serveAll(ws)
		ws[0].define(recovered("j", "once 2026-01-05T00:01:00Z"))
		for _, w := range ws {
			w.takes("j", 20*minute)
		}
		ws[0].until(5 * minute)
		for _, w := range ws {
			w.cutOff(true)
		}
		ws[0].until(15 * minute)
		for _, w := range ws {
			w.cutOff(false)
		}
		ws[0].until(hour)
		is(ws[0], "state", ws[0].only("j").State, jobhost.RunSucceeded)
		stop()
	})

	onCluster(t, "S-95 FR-13 the first node back after an outage does not declare the others lost", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		b.define(recovered("j", "cron 0 0 0 * * *"))
		b.takes("j", 20*minute)
		b.startManual("j")
		b.until(5 * minute)
		a.cutOff(true)
		b.cutOff(true)
		a.until(15 * minute)
		a.cutOff(false)
		a.until(15*minute + 80*second) // it has kept house meanwhile, and not sent heartbeats for long
		is(a, "leads", a.eng().IsLeader(), true)
		b.cutOff(false)
		a.until(hour)
		is(a, "state", a.only("j").State, jobhost.RunSucceeded)
		stop()
	})

	eachStore(t, "S-98 on a private store age loses nobody", func(w *world) {
		w.define(recovered("j", "cron 0 0 0 * * *"))
		w.forever("j")
		stop := w.serve()
		w.startManual("j")
		if err := w.store.Update(w.Context(), func(tx jobhost.Tx) error {
			_, err := tx.PutNode(jobhost.Node{ID: "old", Beat: t0.Add(-hour)})
			return err
		}); err != nil {
			w.Fatal(err)
		}
		w.until(10 * minute)
		is(w, "state", w.only("j").State, jobhost.RunRunning)
		stop()
	})
}
