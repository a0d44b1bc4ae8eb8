package engine

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

func TestSeveralNodes(t *testing.T) {
	onCluster(t, "S-107 S-156 a run is cancelled from another node", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		a.define(jobhost.NewJob("j", "p"))
		a.forever("j")
		done := a.startManual("j")
		is(b, "error", b.eng().CancelRuns(b.Context(), []jobhost.RunID{a.only("j").ID})[0].Err, nil)
		is(a, "state", (<-done).Value.State, jobhost.RunCanceled)
		a.view(func(tx jobhost.Tx) error { return nil })
		var left []jobhost.RunID
		_ = a.store.Update(a.Context(), func(tx jobhost.Tx) (err error) { left, err = tx.TakeCancels("n1"); return err })
		is(a, "requests left", len(left), 0)
		stop()
	})

	onCluster(t, "S-148 a retry runs on another node", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stopA := a.serve()
		d := job("j", "once 2026-01-05T01:00:00Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: minute}
		a.define(d)
		a.fails("j")
		a.until(hour + second)
		stopA()
		stopB := b.serve()
		b.until(2 * hour)
		rs := b.runs("j")
		is(b, "runs", len(rs), 2)
		is(b, "node", rs[1].Node, "n2")
		is(b, "state", rs[1].State, jobhost.RunSucceeded)
		stopB()
	})

	onCluster(t, "S-160 S-166 FR-07 no two nodes fire the same slot", 3, func(ws []*world) {
		stop := serveAll(ws)
		both := job("many", "cron * * * * * *")
		both.AllowConcurrent = true
		ws[0].define(job("one", "cron * * * * * *"), both)
		ws[0].until(minute + 500*time.Millisecond)
		for _, name := range []jobhost.Name{"one", "many"} {
			slots := map[time.Time]int{}
			nodes := map[string]int{}
			for _, r := range ws[0].runs(name) {
				slots[r.ScheduledAt]++
				nodes[r.Node]++
				if slots[r.ScheduledAt] > 1 {
					ws[0].Errorf("%s fired twice at %v", name, r.ScheduledAt)
				}
			}
			is(ws[0], "slots of "+name, len(slots), 60)
			ws[0].Log(name, nodes)
		}
		stop()
	})

	onCluster(t, "S-168 S-170 a local job runs on each node", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		d := job("j", "cron 0 * * * * *")
		d.RunOnEveryInstance = true
		a.define(d)
		a.until(minute + second)
		nodes := map[string]int{}
		for _, r := range a.runs("j") {
			nodes[r.Node]++
		}
		is(a, "runs", fmt.Sprint(nodes), "map[n1:1 n2:1]")
		a.until(90 * second)
		d.Triggers[0].Schedule = "cron 30 * * * * *"
		a.define(d)
		isAt(a, "next here", a.eng().Status(a.Context(), []jobhost.Name{"j"})[0].Value.NextRun, 150*second)
		a.until(90*second + 10*b.cfg.PollInterval + second)
		isAt(b, "next there", b.eng().Status(b.Context(), []jobhost.Name{"j"})[0].Value.NextRun, 150*second)
		stop()
	})

	onCluster(t, "FR-06 a firing during a change of leader is not lost", 3, func(ws []*world) {
		stop := serveAll(ws)
		ws[1].define(job("j", "once 2026-01-05T00:05:00Z"))
		ws[0].until(5*minute - second)
		ws[0].cutOff(true)
		ws[1].until(5*minute + 10*second)
		r := ws[1].only("j")
		isAt(ws[1], "scheduledAt", r.ScheduledAt, 5*minute)
		isAt(ws[1], "started", r.StartedAt, 5*minute)
		ws[0].cutOff(false)
		stop()
	})

	onCluster(t, "FR-14 the heartbeat goes on while a node stops", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		a.cfg.NodeTimeout, a.cfg.ShutdownTimeout, b.cfg.NodeTimeout = 9*second, 2*minute, 9*second
		b.cfg.HousekeepingInterval = 5 * second
		stopA := a.serve()
		a.define(recovered("j", "cron 0 0 0 * * *"))
		a.takes("j", minute)
		done := a.startManual("j")
		stopB := b.serve()
		stopA()
		is(a, "state", (<-done).Value.State, jobhost.RunSucceeded)
		b.until(3 * minute)
		b.only("j")
		stopB()
	})

	onCluster(t, "a file job that no live node defines is held", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		for _, w := range ws {
			if err := w.eng().Apply(w.Context(), []jobhost.JobDef{job("both", "cron 0 * * * * *")}); err != nil {
				w.Fatal(err)
			}
		}
		if err := a.eng().Apply(a.Context(), []jobhost.JobDef{job("both", "cron 0 * * * * *"), job("old", "cron 0 * * * * *")}); err != nil {
			a.Fatal(err)
		}
		stop := serveAll(ws)
		a.until(90 * second)
		is(a, "runs of old", len(a.runs("old")), 1)
		a.engine.drain()
		if err := a.eng().Apply(a.Context(), []jobhost.JobDef{job("both", "cron 0 * * * * *")}); err != nil {
			a.Fatal(err)
		}
		b.until(5 * minute)
		n := len(b.runs("old"))
		b.until(10 * minute)
		is(b, "runs of old", len(b.runs("old")), n)
		s := b.eng().Status(b.Context(), []jobhost.Name{"old"})[0].Value
		is(b, "orphaned", s.Orphaned, true)
		is(b, "why", s.Triggers[0].Why, "no live node's files define the job any more")
		stop()
	})

	onCluster(t, "S-156 a run that another node cancels between its commit and its dispatch ends", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		a.not["here"] = readyPlugin
		a.cfg.CancelGrace = 0
		stop := serveAll(ws)
		d := job("j", "once 2026-01-05T00:00:10.5Z")
		d.Plugin = "here"
		a.define(d)
		a.takes("j", hour)
		a.until(10200 * time.Millisecond)
		dispatch, held := make(chan struct{}), atomic.Bool{}
		a.store.(*faulty).set(nil, func() error {
			if held.CompareAndSwap(false, true) {
				<-dispatch
			}
			return nil
		})
		a.until(10600 * time.Millisecond)
		is(a, "dispatched", a.eng().RunningCount(), 0)
		is(b, "error", b.eng().CancelRuns(b.Context(), []jobhost.RunID{b.only("j").ID})[0].Err, nil)
		a.eng().doDuties(a.Context()) // it takes the request
		close(dispatch)
		a.until(15 * second)
		is(b, "state", b.only("j").State, jobhost.RunCanceled)
		stop()
	})

	onCluster(t, "a node drains on the request of another", 2, func(ws []*world) {
		stop := serveAll(ws)
		a, b := ws[0], ws[1]
		is(a, "leads", a.eng().IsLeader(), true)
		is(b, "error", b.eng().Drain(b.Context(), "n1"), nil)
		is(b, "code", jobhost.CodeOf(b.eng().Drain(b.Context(), "n9")), jobhost.NotFoundNode)
		time.Sleep(3 * second)
		synctest.Wait()
		is(a, "state", a.eng().State(), Draining)
		is(a, "leads", a.eng().IsLeader(), false)
		is(b, "leads", b.eng().IsLeader(), true)
		stop()
	})
}
