package jobtest

import (
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
)

var pruneCases = []storeCase{
	{"S-102 pruning by age deletes only what ended before, with logs and outputs", func(s *suite) {
		cut := t0.Add(time.Hour)
		early := ended(newRun(1, "a", t0), cut.Add(-time.Microsecond))
		just := ended(newRun(2, "a", t0), cut)
		long := ended(newRun(3, "b", t0.Add(-24*time.Hour)), cut.Add(time.Hour))
		open := newRun(4, "a", t0.Add(-48*time.Hour))
		late := ended(newRun(5, "a", t0.Add(2*time.Hour)), t0.Add(3*time.Hour))
		older := ended(newRun(6, "b", t0.Add(-time.Hour)), t0)
		waited := ended(newRun(7, "b", t0), t0.Add(30*time.Minute)) // its id is older than its start
		waited.StartedAt = t0.Add(20 * time.Minute)
		s.update(func(tx jobhost.Tx) error { return putWithLogs(tx, early, just, long, open, late, older, waited) })
		s.update(func(tx jobhost.Tx) error {
			same(s, "with limit 0", 0)(tx.PruneRuns(cut, 0))
			same(s, "with limit 2", 2)(tx.PruneRuns(cut, 2))
			same(s, "the rest", 1)(tx.PruneRuns(cut, 99))
			same(s, "again", 0)(tx.PruneRuns(cut, 99))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			checkGone(s, tx, early, older, waited)
			checkKept(s, tx, late, just, long, open)
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			same(s, "a nanosecond later", 1)(tx.PruneRuns(cut.Add(time.Nanosecond), 99))
			same(s, "all that has ended", 2)(tx.PruneRuns(t0.Add(99*time.Hour), 99))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			checkKept(s, tx, open)
			return nil
		})
	}},
	{"S-102 pruning by count keeps a job's newest ended runs", func(s *suite) {
		var rs, other []jobhost.Run
		for i := range 10 {
			started := t0.Add(time.Duration(i) * time.Second)
			rs = append(rs, ended(newRun(i, "a", started), started.Add(time.Duration(20-i)*time.Minute)))
			other = append(other, ended(newRun(50+i, "a.b", started), started))
		}
		open := newRun(99, "a", t0.Add(-time.Hour))
		newer := newRun(98, "a", t0.Add(time.Hour))
		s.update(func(tx jobhost.Tx) error { return putWithLogs(tx, append(append(rs, other...), open, newer)...) })
		s.update(func(tx jobhost.Tx) error {
			same(s, "within the limit", 0)(tx.PruneJobRuns("a", 10, 99))
			same(s, "with limit 0", 0)(tx.PruneJobRuns("a", 5, 0))
			same(s, "of a job without runs", 0)(tx.PruneJobRuns("b", 0, 99))
			for left := 7; left > 0; {
				n, err := tx.PruneJobRuns("a", 3, 2)
				if err != nil || n != min(2, left) {
					return fmt.Errorf("pruned %d, %w; want %d", n, err, min(2, left))
				}
				left -= n
			}
			same(s, "again", 0)(tx.PruneJobRuns("a", 3, 2))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			checkGone(s, tx, rs[:7]...)
			same(s, "of the job", []jobhost.RunID{newer.ID, rs[9].ID, rs[8].ID, rs[7].ID, open.ID})(
				runIDs(tx.QueryRuns(jobhost.RunQuery{Job: "a", Limit: 99})))
			same(s, "of another", 10)(tx.CountRuns(jobhost.RunQuery{Job: "a.b"}))
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			same(s, "keeping none", 3)(tx.PruneJobRuns("a", 0, 99))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "what goes on", []jobhost.RunID{newer.ID, open.ID})(runIDs(tx.QueryRuns(jobhost.RunQuery{Job: "a", Limit: 99})))
			return nil
		})
	}},
	{"many runs are pruned in small batches", func(s *suite) {
		const n = 500
		var rs []jobhost.Run
		for i := range n {
			rs = append(rs, ended(newRun(i, fmt.Sprint("job-", i%7), t0.Add(time.Duration(i)*time.Millisecond)), t0.Add(time.Minute)))
		}
		s.update(func(tx jobhost.Tx) error { return putWithLogs(tx, rs...) })
		total := 0
		for {
			var got int
			s.update(func(tx jobhost.Tx) (err error) {
				got, err = tx.PruneRuns(t0.Add(time.Hour), 64)
				return err
			})
			if got == 0 {
				break
			}
			total += got
		}
		if total != n {
			s.Errorf("pruned %d, want %d", total, n)
		}
		s.view(func(tx jobhost.Tx) error {
			checkGone(s, tx, rs...)
			return nil
		})
	}},
}

// putWithLogs puts runs, each with a log of two chunks and an output.
func putWithLogs(tx jobhost.Tx, rs ...jobhost.Run) error {
	if err := tx.PutRuns(rs...); err != nil {
		return err
	}
	for _, r := range rs {
		if err := tx.AppendLog(r.ID, []byte("one")); err != nil {
			return err
		}
		if err := tx.AppendLog(r.ID, []byte("two")); err != nil {
			return err
		}
		if err := tx.PutOutput(r.ID, []byte("out")); err != nil {
			return err
		}
	}
	return nil
}

func checkGone(s *suite, tx jobhost.Tx, rs ...jobhost.Run) {
	s.Helper()
	for _, r := range rs {
		same(s, "a pruned run", []jobhost.Run(nil))(tx.Runs(r.ID))
		same(s, "a pruned run's log", [][]byte(nil))(tx.Log(r.ID))
		same(s, "a pruned run, queried", []jobhost.Run(nil))(tx.QueryRuns(jobhost.RunQuery{IDs: []jobhost.RunID{r.ID}, Limit: 1}))
		if _, ok, err := tx.Output(r.ID); ok || err != nil {
			s.Errorf("Output of a pruned run: %v, %v", ok, err)
		}
	}
}

// checkKept wants rs and no other, newest start first.
func checkKept(s *suite, tx jobhost.Tx, rs ...jobhost.Run) {
	s.Helper()
	same(s, "what is left", rs)(tx.QueryRuns(jobhost.RunQuery{Limit: 99}))
	for _, r := range rs {
		same(s, "a kept run", []jobhost.Run{r})(tx.Runs(r.ID))
		same(s, "a kept run's log", [][]byte{[]byte("one"), []byte("two")})(tx.Log(r.ID))
		if out, ok, err := tx.Output(r.ID); string(out) != "out" || !ok || err != nil {
			s.Errorf("Output of a kept run: %q, %v, %v", out, ok, err)
		}
	}
}
