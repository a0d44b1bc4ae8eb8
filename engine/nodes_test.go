package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// onCluster runs a story on n nodes that share a store and an election, in a bubble. The first one leads.
func onCluster(t *testing.T, name string, n int, story func(ws []*world)) {
	t.Helper()
	t.Run("shared/"+name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store, election := memstore.New(memstore.Config{Shared: true}), memstore.NewElection()
			var ws []*world
			for i := range n {
				w := newWorld(t, &faulty{Store: jobtest.Twice(store)})
				w.cfg.NodeID, w.cfg.Leader = fmt.Sprintf("n%d", i+1), election
				ws = append(ws, w)
			}
			story(ws)
			for _, w := range ws {
				w.end()
			}
		})
	})
}

// cutOff makes a node's store unreachable, or reachable again.
func (w *world) cutOff(gone bool) {
	var before func(jobhost.Tx) error
	if gone {
		before = func(jobhost.Tx) error {
			return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "cut off"}
		}
	}
	w.store.(*faulty).set(before, nil)
}

// forever makes a job's runs last until they are ended.
func (w *world) forever(job jobhost.Name) { w.takes(job, 1000*hour) }

func serveAll(ws []*world) (stop func()) {
	var stops []func()
	for _, w := range ws {
		stops = append(stops, w.serve())
	}
	return func() {
		var all sync.WaitGroup
		for _, s := range stops {
			all.Go(s)
		}
		all.Wait()
	}
}

func recovered(name jobhost.Name, schedule string) jobhost.JobDef {
	d := job(name, schedule)
	d.RequestsRecovery = true
	return d
}

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

// election is a Leader that a test steers.
type election struct {
	jobhost.Leader

	mu       sync.Mutex
	previous time.Time
	fail     error
}

type steeredLease struct {
	jobhost.Lease

	previous time.Time
}

func (l steeredLease) PreviousHeldUntil() time.Time { return l.previous }

func (e *election) Acquire(ctx context.Context, r jobhost.Name, holder string, ttl time.Duration) (jobhost.Lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return nil, e.fail
	}
	l, err := e.Leader.Acquire(ctx, r, holder, ttl)
	return steeredLease{l, e.previous}, err
}

