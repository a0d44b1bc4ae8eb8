package jobtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jobhost/jobhost"
)

var triggerCases = []storeCase{
	{"a trigger comes back as it was put", func(s *suite) {
		full, small := fullTrigger("a", "full", t0), jobhost.Trigger{Key: jobhost.TriggerKey{Job: "a", Trigger: "small"}, State: jobhost.TriggerComplete}
		small.Name, small.Schedule = "small", "once at 2020-01-01T00:00:00Z"
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(full, small) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Triggers", []jobhost.Trigger{small, full})(tx.Triggers(small.Key, full.Key))
			return nil
		})
	}},
	{"triggers are read in the order asked for, and what is not there is left out", func(s *suite) {
		a, b := newTrigger("b", "a", 5, t0), newTrigger("a", "b", 5, t0)
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(a, b) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Triggers", []jobhost.Trigger{a, b})(tx.Triggers(a.Key, jobhost.TriggerKey{Job: "b", Trigger: "b"}, b.Key))
			same(s, "Triggers of none", []jobhost.Trigger(nil))(tx.Triggers())
			return nil
		})
	}},
	{"triggers of jobs come by job and trigger name", func(s *suite) {
		s.update(func(tx jobhost.Tx) error {
			for _, job := range []jobhost.Name{"a.b", "b", "a", "a-b", "ab"} {
				for _, t := range []jobhost.Name{"t.u", "t", "manual-1", "t-u"} {
					if err := tx.PutTriggers(newTrigger(job, t, 5, t0)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "TriggersOf a", []string{"a/manual-1", "a/t", "a/t-u", "a/t.u"})(keys(tx.TriggersOf("a")))
			same(s, "TriggersOf two", []string{"a-b/manual-1", "a-b/t", "a-b/t-u", "a-b/t.u", "b/manual-1", "b/t", "b/t-u", "b/t.u"})(
				keys(tx.TriggersOf("b", "c", "a-b", "b")))
			same(s, "TriggersOf none", []jobhost.Trigger(nil))(tx.TriggersOf())
			return nil
		})
	}},
	{"blocked triggers come by priority, due and name", func(s *suite) {
		put := func(job, name jobhost.Name, p int32, due time.Time) jobhost.Trigger {
			t := newTrigger(job, name, p, due)
			t.State, t.Ready = jobhost.TriggerBlocked, time.Time{}
			return t
		}
		want := []string{"a/z", "a/y", "a/b", "a/b.c", "a/never", "a/x"}
		s.update(func(tx jobhost.Tx) error {
			return tx.PutTriggers(put("a", "b.c", 5, t0), put("a", "x", -9, t0.Add(-time.Hour)), put("a", "b", 5, t0),
				put("a", "y", 5, t0.Add(-time.Microsecond)), put("a", "z", 6, t0.Add(time.Hour)), put("a.b", "o", 9, t0),
				put("a", "never", 0, time.Time{}), newTrigger("a", "waiting", 9, t0))
		})
		s.view(func(tx jobhost.Tx) error {
			for n := 1; n <= len(want)+1; n++ {
				same(s, fmt.Sprintf("Blocked, limit %d", n), want[:min(n, len(want))])(keys(tx.Blocked("a", n)))
			}
			same(s, "Blocked of another", []string{"a.b/o"})(keys(tx.Blocked("a.b", 9)))
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			freed := newTrigger("a", "y", 5, t0)
			if err := tx.PutTriggers(freed); err != nil {
				return err
			}
			return tx.DeleteTriggers(jobhost.TriggerKey{Job: "a", Trigger: "b"})
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "Blocked later", []string{"a/z", "a/b.c", "a/never", "a/x"})(keys(tx.Blocked("a", 9)))
			return nil
		})
	}},
	{"a deleted trigger is nowhere", func(s *suite) {
		t := fullTrigger("a", "manual-1", t0)
		other := newTrigger("a", "manual-1.b", 5, t0)
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(t, other) })
		s.update(func(tx jobhost.Tx) error {
			return tx.DeleteTriggers(t.Key, t.Key, jobhost.TriggerKey{Job: "a", Trigger: "not-there"})
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "TriggersOf", []jobhost.Trigger{other})(tx.TriggersOf("a"))
			same(s, "Triggers", []jobhost.Trigger(nil))(tx.Triggers(t.Key))
			same(s, "Due", []jobhost.Trigger{other})(tx.Due(due(t0.Add(time.Hour), 9)))
			same(s, "Blocked", []jobhost.Trigger(nil))(tx.Blocked("a", 9))
			same(s, "Pending", []jobhost.Trigger(nil))(tx.Pending(t.OneShot.RunID))
			return nil
		})
	}},
	{"the ids of pending runs are listed in order, in pages, of a job or all", func(s *suite) {
		var all []jobhost.RunID
		of := map[jobhost.Name][]jobhost.RunID{}
		for i := range 12 {
			t := newTrigger([]jobhost.Name{"a", "a.b", "b"}[i*7%3], "manual-"+strconv.Itoa(12-i), 5, t0)
			t.OneShot = &jobhost.OneShot{Kind: jobhost.KindManual, RunID: id(i, t0.Add(time.Duration(i/3)*time.Second)), Attempt: 1}
			if i%4 == 3 {
				t.OneShot.Kind = jobhost.KindRetry
			} else {
				all = append(all, t.OneShot.RunID)
				of[t.Key.Job] = append(of[t.Key.Job], t.OneShot.RunID)
			}
			s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(t) })
		}
		of[""] = all
		for _, job := range []jobhost.Name{"", "a", "a.b", "b", "none"} {
			s.view(func(tx jobhost.Tx) error {
				same(s, "all of "+job, of[job])(tx.PendingIDs(job, "", 99))
				same(s, "none of "+job, []jobhost.RunID(nil))(tx.PendingIDs(job, "", 0))
				var got []jobhost.RunID
				for after := jobhost.RunID(""); ; after = got[len(got)-1] {
					page, err := tx.PendingIDs(job, after, 2)
					if err != nil || len(page) == 0 {
						same(s, "in pages, of "+job, of[job])(got, err)
						return nil
					}
					got = append(got, page...)
				}
			})
		}
		s.view(func(tx jobhost.Tx) error {
			same(s, "after the beginning of an id", all[5:])(tx.PendingIDs("", all[5][:21], 99))
			return nil
		})
	}},
	{"pending lists manual one-shots by the ids of their runs, in any state", func(s *suite) {
		one := func(name jobhost.Name, kind jobhost.RunKind, n int, state jobhost.TriggerState) jobhost.Trigger {
			t := newTrigger("a", name, 5, t0)
			t.State, t.OneShot = state, &jobhost.OneShot{Kind: kind, RunID: id(n, t0), Attempt: 1}
			return t
		}
		waiting := one("manual-1", jobhost.KindManual, 1, jobhost.TriggerWaiting)
		blocked := one("manual-2", jobhost.KindManual, 2, jobhost.TriggerBlocked)
		blocked.Ready = time.Time{}
		retry := one("retry-3", jobhost.KindRetry, 3, jobhost.TriggerWaiting)
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(waiting, blocked, retry) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Pending", []jobhost.Trigger{blocked, waiting})(tx.Pending(id(2, t0), id(3, t0), id(4, t0), id(1, t0)))
			same(s, "Pending of none", []jobhost.Trigger(nil))(tx.Pending())
			return nil
		})
		s.update(func(tx jobhost.Tx) error { return tx.DeleteTriggers(waiting.Key) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Pending after a start", []jobhost.Trigger{blocked})(tx.Pending(id(1, t0), id(2, t0)))
			return nil
		})
	}},
	{"data comes back as equal JSON, and empty data as empty", func(s *suite) {
		for i, data := range []json.RawMessage{
			nil,
			{},
			json.RawMessage(`null`), json.RawMessage(`{}`), json.RawMessage(`{"a":null,"b":[]}`),
			json.RawMessage(` { "big" : 12345678901234567890.5e10, "s" : "\u0000\ud83d\ude00" } `),
		} {
			t := newTrigger("a", fmt.Sprint("t", i), 5, t0)
			t.Data, t.OneShot = data, &jobhost.OneShot{Kind: jobhost.KindRetry, Data: data}
			j, r := newJob("a"), newRun(i, "a", t0)
			j.Data, r.Data = data, data
			s.update(func(tx jobhost.Tx) error {
				if err := tx.PutJobs(j); err != nil {
					return err
				}
				if err := tx.PutTriggers(t); err != nil {
					return err
				}
				return tx.PutRuns(r)
			})
			s.view(func(tx jobhost.Tx) error {
				same(s, "Triggers", []jobhost.Trigger{t})(tx.Triggers(t.Key))
				same(s, "Runs", []jobhost.Run{r})(tx.Runs(r.ID))
				js, err := tx.Jobs("a")
				if err != nil || len(js) != 1 {
					s.Fatalf("Jobs: %d, %v", len(js), err)
				}
				same(s, "data of the job", j.Data)(js[0].Data, nil)
				return nil
			})
		}
	}},
	{"instants are kept in UTC with microseconds", func(s *suite) {
		at := t0.Add(1234567 * time.Nanosecond).In(time.FixedZone("east", 5*3600))
		kept := t0.Add(1234 * time.Microsecond)
		t := newTrigger("a", "t", 5, at)
		t.LastFired, t.Refused.At = at, at
		r := ended(newRun(1, "a", at), at)
		s.update(func(tx jobhost.Tx) error {
			if _, err := tx.PutNode(jobhost.Node{ID: "n", Started: at, Beat: at}); err != nil {
				return err
			}
			if err := tx.PutTriggers(t); err != nil {
				return err
			}
			return tx.PutRuns(r)
		})
		t.Due, t.Ready, t.LastFired, t.Refused.At = kept, kept, kept, kept
		r.ScheduledAt, r.StartedAt, r.EndedAt = kept, kept, kept
		s.view(func(tx jobhost.Tx) error {
			same(s, "Triggers", []jobhost.Trigger{t})(tx.Triggers(t.Key))
			same(s, "Runs", []jobhost.Run{r})(tx.Runs(r.ID))
			same(s, "Nodes", []jobhost.Node{{ID: "n", Started: kept, Beat: kept}})(tx.Nodes())
			same(s, "NextReady", kept)(tx.NextReady(jobhost.DueQuery{}))
			return nil
		})
	}},
}
