package jobtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

var queryCases = []storeCase{
	{"S-103 runs are queried by each filter, newest first, in stable pages, and counted without the page", func(s *suite) {
		all := history()
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(all...) })
		listed(all)
		at := all[len(all)/2].ListedAt()
		waited := all[slices.IndexFunc(all, func(r jobhost.Run) bool {
			return r.State.Ended() && r.ID[:12] != id(0, r.ListedAt())[:12] // its id is of another time than its start
		})]
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
			{Prefix: string(waited.ID[:10])},
			{Prefix: string(waited.ID)},
			{Prefix: string(all[7].ID[:8])},
			{Prefix: string(all[7].ID[:11])},
			{Prefix: string(all[7].ID[:12])},
			{Prefix: string(all[7].ID[:17])},
			{Prefix: string(all[7].ID)},
			{Prefix: string(all[7].ID[:12]), Job: all[7].Job},
			{Prefix: string(id(9999, t0)[:20])},
			{Prefix: strings.Repeat("f", 9)},
			{Prefix: strings.Repeat("0", 9)},
			{Prefix: "not a prefix"},
			{Prefix: string(all[7].ID[:8]) + "F"},
			{Prefix: string(all[7].ID) + "0"},
			{Prefix: string(all[7].ID[:12]), IDs: []jobhost.RunID{all[7].ID, all[3].ID}},
			{Prefix: "0"},
			{Job: "a", Trigger: "u", States: []jobhost.RunState{jobhost.RunSucceeded}, Kinds: []jobhost.RunKind{jobhost.KindSchedule}, Node: "node-1", From: t0, To: at},
		} {
			s.view(func(tx jobhost.Tx) error {
				what := fmt.Sprintf("%+v", q)
				var want []jobhost.Run
				for _, r := range all {
					if q.Matches(&r) {
						r.Data = nil
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
	{"lists of runs are without the runs' data, however large it is, and take little memory", func(s *suite) {
		var all, slim []jobhost.Run
		for i, size := range []int{0, 2, 300, 900, 990, 1000, 1100, 2000, 64 << 10, 1 << 20, 1<<20 + 1, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20} {
			for n := range 4 {
				r := fullRun(10*i+n, []jobhost.Name{"a", "b"}[n%2], t0.Add(time.Duration(i)*time.Second), t0.Add(time.Hour))
				r.Data = bytes.Repeat([]byte("7"), size)
				r.Node = strings.Repeat("n", []int{1, 30, 3000, 5}[n])
				r.ErrorMessage = strings.Repeat("e", []int{0, 10, 4096, 990}[n])
				if n == 3 {
					r.ID = id(10*i+n, t0.Add(-time.Hour)) // it was enqueued before
				}
				if i%3 == 1 {
					r.State, r.EndedAt = jobhost.RunRunning, time.Time{}
				}
				all = append(all, r)
			}
		}
		for _, r := range all {
			s.update(func(tx jobhost.Tx) error { return tx.PutRuns(r) })
		}
		listed(all)
		var ids []jobhost.RunID
		for _, r := range all {
			ids = append(ids, r.ID)
			r.Data = nil
			slim = append(slim, r)
		}
		for what, q := range map[string]jobhost.RunQuery{
			"all":         {},
			"by job":      {Job: "b"},
			"by ids":      {IDs: ids},
			"by prefix":   {Prefix: string(id(1, t0)[:8])},
			"by node":     {Node: "n"},
			"by instants": {From: t0, To: t0.Add(9 * time.Second)},
			"in progress": {States: []jobhost.RunState{jobhost.RunRunning}},
		} {
			want := slices.DeleteFunc(slices.Clone(slim), func(r jobhost.Run) bool { return !q.Matches(&r) })
			q.Limit = 1000
			s.view(func(tx jobhost.Tx) error {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := tx.QueryRuns(q)
				n, e := tx.CountRuns(q)
				runtime.ReadMemStats(&after)
				same(s, what, want)(got, err)
				same(s, what+", counted", len(want))(n, e)
				if took := (after.TotalAlloc - before.TotalAlloc) >> 10; took > 4<<10 {
					s.Errorf("%s: %d runs took %d KiB, and their data is not asked for", what, len(got), took)
				}
				return nil
			})
		}
		s.view(func(tx jobhost.Tx) error {
			same(s, "one by one", all)(tx.Runs(ids...))
			return nil
		})
	}},
	{"a run that ended without a start has its place by its end", func(s *suite) {
		r := func(n int, started, ended time.Duration) jobhost.Run {
			r := fullRun(n, "a", t0.Add(started), t0.Add(ended))
			r.ID, r.Data = id(n, t0.Add(-time.Hour)), nil
			return r
		}
		never := func(n int, ended time.Duration) jobhost.Run {
			r := r(n, 0, ended)
			r.State, r.StartedAt, r.Node = jobhost.RunCanceled, time.Time{}, ""
			return r
		}
		const m = time.Minute
		newest, third, second, first := r(1, 9*m, 10*m), never(2, 8*m), r(3, 7*m, 20*m), never(4, 6*m)
		all := []jobhost.Run{newest, third, second, first}
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(all...) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "all", all)(tx.QueryRuns(jobhost.RunQuery{Limit: 9}))
			same(s, "of the job", all)(tx.QueryRuns(jobhost.RunQuery{Job: "a", Limit: 9}))
			same(s, "one by one", all)(tx.Runs(newest.ID, third.ID, second.ID, first.ID))
			span := jobhost.RunQuery{From: t0.Add(7 * m), To: t0.Add(9 * m), Limit: 9}
			same(s, "of a time", all[1:3])(tx.QueryRuns(span))
			same(s, "of a time, counted", 2)(tx.CountRuns(span))
			span.Job = "a"
			same(s, "of a time and the job", all[1:3])(tx.QueryRuns(span))
			same(s, "of no node", all[:1])(tx.QueryRuns(jobhost.RunQuery{Node: newest.Node, Limit: 1}))
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			same(s, "pruned by count", 1)(tx.PruneJobRuns("a", 3, 9))
			same(s, "pruned by age", 1)(tx.PruneRuns(t0.Add(9*m), 9))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "what is left", []jobhost.Run{newest, second})(tx.QueryRuns(jobhost.RunQuery{Limit: 9}))
			return nil
		})
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

// listed sorts runs as lists have them.
func listed(rs []jobhost.Run) {
	slices.SortFunc(rs, func(a, b jobhost.Run) int {
		return cmp.Or(b.ListedAt().Compare(a.ListedAt()), cmp.Compare(a.ID, b.ID))
	})
}

// history is a mixed lot of runs, some of which go on, and some of which never started.
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
		if i%10 == 2 {
			r.ID = id(i, started.Add(-time.Duration(i%3)*time.Minute)) // it was enqueued before
		}
		if i%15 == 8 {
			r.State, r.StartedAt, r.EndedAt, r.Node = jobhost.RunCanceled, time.Time{}, started, ""
		}
		if i%4 == 1 {
			r.Data = json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)
		}
		rs = append(rs, r)
	}
	return rs
}
