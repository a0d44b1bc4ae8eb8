package boltstore

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

func TestSegmentsGrowWithTheirNumberAndVanishWhenEmpty(t *testing.T) {
	s := fresh(t, Config{})
	s.full = 4
	const n = 4000
	for first := 0; first < n; first += 2 {
		update(t, s, func(tx jobhost.Tx) error {
			for i := first; i < first+2; i++ {
				at := t0.Add(time.Duration(i) * time.Second)
				if err := tx.PutRuns(succeeded(testRun(i, fmt.Sprint("job-", i%3), at), at)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	live := func() (heads, runs int) {
		raw(t, s, func(b *bolt.Tx) error {
			return b.Bucket([]byte("jobruns")).ForEach(func(k, _ []byte) error {
				if len(k) == segmentLen {
					heads++
				} else {
					runs++
				}
				return nil
			})
		})
		return heads, runs
	}
	heads, runs := live()
	// heads²/(2·64) segments of 4 runs each, and 64 of them before they begin to grow
	if runs != n || heads < 200 || heads > 400 {
		t.Errorf("%d runs are in %d segments, want %d in 200 to 400", runs, heads, n)
	}
	prune := func(f func(tx jobhost.Tx) (int, error)) (total int) {
		for {
			var got int
			update(t, s, func(tx jobhost.Tx) (err error) {
				got, err = f(tx)
				return err
			})
			if total += got; got == 0 {
				return total
			}
		}
	}
	if got := prune(func(tx jobhost.Tx) (int, error) { return tx.PruneRuns(t0.Add(n/2*time.Second), 100) }); got != n/2 {
		t.Errorf("PruneRuns: got %d, want %d", got, n/2)
	}
	if h, runs := live(); runs != n/2 || h >= heads {
		t.Errorf("after pruning half, %d runs are in %d segments, want %d in fewer than %d", runs, h, n/2, heads)
	}
	for i := range 3 {
		prune(func(tx jobhost.Tx) (int, error) { return tx.PruneJobRuns(fmt.Sprint("job-", i), 1, 100) })
	}
	if h, runs := live(); runs != 3 || h > 3 {
		t.Errorf("after pruning all but one of each job, %d runs are in %d segments", runs, h)
	}
}

func TestNewestRunsAreFoundWithoutLookingIntoEverySegment(t *testing.T) {
	s := fresh(t, Config{})
	s.full = 2
	for i := range 400 {
		at := t0.Add(time.Duration(i) * time.Second)
		update(t, s, func(tx jobhost.Tx) error { return tx.PutRuns(succeeded(testRun(i, "a", at), at)) })
	}
	// A run that went on for long is in the newest segment and is not the newest.
	long := testRun(999, "a", t0.Add(-time.Hour))
	update(t, s, func(tx jobhost.Tx) error { return tx.PutRuns(succeeded(long, t0.Add(time.Hour))) })
	update(t, s, func(jobTx jobhost.Tx) error {
		j := jobTx.(*tx).jobRuns("a", math.MaxInt64)
		for i := range 3 {
			k, _ := j.step()
			_, id, err := startedKey(k)
			if want := testID(399-i, t0.Add(time.Duration(399-i)*time.Second)); id.id() != want || err != nil {
				t.Errorf("run %d: got %s, %v; want %s", i, id.id(), err, want)
			}
		}
		if opened := len(j.found); opened > 4 {
			t.Errorf("%d segments were looked into for three runs", opened)
		}
		return nil
	})
	view(t, s, func(tx jobhost.Tx) error {
		rs, err := tx.QueryRuns(jobhost.RunQuery{Job: "a", Skip: 400, Limit: 9})
		if len(rs) != 1 || rs[0].ID != long.ID {
			t.Errorf("the last run: got %v, want %s", rs, long.ID)
		}
		return err
	})
}

func TestRunsOfOneInstantGoByIDAcrossSegments(t *testing.T) {
	s := fresh(t, Config{})
	s.full = 1
	for _, n := range []int{3, 1, 4, 0, 2} {
		update(t, s, func(tx jobhost.Tx) error { return tx.PutRuns(succeeded(testRun(n, "a", t0), t0)) })
	}
	view(t, s, func(tx jobhost.Tx) error {
		for n := range 5 {
			rs, err := tx.QueryRuns(jobhost.RunQuery{Job: "a", Skip: n, Limit: 1})
			if len(rs) != 1 || rs[0].ID != testID(n, t0) || err != nil {
				t.Errorf("run %d: got %v, %v; want %s", n, rs, err, testID(n, t0))
			}
		}
		return nil
	})
}

func TestPrunedRunsLeaveNothingBehind(t *testing.T) {
	s := fresh(t, Config{})
	s.full = 5
	for i := range 40 {
		r := succeeded(testRun(i, fmt.Sprint("job-", i%3), t0), t0.Add(time.Hour))
		r.StartedAt = t0.Add(time.Duration(i%2) * time.Minute) // half of them not in the millisecond of their ids
		update(t, s, func(tx jobhost.Tx) error {
			return errors.Join(tx.PutRuns(r), tx.AppendLog(r.ID, []byte("one")), tx.AppendLog(r.ID, nil), tx.PutOutput(r.ID, nil))
		})
	}
	update(t, s, func(tx jobhost.Tx) error {
		n, e1 := tx.PruneJobRuns("job-0", 0, 99)
		m, e2 := tx.PruneRuns(t0.Add(2*time.Hour), 99)
		if n != 14 || m != 26 {
			t.Errorf("pruned %d and %d runs, want 14 and 26", n, m)
		}
		return errors.Join(e1, e2)
	})
	raw(t, s, func(b *bolt.Tx) error {
		for _, name := range []string{"runs", "runids", "logs", "outputs", "jobruns"} {
			n := 0
			if err := b.Bucket([]byte(name)).ForEach(func(k, _ []byte) error {
				n++
				return nil
			}); err != nil {
				return err
			}
			if want := map[string]int{"jobruns": 1}[name]; n != want { // the head of the newest segment
				t.Errorf("bucket %s: %d keys are left, want %d", name, n, want)
			}
		}
		return nil
	})
}
