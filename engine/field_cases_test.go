package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/memstore"
)

// doomed is a store whose process dies with the commit that puts a run on record: the run is claimed and never started.
type doomed struct {
	jobhost.Store

	mu   sync.Mutex
	dead bool
}

func (s *doomed) die() error {
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "the process is gone"}
}

func (s *doomed) View(ctx context.Context, f func(jobhost.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return s.die()
	}
	return s.Store.View(ctx, f)
}

func (s *doomed) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return s.die()
	}
	if err := s.Store.Update(ctx, f); err != nil {
		return err
	}
	err := s.Store.View(ctx, func(tx jobhost.Tx) error {
		open, err := tx.OpenRuns("")
		s.dead = len(open) > 0
		return err
	})
	if s.dead {
		return s.die()
	}
	return err
}

// What people reported against schedulers: FIELD-REPORTS.
func TestFieldReports(t *testing.T) {
	eachStore(t, "S-175 FR-53 a run that was claimed and never started is no success", func(w *world) {
		kept := w.store
		w.store = &doomed{Store: kept}
		again := job("again", "once 2026-01-05T01:00:00Z")
		again.RequestsRecovery = true
		w.define(job("plain", "cron 0 * * * *"), job("ends", "once 2026-01-05T01:00:00Z"), again)
		w.until(hour)
		is(w, "code", jobhost.CodeOf(w.eng().PollOnce(w.Context())), jobhost.StoreUnreachable)
		is(w, "calls", len(w.calls), 0)

		w.store = kept
		w.restart()
		stop := w.serve()
		w.until(hour + minute)
		for _, name := range []jobhost.Name{"plain", "ends"} {
			r := w.only(name)
			is(w, "state of "+name, r.State, jobhost.RunLost)
			isAt(w, "scheduledAt", r.ScheduledAt, hour)
		}
		w.waits("plain", 2*hour)
		is(w, "state", w.trigger("ends").State, jobhost.TriggerComplete)
		rs := w.runs("again")
		is(w, "runs", len(rs), 2)
		lost, recovery := rs[0], rs[1]
		if recovery.State == jobhost.RunLost { // they started at the same instant
			lost, recovery = recovery, lost
		}
		is(w, "first", lost.State, jobhost.RunLost)
		is(w, "second", recovery.State, jobhost.RunSucceeded)
		is(w, "recoveryOf", recovery.RecoveryOf, lost.ID)
		is(w, "calls", len(w.calls), 1)
		stop()
	})

	eachStore(t, "FR-17 after an hour down run_all makes up one firing a poll interval, and all else is on time", func(w *world) {
		const floods = 10
		defs := []jobhost.JobDef{job("steady", "cron */10 * * * * *"), jobhost.NewJob("asked", "p")}
		for i := range floods {
			d := job(fmt.Sprintf("flood%d", i), "cron * * * * * *")
			d.Triggers[0].Misfire = jobhost.MisfireRunAll
			d.AllowConcurrent = true
			w.takes(d.Name, 1500*time.Millisecond)
			defs = append(defs, d)
		}
		w.define(defs...)
		stop := w.serve()
		w.until(10*second + 300*time.Millisecond)
		stop()
		before := len(w.runs("flood0"))
		w.restart()
		w.until(hour + 10*second + 300*time.Millisecond)
		began := w.cfg.Now()
		stop = w.serve()
		for range 60 {
			time.Sleep(second)
			synctest.Wait()
			if n := w.eng().RunningCount(); n > 2*floods+1 {
				w.Fatalf("%d runs are in progress at once", n)
			}
		}
		is(w, "state of a request", (<-w.startManual("asked")).Value.State, jobhost.RunSucceeded)
		is(w, "time that it took", w.cfg.Now().Sub(began), minute)
		for i := range floods {
			rs := w.runs(fmt.Sprintf("flood%d", i))[before:]
			if n := len(rs); n < 60 || n > 61 {
				w.Errorf("%d firings were made up in a minute, want one a second", n)
			}
			for j, r := range rs {
				isAt(w, "scheduledAt", r.ScheduledAt, 11*second+time.Duration(j)*second)
			}
		}
		for _, r := range w.runs("steady") {
			if late := r.StartedAt.Sub(r.ScheduledAt); late != 0 {
				w.Errorf("a firing of the other job is %v late", late)
			}
		}
		stop()
		is(w, "time of the stop", w.cfg.Now().Sub(began) < minute+2*second, true)
	})

	t.Run("bolt/FR-54 a full store stops the claims, answers reads, and goes on when there is space", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store, err := boltstore.Open(filepath.Join(t.TempDir(), "jobhost.db"), boltstore.Config{MaxSize: 8 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			w := newWorld(t, store)
			w.cfg.Log = nil
			w.cfg.HistoryRetention = hour
			w.define(job("fill", "cron * * * * * *"), job("other", "cron 0 * * * * *"))
			output := []byte(strings.Repeat("x", 64<<10))
			w.does("fill", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Output: output} })
			stop := w.serve()
			w.until(10*minute + 500*time.Millisecond)
			is(w, "what is wrong", jobhost.CodeOf(w.eng().Problem()), jobhost.StoreFull)
			n := len(w.runs("fill"))
			w.until(20*minute + 500*time.Millisecond)
			is(w, "runs while it is full", len(w.runs("fill")), n)
			is(w, "runs in progress", w.eng().RunningCount(), 0)
			for _, r := range w.runs("fill") {
				is(w, "state", r.State, jobhost.RunSucceeded)
			}
			s, err := jobhost.One(w.eng().Status(w.Context(), []jobhost.Name{"fill"}))
			is(w, "error", err, nil)
			if !strings.Contains(s.Triggers[0].Why, string(jobhost.StoreFull)) {
				w.Errorf("the status says %q", s.Triggers[0].Why)
			}
			out, err := w.eng().Output(w.Context(), w.runs("fill")[0].ID)
			is(w, "bytes of an output", len(out), len(output))
			is(w, "error", err, nil)

			w.does("fill", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{} })
			w.until(70*minute + 500*time.Millisecond) // the oldest history is an hour old
			is(w, "what is wrong", w.eng().Problem(), nil)
			late := w.runs("fill")
			if last := late[len(late)-1]; last.StartedAt.Before(t0.Add(hour)) {
				w.Errorf("the last run is of %v", last.StartedAt)
			}
			stop()
		})
	})

	eachStore(t, "S-115 S-174 the lease is released with a context of its own", func(w *world) {
		watched := &watchedElection{Leader: memstore.NewElection()}
		w.cfg.Leader = watched
		stop := w.serve()
		is(w, "leads", w.eng().IsLeader(), true)
		stop()
		is(w, "releases", fmt.Sprint(watched.released), "[<nil>]")
	})
}

// watchedElection notes with which context its leases are released.
type watchedElection struct {
	jobhost.Leader

	released []error
}

type watchedLease struct {
	jobhost.Lease

	of *watchedElection
}

func (e *watchedElection) Acquire(ctx context.Context, r jobhost.Name, holder string, ttl time.Duration) (jobhost.Lease, error) {
	l, err := e.Leader.Acquire(ctx, r, holder, ttl)
	return watchedLease{l, e}, err
}

func (l watchedLease) Release(ctx context.Context) error {
	l.of.released = append(l.of.released, ctx.Err())
	return l.Lease.Release(ctx)
}
