package boltstore

import (
	"cmp"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
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
	if byKey(&q) { // then no record need be read; one that cannot be counts too
		t.eachOpen(q.Job, true, func(r jobhost.Run) {
			if q.Matches(&r) {
				n++
			}
		})
		h := t.history(&q)
		for k, _ := h.step(); k != nil; k, _ = h.step() {
			if started, _, err := startedKey(k); err == nil && started >= h.from {
				n++
			} else if err == nil {
				break
			}
		}
		return n, nil
	}
	t.matching(&q, func(jobhost.Run) bool {
		n++
		return true
	})
	return n, nil
}

// byKey reports whether the keys of the history decide alone what q selects.
func byKey(q *jobhost.RunQuery) bool {
	return len(q.IDs) == 0 && q.Prefix == "" && q.Trigger == "" && len(q.States) == 0 && len(q.Kinds) == 0 && q.Node == "" && q.RetryOf == ""
}

// matching calls each for the runs that q selects, newest start first, until it answers false. The open runs, which
// are few, are sorted and merged with the history.
func (t *tx) matching(q *jobhost.RunQuery, each func(jobhost.Run) bool) {
	ids, few := q.IDs, len(q.IDs) > 0
	if !few && len(q.Prefix) >= jobhost.MinRunPrefix {
		ids, few = t.withPrefix(q.Prefix), true
	}
	if few {
		runs := t.named(slices.Compact(slices.Sorted(slices.Values(ids))), true)
		slices.SortFunc(runs, newest)
		for _, r := range runs {
			if q.Matches(&r) && !each(r) {
				return
			}
		}
		return
	}
	var open []jobhost.Run
	t.eachOpen(q.Job, true, func(r jobhost.Run) {
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
	return cmp.Or(b.ListedAt().Compare(a.ListedAt()), cmp.Compare(a.ID, b.ID))
}

// history walks backwards through the ended runs, or those of one job, as far as q's instants go.
type history struct {
	t    *tx
	q    *jobhost.RunQuery
	all  *bolt.Cursor // through all runs; nil: by job
	job  *jobRuns
	from int64
	k, v []byte // the next run of all
}

func (t *tx) history(q *jobhost.RunQuery) *history {
	h := &history{t: t, q: q, from: math.MinInt64}
	if !q.From.IsZero() {
		h.from = ceilMicro(q.From)
	}
	before := int64(math.MaxInt64)
	if !q.To.IsZero() {
		before = ceilMicro(q.To)
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
		if h.job != nil {
			v = h.t.peek(bRuns, k)
		}
		if v = h.t.withoutData(bRuns, k, v); !mayMatch(h.q, v) {
			continue
		}
		if r, ok := h.t.run(bRuns, id, k, v, true); ok {
			return r, true
		}
	}
	return jobhost.Run{}, false
}

// step returns the next key, and the record unless the key comes from the index by job.
func (h *history) step() (k, v []byte) {
	if h.job != nil {
		k, _ = h.job.step()
		return k, nil
	}
	k, v = h.k, h.v
	h.k, h.v = h.all.Prev()
	return k, v // as it stands in the bucket
}
