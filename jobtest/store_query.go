package jobtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

var queryCases = []storeCase{
	{"S-103 runs are queried by each filter, newest first, in stable pages, and counted without the page", func(s *suite) {
		all := history()
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(all...) })
		slices.SortFunc(all, func(a, b jobhost.Run) int {
			if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
				return c
			}
			return strings.Compare(string(a.ID), string(b.ID))
		})
		at := all[len(all)/2].StartedAt
		for _, q := range []jobhost.RunQuery{
			{},
			{Job: "a"},
			{Job: "a.b"},
			{Job: "a-b"},
			{Job: "none"},
			{Trigger: "u"},
			{States: []jobhost.RunState{jobhost.RunRunning}},
			{States: []jobhost.RunState{jobhost.RunFailed, jobhost.RunLost}},
			{Kinds: []jobhost.RunKind{jobhost.KindManual, jobhost.KindRetry}},
			{Node: "node-2"},
			{From: at},
			{To: at},
			{From: at, To: at.Add(time.Microsecond)},
			{From: at.Add(-time.Nanosecond), To: at.Add(time.Nanosecond)},
			{From: at.Add(time.Nanosecond)},
			{From: at, To: at},
			{From: at.Add(-2 * time.Second), To: at.Add(2 * time.Second), Job: "a"},
			{To: at, Job: "a"},
			{From: at, Job: "a-b"},
			{RetryOf: id(500, t0)},
			{RetryOf: id(500, t0), Job: "a"},
			{IDs: []jobhost.RunID{all[7].ID, all[3].ID, id(9999, t0), all[3].ID, all[20].ID}},
			{IDs: []jobhost.RunID{all[7].ID, all[3].ID, all[4].ID, all[5].ID}, Job: all[3].Job},
			{Job: "a", Trigger: "u", States: []jobhost.RunState{jobhost.RunSucceeded}, Kinds: []jobhost.RunKind{jobhost.KindSchedule}, Node: "node-1", From: t0, To: at},
		} {
			s.view(func(tx jobhost.Tx) error {
				what := fmt.Sprintf("%+v", q)
				var want []jobhost.Run
				for _, r := range all {
					if q.Matches(&r) {
						want = append(want, r)
					}
				}
				q.Skip, q.Limit = 2, 1
				same(s, "CountRuns "+what, len(want))(tx.CountRuns(q))
				q.Skip, q.Limit = 0, 1000
				same(s, "QueryRuns "+what, want)(tx.QueryRuns(q))
				for q.Limit = range 4 {
					q.Limit++
					for q.Skip = 0; q.Skip <= len(want)+1; q.Skip += 1 + len(want)/7 {
						from := min(q.Skip, len(want))
						same(s, fmt.Sprintf("page at %d of %d, %s", q.Skip, q.Limit, what), want[from:min(from+q.Limit, len(want))])(tx.QueryRuns(q))
					}
				}
				return nil
			})
		}
	}},
	{"runs that started at the same instant go by id", func(s *suite) {
		var rs []jobhost.Run
		for i := range 20 {
			r := newRun(i, "a", t0)
			if i%2 == 0 {
				r = ended(r, t0)
			}
			rs = append(rs, r)
		}
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(rs...) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "all", rs)(tx.QueryRuns(jobhost.RunQuery{Limit: 99}))
			same(s, "of the job", rs[3:8])(tx.QueryRuns(jobhost.RunQuery{Job: "a", Skip: 3, Limit: 5}))
			return nil
		})
	}},
}

// history is a mixed lot of runs, some of which go on.
func history() []jobhost.Run {
	var rs []jobhost.Run
	for i := range 60 {
		started := t0.Add(time.Duration(i/2*(i%7)) * time.Second)
		r := newRun(i, []jobhost.Name{"a", "a.b", "a-b"}[i%3], started)
		r.Trigger = []jobhost.Name{"t", "u", "", "t-u"}[i%4]
		r.Kind = []jobhost.RunKind{jobhost.KindSchedule, jobhost.KindManual, jobhost.KindRetry, jobhost.KindRecovery, jobhost.KindSchedule}[i%5]
		r.Node = []string{"node-1", "node-2"}[i%2]
		if i%9 == 4 {
			r.RetryOf = id(500, t0)
		}
		if i%6 != 5 {
			r.State, r.EndedAt = jobhost.RunSucceeded+jobhost.RunState(i%4), started.Add(time.Minute)
		}
		rs = append(rs, r)
	}
	return rs
}
