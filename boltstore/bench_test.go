//go:build unix

package boltstore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

// BenchmarkFiring claims due triggers and ends their runs as an engine does: each Update ends the runs that the last
// one started and starts the next. An operation is one firing.
//
// In "together" all triggers are due at the same instant of each second, so that a batch is of neighbours; in "spread"
// each has its own.
func BenchmarkFiring(b *testing.B) {
	for _, jobs := range []int{1000, 20000} {
		for _, spread := range []bool{false, true} {
			for _, batch := range []int{1, 1000} {
				name := fmt.Sprintf("jobs=%d/%s/batch=%d", jobs, map[bool]string{false: "together", true: "spread"}[spread], batch)
				b.Run(name+"/bolt", func(b *testing.B) {
					s, err := Open(filepath.Join(b.TempDir(), "jobhost.db"), Config{})
					if err != nil {
						b.Fatal(err)
					}
					defer s.Close()
					fire(b, s, jobs, batch, spread)
					st := s.db.Stats()
					b.ReportMetric(float64(st.TxStats.GetPageAlloc())/float64(b.N), "written-B/op")
				})
				b.Run(name+"/mem", func(b *testing.B) { fire(b, memstore.New(memstore.Config{}), jobs, batch, spread) })
			}
		}
	}
}

func fire(b *testing.B, s jobhost.Store, jobs, batch int, spread bool) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	update := func(f func(tx jobhost.Tx) error) {
		if err := s.Update(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
	for first := 0; first < jobs; first += 1000 {
		update(func(tx jobhost.Tx) error {
			for i := first; i < min(jobs, first+1000); i++ {
				name := fmt.Sprintf("some-job-%06d", i)
				due := t0
				if spread {
					due = due.Add(time.Duration(rnd.IntN(1e6)) * time.Microsecond)
				}
				t := jobhost.Trigger{Key: jobhost.TriggerKey{Job: name, Trigger: "each-second"}, State: jobhost.TriggerWaiting, Due: due, Ready: due}
				t.TriggerDef = jobhost.NewTrigger("each-second", "* * * * * *")
				if err := tx.PutTriggers(t); err != nil {
					return err
				}
				if err := tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob(name, "some-plugin")}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	b.ResetTimer()
	b.ReportAllocs()
	before := cpu()
	var running []jobhost.Run
	now := t0
	for fired := 0; fired < b.N || len(running) > 0; {
		n := min(batch, b.N-fired)
		now = now.Add(time.Duration(batch) * time.Second / 20000)
		var ids [][10]byte
		for range n {
			var id [10]byte
			for i := range id {
				id[i] = byte(rnd.Uint32())
			}
			ids = append(ids, id)
		}
		var started []jobhost.Run
		update(func(tx jobhost.Tx) error {
			started = started[:0]
			if err := finish(tx, running, now); err != nil {
				return err
			}
			var err error
			started, err = claim(tx, ids, now)
			return err
		})
		running = started
		fired += n
		if err := s.View(b.Context(), func(tx jobhost.Tx) error {
			_, err := tx.NextReady(jobhost.DueQuery{})
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
}

func finish(tx jobhost.Tx, running []jobhost.Run, now time.Time) error {
	var ids []jobhost.RunID
	var names []jobhost.Name
	for _, r := range running {
		ids, names = append(ids, r.ID), append(names, r.Job)
	}
	if _, err := tx.Jobs(names...); err != nil {
		return err
	}
	rs, err := tx.Runs(ids...)
	if err != nil || len(rs) != len(ids) {
		return fmt.Errorf("%d runs of %d, %w", len(rs), len(ids), err)
	}
	for i := range rs {
		rs[i].State, rs[i].EndedAt = jobhost.RunSucceeded, now
		rs[i].Digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
		rs[i].Fuel, rs[i].PeakMemory = 123456, 1<<20
	}
	return tx.PutRuns(rs...)
}

func claim(tx jobhost.Tx, ids [][10]byte, now time.Time) ([]jobhost.Run, error) {
	ts, err := tx.Due(jobhost.DueQuery{Now: now.Add(1000 * time.Hour), Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	var names []jobhost.Name
	var rs []jobhost.Run
	for i := range ts {
		t := &ts[i]
		names = append(names, t.Key.Job)
		rs = append(rs, jobhost.Run{
			ID: jobhost.NewRunID(now, ids[i]), Job: t.Key.Job, Trigger: t.Key.Trigger, Kind: jobhost.KindSchedule, Attempt: 1,
			ScheduledAt: t.Due, Priority: t.Priority, State: jobhost.RunRunning, Node: "host-1-0123456789", StartedAt: now,
		})
		t.LastFired = t.Due
		t.Due = t.Due.Add(time.Second)
		t.Ready = t.Due
		t.FiredCount++
	}
	if _, err := tx.Jobs(names...); err != nil {
		return nil, err
	}
	if err := tx.PutTriggers(ts...); err != nil {
		return nil, err
	}
	return rs, tx.PutRuns(rs...)
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
