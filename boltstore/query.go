package boltstore

import (
	"cmp"
	"math"
	"slices"

	"github.com/jobhost/jobhost"
	bolt "go.etcd.io/bbolt"
)

func (t *tx) QueryRuns(q jobhost.RunQuery) ([]jobhost.Run, error) {
	var out []jobhost.Run
	skip := q.Skip
	t.matching(&q, func(r jobhost.Run) bool {
		switch {
		case len(out) >= q.Limit:
			return false
		case skip > 0:
			skip--
		default:
			out = append(out, r)
		}
		return len(out) < q.Limit
	})
	return out, nil
}

func (t *tx) CountRuns(q jobhost.RunQuery) (int, error) {
	n := 0
	t.matching(&q, func(jobhost.Run) bool {
		n++
		return true
	})
	return n, nil
}

// matching calls each for the runs that q selects, newest start first, until it answers false. The open runs, which
// are few, are sorted and merged with the history.
func (t *tx) matching(q *jobhost.RunQuery, each func(jobhost.Run) bool) {
	if len(q.IDs) > 0 {
		ids := slices.Compact(slices.Sorted(slices.Values(q.IDs)))
		runs, _ := t.Runs(ids...) // it has no errors
		slices.SortFunc(runs, newest)
		for _, r := range runs {
			if q.Matches(&r) && !each(r) {
				return
			}
		}
		return
	}
	var open []jobhost.Run
	t.eachOpen(q.Job, func(r jobhost.Run) {
		if q.Matches(&r) {
			open = append(open, r)
		}
	})
	slices.SortFunc(open, newest)
	h := t.history(q)
	for r, ok := h.next(); ok; r, ok = h.next() {
		for len(open) > 0 && newest(open[0], r) < 0 {
			if !each(open[0]) {
				return
			}
			open = open[1:]
		}
		if q.Matches(&r) && !each(r) {
			return
		}
	}
	for _, r := range open {
		if !each(r) {
			return
		}
	}
}

func newest(a, b jobhost.Run) int {
	return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
}

// history walks backwards through the ended runs, or those of one job, as far as q's instants go.
type history struct {
	t    *tx
	all  *bolt.Cursor // through all runs; nil: by job
	job  *jobRuns
	from int64
	k, v []byte // the next run; v is read later when it comes from the index
}

func (t *tx) history(q *jobhost.RunQuery) *history {
	h := &history{t: t, from: math.MinInt64}
	if !q.From.IsZero() {
		h.from = q.From.UnixMicro()
	}
	before := int64(math.MaxInt64)
	if !q.To.IsZero() {
		before = q.To.UnixMicro() + 1
	}
	if q.Job != "" {
		h.job = t.jobRuns(q.Job, before)
	} else {
		h.all = t.bucket(bRuns).Cursor()
		h.k, h.v = back(h.all, putMicro(nil, before))
	}
	return h
}

func (h *history) next() (jobhost.Run, bool) {
	for k, v := h.step(); k != nil; k, v = h.step() {
		started, id, err := startedKey(k)
		if err != nil {
			h.t.damage(bRuns, k, err)
			continue
		}
		if started < h.from {
			break
		}
		r, err := decodeEndedRun(id, v)
		if err != nil {
			h.t.damage(bRuns, k, err)
			continue
		}
		return r, true
	}
	return jobhost.Run{}, false
}

func (h *history) step() (k, v []byte) {
	if h.job != nil {
		if k, _ = h.job.step(); k == nil {
			return nil, nil
		}
		return k, h.t.get(bRuns, k)
	}
	k, v = h.k, h.v
	h.k, h.v = h.all.Prev()
	return k, v
}
