package jobtest

import (
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

var jobCases = []storeCase{
	{"a job comes back as it was put", func(s *suite) {
		full, small := newJob("full"), jobhost.Job{JobDef: jobhost.NewJob("small", "p"), Source: jobhost.SourceFile}
		s.update(func(tx jobhost.Tx) error { return tx.PutJobs(full, small) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Jobs", []jobhost.JobState{{Job: full}, {Job: small}})(tx.Jobs("full", "small"))
			return nil
		})
	}},
	{"a job is kept without its triggers", func(s *suite) {
		j := newJob("a")
		j.Triggers = []jobhost.TriggerDef{jobhost.NewTrigger("t", "every 1h")}
		s.update(func(tx jobhost.Tx) error { return tx.PutJobs(j) })
		j.Triggers = nil
		s.view(func(tx jobhost.Tx) error {
			same(s, "Jobs", []jobhost.JobState{{Job: j}})(tx.Jobs("a"))
			same(s, "TriggersOf", []jobhost.Trigger(nil))(tx.TriggersOf("a"))
			return nil
		})
	}},
	{"a job put again is replaced", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return tx.PutJobs(newJob("a")) })
		j := jobhost.Job{JobDef: jobhost.NewJob("a", "other"), Source: jobhost.SourceRuntime}
		s.update(func(tx jobhost.Tx) error { return tx.PutJobs(j) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Jobs", []jobhost.JobState{{Job: j}})(tx.Jobs("a"))
			return nil
		})
	}},
	{"jobs are read by name order, each once, and what is not there is left out", func(s *suite) {
		a, b := newJob("a"), newJob("b")
		s.update(func(tx jobhost.Tx) error { return tx.PutJobs(b, a) })
		s.update(func(tx jobhost.Tx) error {
			same(s, "Jobs", []jobhost.JobState{{Job: a}, {Job: b}})(tx.Jobs("c", "b", "a", "b"))
			same(s, "Jobs of none", []jobhost.JobState(nil))(tx.Jobs())
			return nil
		})
	}},
	{"job names come in pages, in byte order", func(s *suite) {
		all := []jobhost.Name{"a", "a-b", "a.b", "a0", "a_b", "aa", "b", strings.Repeat("c", jobhost.MaxName)}
		s.update(func(tx jobhost.Tx) error {
			for i := range all {
				if err := tx.PutJobs(newJob(all[len(all)-1-i])); err != nil {
					return err
				}
			}
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "all", all)(tx.JobNames("", 100))
			same(s, "the first", all[:3])(tx.JobNames("", 3))
			same(s, "the next", all[3:6])(tx.JobNames(all[2], 3))
			same(s, "after one that is not there", all[2:4])(tx.JobNames("a.", 2))
			same(s, "after the last", []jobhost.Name(nil))(tx.JobNames(all[len(all)-1], 3))
			same(s, "none", []jobhost.Name(nil))(tx.JobNames("", 0))
			return nil
		})
	}},
	{"a job says which runs are open and whether triggers are blocked", func(s *suite) {
		open, other, over := newRun(1, "a", t0), newRun(2, "a.b", t0), ended(newRun(3, "a", t0), t0)
		second := newRun(4, "a", t0.Add(time.Second))
		blocked := newTrigger("a", "t", 5, t0)
		blocked.State, blocked.Ready = jobhost.TriggerBlocked, time.Time{}
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutJobs(newJob("a"), newJob("a.b")); err != nil {
				return err
			}
			if err := tx.PutTriggers(blocked, newTrigger("a.b", "t", 5, t0)); err != nil {
				return err
			}
			return tx.PutRuns(open, other, over, second)
		})
		want := []jobhost.JobState{
			{Job: newJob("a"), Open: []jobhost.RunID{open.ID, second.ID}, Blocked: true},
			{Job: newJob("a.b"), Open: []jobhost.RunID{other.ID}},
		}
		s.view(func(tx jobhost.Tx) error {
			same(s, "Jobs", want)(jobsWithSortedRuns(tx, "a", "a.b"))
			return nil
		})
		blocked.State, blocked.Ready = jobhost.TriggerWaiting, blocked.Due
		want[0].Open, want[0].Blocked = []jobhost.RunID{second.ID}, false
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutRuns(ended(open, t0.Add(time.Second))); err != nil {
				return err
			}
			if err := tx.PutTriggers(blocked); err != nil {
				return err
			}
			same(s, "Jobs in the same transaction", want)(jobsWithSortedRuns(tx, "a", "a.b"))
			return nil
		})
	}},
	{"a deleted job takes its triggers, one-shots, values and idempotency keys along, and leaves its runs", func(s *suite) {
		r, open := ended(newRun(1, "a", t0), t0), newRun(2, "a", t0)
		oneShot := fullTrigger("a", "manual-x", t0)
		s.update(func(tx jobhost.Tx) error {
			for _, job := range []jobhost.Name{"a", "a.b", "a-b"} {
				if err := fillJob(tx, job); err != nil {
					return err
				}
			}
			if err := tx.PutTriggers(oneShot); err != nil {
				return err
			}
			return tx.PutRuns(r, open)
		})
		s.update(func(tx jobhost.Tx) error { return tx.DeleteJobs("a", "not-there") })
		s.view(func(tx jobhost.Tx) error {
			same(s, "JobNames", []jobhost.Name{"a-b", "a.b"})(tx.JobNames("", 9))
			same(s, "TriggersOf", []string{"a-b/t", "a.b/t"})(keys(tx.TriggersOf("a", "a-b", "a.b")))
			same(s, "Due", []string{"a-b/t", "a.b/t"})(keys(tx.Due(jobhost.DueQuery{Now: t0, Limit: 9})))
			same(s, "Pending", []jobhost.Trigger(nil))(tx.Pending(oneShot.OneShot.RunID))
			same(s, "Blocked", []jobhost.Trigger(nil))(tx.Blocked("a", 9))
			same(s, "its runs", []jobhost.Run{r, open})(tx.Runs(r.ID, open.ID))
			for job, want := range map[jobhost.Name]bool{"a": false, "a.b": true, "a-b": true} {
				if _, ok, err := tx.Value(job, "k"); ok != want || err != nil {
					s.Errorf("Value of %s: %v, %v; want %v", job, ok, err, want)
				}
				if _, ok, err := tx.Idempotent(job, "k", t0); ok != want || err != nil {
					s.Errorf("Idempotent of %s: %v, %v; want %v", job, ok, err, want)
				}
			}
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			same(s, "expired keys", 2)(tx.PruneIdempotent(t0.Add(time.Hour), 9))
			return nil
		})
	}},
}

func fillJob(tx jobhost.Tx, job jobhost.Name) error {
	if err := tx.PutJobs(newJob(job)); err != nil {
		return err
	}
	if err := tx.PutTriggers(newTrigger(job, "t", 5, t0)); err != nil {
		return err
	}
	if err := tx.PutValue(job, "k", []byte("v")); err != nil {
		return err
	}
	return tx.PutIdempotent(job, "k", id(7, t0), t0.Add(time.Hour))
}

func jobsWithSortedRuns(tx jobhost.Tx, names ...jobhost.Name) ([]jobhost.JobState, error) {
	js, err := tx.Jobs(names...)
	for i := range js {
		js[i].Open, err = sorted(js[i].Open, err, func(id jobhost.RunID) jobhost.RunID { return id })
	}
	return js, err
}
