package jobtest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
)

var reopenCases = []storeCase{
	{"S-100 what was written is there when the store is opened again", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return fillAll(tx, "before") })
		s.update(func(tx jobhost.Tx) error { return errors.Join(fillAll(tx, "after"), deleteAll(tx, "before")) })
		want := everything(s)
		for range 2 {
			s.store = s.open.Reopen(s.T, s.store)
			if d := diff(everything(s), want); d != "" {
				s.Errorf("-got +want\n%s", d)
			}
		}
		s.update(func(tx jobhost.Tx) error {
			return errors.Join(tx.AppendLog(id(1, t0), []byte("more")), fillAll(tx, "later"))
		})
	}},
	{"a closed store is unreachable", func(s *suite) {
		old := s.st()
		s.store = s.open.Reopen(s.T, old)
		f := func(jobhost.Tx) error { return nil }
		if err := old.Update(s.Context(), f); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
			s.Errorf("Update: %v, want %s", err, jobhost.StoreUnreachable)
		}
		if err := old.View(s.Context(), f); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
			s.Errorf("View: %v, want %s", err, jobhost.StoreUnreachable)
		}
	}},
}

var fullCases = []storeCase{
	{"S-105 a full store says so, keeps nothing half-written, ends runs, and fits again after pruning", func(s *suite) {
		s.store = s.open.Small(s.T)
		s.update(func(tx jobhost.Tx) error {
			return errors.Join(tx.PutJobs(newJob("a")), tx.PutTriggers(newTrigger("a", "t", 5, t0)))
		})
		data := append(append([]byte(`"`), bytes.Repeat([]byte("x"), 10<<10)...), '"')
		claim := func(n int) error {
			return s.store.Update(s.Context(), func(tx jobhost.Tx) error {
				t := newTrigger("a", "t", 5, t0.Add(time.Duration(n)*time.Second))
				t.FiredCount = n
				r := newRun(n, "a", t.Due)
				r.Data = data
				return errors.Join(tx.PutTriggers(t), tx.PutRuns(r))
			})
		}
		finish := func(n int) {
			s.Helper()
			s.update(func(tx jobhost.Tx) error {
				r := newRun(n, "a", t0.Add(time.Duration(n)*time.Second))
				r.Data = data
				return errors.Join(tx.PutRuns(ended(r, r.StartedAt)), tx.AppendLog(r.ID, []byte("log")))
			})
		}
		const open, most = 5, 64 << 20 / (10 << 10)
		n := 1
		for ; ; n++ {
			err := claim(n)
			if code := jobhost.CodeOf(err); err != nil && code != jobhost.StoreFull {
				s.Fatalf("claim %d: %v, want %s", n, err, jobhost.StoreFull)
			}
			if err != nil {
				break
			}
			if n == most {
				s.Fatalf("the store took %d runs", n)
			}
			if n > open {
				finish(n)
			}
		}
		check := func(what string, n int) {
			s.Helper()
			s.view(func(tx jobhost.Tx) error {
				ts, err := tx.Triggers(jobhost.TriggerKey{Job: "a", Trigger: "t"})
				if err != nil || len(ts) != 1 || ts[0].FiredCount != n {
					s.Errorf("%s: triggers %+v, %v; want the firing %d", what, ts, err, n)
				}
				newest := id(n+1, t0.Add(time.Duration(n+1)*time.Second))
				same(s, what+": the refused run", []jobhost.Run(nil))(tx.Runs(newest))
				same(s, what+": next", ts[0].Ready)(tx.NextReady(jobhost.DueQuery{}))
				return nil
			})
		}
		check("full", n-1)
		for range 3 { // it stays full, and refusing costs no room
			if err := claim(n); jobhost.CodeOf(err) != jobhost.StoreFull {
				s.Errorf("claim while full: %v, want %s", err, jobhost.StoreFull)
			}
		}
		for i := 1; i <= open; i++ {
			finish(i)
		}
		check("full, all runs ended", n-1)
		for pruned := 0; pruned < n/2; {
			s.update(func(tx jobhost.Tx) error {
				got, err := tx.PruneRuns(t0.Add(1000*time.Hour), 20)
				if got == 0 && err == nil {
					err = fmt.Errorf("pruned %d, want more", pruned)
				}
				pruned += got
				return err
			})
		}
		for i := range n / 4 {
			if err := claim(n + i); err != nil {
				s.Fatalf("claim %d after pruning %d of %d runs: %v", i, n/2, n, err)
			}
			finish(n + i)
		}
	}},
}
