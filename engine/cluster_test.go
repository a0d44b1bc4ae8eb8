package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// What several engines on one store do at the same moment, and what is left of one that is cut off.
func TestSharedStore(t *testing.T) {
	onCluster(t, "S-80 no trigger is claimed twice by 32 callers of 8 engines", 8, func(ws []*world) {
		var defs []jobhost.JobDef
		for i := range 100 {
			d := job(fmt.Sprintf("j%d", i), "once 2026-01-05T00:00:10Z")
			d.AllowConcurrent = i%2 == 0
			defs = append(defs, d)
		}
		ws[0].define(defs...)
		ws[0].until(10 * second)
		var all sync.WaitGroup
		for _, w := range ws {
			w.eng() // it is made before it is shared
			for range 4 {
				all.Go(func() { w.poll() })
			}
		}
		all.Wait()
		nodes := map[string]bool{}
		for _, d := range defs {
			nodes[ws[0].only(d.Name).Node] = true
		}
		if len(nodes) < 2 {
			ws[0].Errorf("all runs are on %v, which shows nothing", nodes)
		}
	})

	onCluster(t, "S-84 of 32 exclusive starts on 4 engines one is granted", 4, func(ws []*world) {
		ws[0].define(jobhost.NewJob("j", "p"))
		stop := serveAll(ws)
		var all sync.WaitGroup
		codes := make(chan jobhost.Code, 32)
		for _, w := range ws {
			w.takes("j", minute)
			for range 8 {
				all.Go(func() {
					codes <- jobhost.CodeOf(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}})[0].Err)
				})
			}
		}
		all.Wait()
		close(codes)
		n := map[jobhost.Code]int{}
		for c := range codes {
			n[c]++
		}
		is(ws[0], "granted", n[""], 1)
		is(ws[0], "refused", n[jobhost.JobRunning], 31)
		ws[0].only("j")
		stop()
	})

	onCluster(t, "S-95 the Running interval of a lost node waits again, from when that was noticed", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stopA := a.serve()
		a.define(job("i", "every 10m"))
		a.forever("i")
		a.until(10*minute + second)
		is(a, "state", a.trigger("i").State, jobhost.TriggerRunning)
		stopB := b.serve()
		b.until(15 * minute)
		a.cutOff(true)
		b.until(20 * minute)
		lost := b.only("i")
		is(b, "state of the run", lost.State, jobhost.RunLost)
		x := b.trigger("i")
		is(b, "state", x.State, jobhost.TriggerWaiting)
		if noticed := x.Due.Add(-10 * minute); noticed.Before(t0.Add(16*minute)) || noticed.After(t0.Add(18*minute)) {
			b.Errorf("the due is %v, want the time of marking and ten minutes", x.Due)
		}
		b.until(x.Due.Sub(t0) + second)
		rs := b.runs("i")
		is(b, "runs", len(rs), 2)
		is(b, "node", rs[1].Node, "n2")
		a.cutOff(false)
		stopA()
		stopB()
	})

	onCluster(t, "S-189 an exclusive job whose end is not on record yet starts nowhere else", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		a.define(jobhost.NewJob("j", "p"))
		a.takes("j", 10*second)
		done := a.startManual("j")
		a.until(second)
		a.cutOff(true)
		a.until(20 * second)
		is(a, "runs in progress", a.eng().RunningCount(), 0)
		ask := func() jobhost.Code {
			return jobhost.CodeOf(b.eng().Trigger(b.Context(), []jobhost.TriggerRequest{{Job: "j"}})[0].Err)
		}
		is(b, "while its end is not on record", ask(), jobhost.JobRunning)
		a.cutOff(false)
		a.until(25 * second)
		r := (<-done).Value
		is(a, "state", r.State, jobhost.RunSucceeded)
		isAt(a, "ended", r.EndedAt, 10*second)
		is(b, "after it", ask(), "")
		stop()
	})
}

// What is not for a claim, and what a process that died leaves to the next.
func TestClaims(t *testing.T) {
	eachStore(t, "S-81 a local job's triggers are not claimed from the store", func(w *world) {
		d := job("local", "cron 0 * * * * *")
		d.RunOnEveryInstance = true
		w.define(d, job("j", "cron 0 * * * * *"))
		w.until(minute)
		w.view(func(tx jobhost.Tx) error {
			due, err := tx.Due(jobhost.DueQuery{Now: w.eng().now(), Limit: 10})
			is(w, "due in the store", len(due), 1)
			return err
		})
		stop := w.serve()
		w.until(10*minute + second)
		x := w.trigger("local")
		is(w, "stored count", x.FiredCount, 0)
		is(w, "stored ready", x.Ready, time.Time{})
		slots := map[time.Time]int{}
		for _, r := range w.runs("local") {
			slots[r.ScheduledAt]++
			is(w, "times fired", slots[r.ScheduledAt], 1)
		}
		is(w, "slots", len(slots), 10)
		stop()
	})

	eachStore(t, "FR-11 after a crash in a run the job is free, and its next firing is on time", func(w *world) {
		w.define(job("j", "cron 0 * * * *"), job("i", "every 1h"))
		w.forever("j")
		w.forever("i")
		w.until(hour)
		w.pollAside()
		w.until(2 * hour)
		w.pollAside()
		is(w, "state", w.trigger("j").State, jobhost.TriggerBlocked)
		is(w, "state", w.trigger("i").State, jobhost.TriggerRunning)
		w.restart()
		w.until(2*hour + 30*minute)
		w.takes("j", second)
		w.takes("i", second)
		stop := w.serve()
		w.until(2*hour + 31*minute)
		is(w, "the run that was in progress", w.runs("j")[0].State, jobhost.RunLost)
		isAt(w, "the make-up of what was Blocked", w.runs("j")[1].ScheduledAt, 2*hour+30*minute)
		w.until(4*hour + minute)
		rs := w.runs("j")
		is(w, "runs", len(rs), 4)
		for n, r := range rs[2:] {
			at := time.Duration(n+3) * hour
			isAt(w, "scheduledAt", r.ScheduledAt, at)
			isAt(w, "started", r.StartedAt, at)
			is(w, "state", r.State, jobhost.RunSucceeded)
		}
		is(w, "runs of the interval", len(w.runs("i")), 2)
		isAt(w, "started", w.runs("i")[1].StartedAt, 3*hour+30*minute)
		stop()
	})
}
