package jobtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

func due(now time.Time, limit int) jobhost.DueQuery { return jobhost.DueQuery{Now: now, Limit: limit} }

var dueCases = []storeCase{
	{"S-76 of two due triggers the one with the larger priority goes first", func(s *suite) {
		s.update(func(tx jobhost.Tx) error {
			return tx.PutTriggers(newTrigger("a", "five", 5, t0), newTrigger("a", "eight", 8, t0.Add(time.Second)))
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "Due", []string{"a/eight"})(keys(tx.Due(due(t0.Add(time.Minute), 1))))
			return nil
		})
	}},
	{"S-77 equal priorities go by due, then by job and trigger name", func(s *suite) {
		want := []string{"z/z", "a/b", "a/b-c", "a/b.c", "a-b/a", "a.b/a", "aa/a"}
		s.update(func(tx jobhost.Tx) error {
			return tx.PutTriggers(newTrigger("aa", "a", 5, t0), newTrigger("a.b", "a", 5, t0), newTrigger("a", "b.c", 5, t0),
				newTrigger("a-b", "a", 5, t0), newTrigger("a", "b-c", 5, t0), newTrigger("a", "b", 5, t0),
				newTrigger("z", "z", 5, t0.Add(-time.Microsecond)))
		})
		s.view(func(tx jobhost.Tx) error {
			for n := range len(want) + 1 {
				same(s, fmt.Sprintf("Due, limit %d", n+1), want[:min(n+1, len(want))])(keys(tx.Due(due(t0, n+1))))
			}
			return nil
		})
	}},
	{"S-78 a limit of 0 or less is none", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(newTrigger("a", "t", 5, t0)) })
		s.update(func(tx jobhost.Tx) error {
			for _, limit := range []int{0, -1, math.MinInt} {
				same(s, "Due", []jobhost.Trigger(nil))(tx.Due(due(t0, limit)))
				same(s, "Blocked", []jobhost.Trigger(nil))(tx.Blocked("a", limit))
			}
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "Due", []string{"a/t"})(keys(tx.Due(due(t0, 1))))
			return nil
		})
	}},
	{"S-79 due now is returned, due a moment later is not", func(s *suite) {
		s.update(func(tx jobhost.Tx) error {
			return tx.PutTriggers(newTrigger("a", "now", 5, t0), newTrigger("a", "later", 5, t0.Add(time.Millisecond)),
				newTrigger("b", "later", 9, t0.Add(time.Microsecond)))
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "Due", []string{"a/now"})(keys(tx.Due(due(t0, 9))))
			same(s, "Due before", []string(nil))(keys(tx.Due(due(t0.Add(-time.Nanosecond), 9))))
			return nil
		})
	}},
	{"S-81 a trigger that is not ready is never returned, however long it is due", func(s *suite) {
		var ts []jobhost.Trigger
		for _, state := range []jobhost.TriggerState{
			jobhost.TriggerWaiting, jobhost.TriggerRunning, jobhost.TriggerBlocked, jobhost.TriggerComplete,
		} {
			t := newTrigger("a", fmt.Sprint("t", state), 5, t0.Add(-time.Hour))
			t.State, t.Ready, t.Paused = state, time.Time{}, state == jobhost.TriggerWaiting
			ts = append(ts, t)
		}
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(ts...) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Due", []jobhost.Trigger(nil))(tx.Due(due(t0, 9)))
			same(s, "NextReady", time.Time{})(tx.NextReady(due(t0, 9)))
			return nil
		})
	}},
	{"a trigger is listed by Ready alone, and moves when it changes", func(s *suite) {
		t := newTrigger("a", "t", 5, t0)
		t.Ready = t0.Add(time.Second)
		put := func(t jobhost.Trigger) {
			s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(t) })
		}
		put(t)
		s.view(func(tx jobhost.Tx) error {
			same(s, "due, but not ready", []jobhost.Trigger(nil))(tx.Due(due(t0, 9)))
			same(s, "ready", []jobhost.Trigger{t})(tx.Due(due(t0.Add(time.Second), 9)))
			return nil
		})
		t.Priority, t.Ready = -5, t0.Add(2*time.Second)
		put(t)
		s.view(func(tx jobhost.Tx) error {
			same(s, "at the old instant", []jobhost.Trigger(nil))(tx.Due(due(t0.Add(time.Second), 9)))
			same(s, "at the new one", []jobhost.Trigger{t})(tx.Due(due(t0.Add(time.Hour), 9)))
			return nil
		})
		t.Ready, t.State = time.Time{}, jobhost.TriggerBlocked
		put(t)
		s.view(func(tx jobhost.Tx) error {
			same(s, "no longer ready", []jobhost.Trigger(nil))(tx.Due(due(t0.Add(time.Hour), 9)))
			same(s, "NextReady", time.Time{})(tx.NextReady(jobhost.DueQuery{}))
			return nil
		})
	}},
	{"many priorities, negative and extreme ones among them, go from the largest down", func(s *suite) {
		ps := []int32{math.MaxInt32, 1 << 30, 70000, 256, 255, 8, 5, 1, 0, -1, -2, -255, -256, -70000, math.MinInt32 + 1, math.MinInt32}
		var ts []jobhost.Trigger
		var want []string
		for i, p := range ps {
			for j := range 3 {
				ts = append(ts, newTrigger("a", fmt.Sprintf("t%02d-%d", i, j), p, t0.Add(time.Duration(j-i)*time.Second)))
			}
			want = append(want, fmt.Sprintf("a/t%02d-0", i), fmt.Sprintf("a/t%02d-1", i), fmt.Sprintf("a/t%02d-2", i))
		}
		slices.Reverse(ts)
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(ts...) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "all", want)(keys(tx.Due(due(t0.Add(time.Minute), 99))))
			same(s, "a page", want[:7])(keys(tx.Due(due(t0.Add(time.Minute), 7))))
			same(s, "NextReady", t0.Add(-15*time.Second))(tx.NextReady(due(t0, 0)))
			return nil
		})
	}},
	{"instants of any time are kept and ordered", func(s *suite) {
		at := []time.Time{
			time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
			time.Unix(0, 0).UTC(), time.Unix(0, 1000).UTC(), t0, time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
		}
		var ts []jobhost.Trigger
		for i, a := range at {
			t := newTrigger("a", fmt.Sprint("t", i), 5, a)
			t.LastFired, t.Refused.At = a, a
			ts = append(ts, t)
		}
		s.update(func(tx jobhost.Tx) error { return tx.PutTriggers(ts...) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "Due", ts)(tx.Due(due(at[len(at)-1], 99)))
			same(s, "Due in 1970", ts[:3])(tx.Due(due(at[2], 99)))
			same(s, "NextReady", at[0])(tx.NextReady(due(t0, 1)))
			return nil
		})
	}},
	{"the filters of a query leave out what they name", func(s *suite) {
		oneShot := func(job, name jobhost.Name, p int32, ready time.Time) jobhost.Trigger {
			t := newTrigger(job, name, p, ready)
			t.OneShot = &jobhost.OneShot{Kind: jobhost.KindRetry, Attempt: 2}
			return t
		}
		s.update(func(tx jobhost.Tx) error {
			return tx.PutTriggers(newTrigger("a", "t", 9, t0), newTrigger("a", "u", 9, t0.Add(1*time.Second)),
				newTrigger("a-b", "t", 7, t0.Add(-2*time.Second)), oneShot("b", "retry-1", 7, t0.Add(3*time.Second)),
				oneShot("a", "retry-2", 5, t0.Add(4*time.Second)), newTrigger("retry-x", "retry-y", 5, t0.Add(5*time.Second)))
		})
		now := t0.Add(time.Minute)
		notA := map[jobhost.Name]bool{"a": true, "b": false}
		notT := map[jobhost.TriggerKey]bool{{Job: "a", Trigger: "t"}: true, {Job: "a", Trigger: "u"}: false}
		for _, c := range []struct {
			name string
			q    jobhost.DueQuery
			want []string
			next time.Time
		}{
			{"all", jobhost.DueQuery{}, []string{"a/t", "a/u", "a-b/t", "b/retry-1", "a/retry-2", "retry-x/retry-y"}, t0.Add(-2 * time.Second)},
			{"one-shots", jobhost.DueQuery{OneShots: true}, []string{"b/retry-1", "a/retry-2"}, t0.Add(3 * time.Second)},
			{"not job a", jobhost.DueQuery{NotJobs: notA}, []string{"a-b/t", "b/retry-1", "retry-x/retry-y"}, t0.Add(-2 * time.Second)},
			{"not trigger a/t", jobhost.DueQuery{NotTriggers: notT}, []string{"a/u", "a-b/t", "b/retry-1", "a/retry-2", "retry-x/retry-y"}, t0.Add(-2 * time.Second)},
			{
				"all filters",
				jobhost.DueQuery{OneShots: true, NotJobs: notA, NotTriggers: map[jobhost.TriggerKey]bool{{Job: "b", Trigger: "retry-1"}: true}},
				nil,
				time.Time{},
			},
		} {
			s.view(func(tx jobhost.Tx) error {
				same(s, "NextReady, "+c.name, c.next)(tx.NextReady(c.q))
				c.q.Now = now
				for _, c.q.Limit = range []int{1, 2, 99} {
					same(s, "Due, "+c.name, c.want[:min(c.q.Limit, len(c.want))])(keys(tx.Due(c.q)))
				}
				return nil
			})
		}
	}},
}