func TestLeadership(t *testing.T) {
	held := &jobhost.Error{Code: jobhost.LeaseHeld, Op: "test", Msg: "held by n9"}

	eachStore(t, "S-165 a node that does not lead fires nothing scheduled from its private store", func(w *world) {
		w.cfg.Leader = &election{Leader: memstore.NewElection(), fail: held}
		local := job("local", "cron 0 * * * * *")
		local.RunOnEveryInstance = true
		w.define(job("scheduled", "cron 0 * * * * *"), local, jobhost.NewJob("asked", "p"), jobhost.NewJob("queued", "p"))
		stop := w.serve()
		if _, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "queued"}})); err != nil {
			w.Fatal(err)
		}
		is(w, "asked", (<-w.startManual("asked")).Value.State, jobhost.RunSucceeded)
		w.until(minute + second)
		is(w, "scheduled", len(w.runs("scheduled")), 0)
		is(w, "local", len(w.runs("local")), 1)
		is(w, "queued", len(w.runs("queued")), 1)
		x, err := w.eng().Explain(w.Context(), "scheduled")
		is(w, "error", err, nil)
		is(w, "answer", x.Triggers[0].Answer, "another node leads, and this store is private")
		stop()
	})

	eachStore(t, "S-167 what the leader before had to do is not made up", func(w *world) {
		l := &election{Leader: memstore.NewElection(), fail: held}
		w.cfg.Leader = l
		w.define(job("before", "cron 0 10 * * * *"), job("after", "cron 0 20 * * * *"))
		stop := w.serve()
		w.until(25 * minute)
		l.mu.Lock()
		l.fail, l.previous = nil, t0.Add(15*minute)
		l.mu.Unlock()
		w.until(26 * minute)
		is(w, "runs of before", len(w.runs("before")), 0)
		w.waits("before", 70*minute)
		isAt(w, "the make-up of after", w.only("after").ScheduledAt, 25*minute+second) // as soon as it leads
		stop()

		w.restart() // it led until now, and takes over from itself
		again := &election{Leader: memstore.NewElection(), previous: w.cfg.Now()}
		w.cfg.Leader = again
		w.until(71 * minute)
		again.previous = w.cfg.Now()
		w.put("before", func(t *jobhost.Trigger) { t.Due, t.Ready = t0.Add(26*minute), t0.Add(26*minute) })
		stop = w.serve()
		w.until(72 * minute)
		if n := len(w.runs("before")); n == 0 {
			w.Error("a firing of this node's own time was moved on")
		}
		stop()
	})

	eachStore(t, "S-172 a draining node gives the lease away at once and goes on with its runs", func(w *world) {
		shared := memstore.NewElection()
		w.cfg.Leader, w.cfg.DrainDelay = shared, 10*second
		w.define(jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 * * * * *"), jobhost.NewTrigger("b", "cron 0 * * * * *")))
		w.takes("j", 70*second)
		stop := w.serve()
		w.until(minute + second)
		is(w, "b", w.trigger("j", "b").State, jobhost.TriggerBlocked)
		over := make(chan struct{})
		w.aside.Go(func() { defer close(over); stop() })
		time.Sleep(1500 * time.Millisecond)
		is(w, "state", w.eng().State(), Draining)
		if _, err := shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute); err != nil {
			w.Errorf("the lease is not free: %v", err)
		}
		<-over
		is(w, "runs", len(w.runs("j")), 1)
		is(w, "b", w.trigger("j", "b").State, jobhost.TriggerWaiting)
	})

	eachStore(t, "S-174 the lease is released last", func(w *world) {
		shared := memstore.NewElection()
		w.cfg.Leader, w.cfg.ShutdownTimeout = shared, 5*minute
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", 2*minute)
		stop := w.serve()
		w.startManual("j")
		over := make(chan struct{})
		w.aside.Go(func() { defer close(over); stop() })
		time.Sleep(minute) // twice the time to live
		_, err := shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute)
		is(w, "code", jobhost.CodeOf(err), jobhost.LeaseHeld)
		<-over
		is(w, "state", w.only("j").State, jobhost.RunSucceeded)
		_, err = shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute)
		is(w, "error", err, nil)
	})

	eachStore(t, "FR-08 an election that is unreachable is believed for the time to live and no longer", func(w *world) {
		unreachable := &jobhost.Error{Code: jobhost.LeaseUnreachable, Op: "test", Msg: "gone"}
		l := &failingLease{}
		w.cfg.Leader = l
		stop := w.serve()
		w.until(5 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		l.set(unreachable)
		w.until(25 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		w.until(45 * second)
		is(w, "leads", w.eng().IsLeader(), false)
		l.set(nil)
		w.until(60 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		stop()
	})
}

// failingLease is an election whose lease can become unreachable.
type failingLease struct {
	mu    sync.Mutex
	err   error
	until time.Time
}

func (l *failingLease) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *failingLease) Acquire(_ context.Context, _ jobhost.Name, _ string, ttl time.Duration) (jobhost.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(ttl)
	return l, l.err
}
func (l *failingLease) Resource() jobhost.Name       { return "r" }
func (l *failingLease) Holder() string               { return "n1" }
func (l *failingLease) ExpiresAt() time.Time         { return l.until }
func (l *failingLease) PreviousHeldUntil() time.Time { return time.Time{} }
func (l *failingLease) Term() uint64                 { return 0 }
func (l *failingLease) Release(context.Context) error {
	return errors.New("released")
}

func (l *failingLease) Renew(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func TestLocalJobs(t *testing.T) {
	local := func(schedule string) jobhost.JobDef {
		d := job("j", schedule)
		d.RunOnEveryInstance = true
		return d
	}
	eachStore(t, "S-149 the retry of a local job goes with its process", func(w *world) {
		d := local("once 2026-01-05T01:00:00Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: minute}
		w.define(d)
		w.fails("j")
		stop := w.serve()
		w.until(hour + 61*second)
		is(w, "runs", len(w.runs("j")), 2)
		is(w, "kind", w.runs("j")[1].Kind, jobhost.KindRetry)
		is(w, "one-shots in the store", len(w.oneShots("j")), 0)
		stop()
		w.restart()
		stop = w.serve()
		w.until(2 * hour)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})
	eachStore(t, "S-169 a local firing that finds a run in progress is dropped", func(w *world) {
		w.define(local("cron 0 * * * * *"))
		w.takes("j", 90*second)
		stop := w.serve()
		w.until(2*minute + second)
		w.only("j")
		s := w.eng().Status(w.Context(), []jobhost.Name{"j"})[0].Value
		is(w, "state", s.Triggers[0].State, "Waiting")
		isAt(w, "next", s.NextRun, 3*minute)
		_, err := jobhost.One(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}}))
		is(w, "code", jobhost.CodeOf(err), jobhost.JobRunning)
		stop()
	})
	eachStore(t, "a local interval and an enqueued local run", func(w *world) {
		w.define(local("every 10s x3"))
		w.takes("j", second)
		stop := w.serve()
		id, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "j", At: t0.Add(45 * second)}}))
		is(w, "error", err, nil)
		w.until(2 * minute)
		rs := w.runs("j")
		is(w, "runs", len(rs), 4)
		is(w, "id", rs[3].ID, id)
		isAt(w, "third", rs[2].ScheduledAt, 32*second)
		is(w, "stored state", w.trigger("j").FiredCount, 0)
		stop()
	})
	eachStore(t, "downtime of a local job is not made up, a pause is seen", func(w *world) {
		w.define(local("cron 0 0 * * * *"))
		w.until(3*hour + 30*minute)
		w.restart()
		stop := w.serve()
		w.until(3*hour + 40*minute)
		is(w, "runs", len(w.runs("j")), 0)
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(4*hour + minute)
		is(w, "runs", len(w.runs("j")), 0)
		w.eng().Resume(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(5*hour + minute)
		is(w, "runs", len(w.runs("j")), 2)
		stop()
	})
	eachStore(t, "a job that becomes local is planned anew, and back", func(w *world) {
		w.define(job("j", "every 1h"))
		stop := w.serve()
		w.until(30 * minute)
		w.define(local("every 1h"))
		isAt(w, "next", w.eng().Status(w.Context(), nil)[0].Value.NextRun, 90*minute)
		w.until(100 * minute)
		is(w, "runs", len(w.runs("j")), 1)
		w.define(job("j", "every 1h"))
		w.waits("j", 160*minute)
		stop()
	})
}
