package memstore

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
)

func (t *tx) Runs(ids ...jobhost.RunID) ([]jobhost.Run, error) {
	out := make([]jobhost.Run, 0, len(ids))
	for _, id := range ids {
		if r, ok := t.runs.Get(id); ok {
			out = append(out, cloneRun(r))
		}
	}
	return out, nil
}

func (t *tx) OpenRuns(node string) ([]jobhost.Run, error) {
	var out []jobhost.Run
	t.open.Scan(func(r *jobhost.Run) bool {
		if node == "" || r.Node == node {
			out = append(out, cloneRun(r))
		}
		return true
	})
	return out, nil
}

func (t *tx) QueryRuns(q jobhost.RunQuery) ([]jobhost.Run, error) {
	var out []jobhost.Run
	skip := q.Skip
	t.matching(&q, func(r *jobhost.Run) bool {
		switch {
		case len(out) >= q.Limit:
			return false
		case skip > 0:
			skip--
		default:
			listed := *r
			listed.Data = nil
			out = append(out, listed)
		}
		return len(out) < q.Limit
	})
	return out, nil
}

func (t *tx) CountRuns(q jobhost.RunQuery) (int, error) {
	n := 0
	t.matching(&q, func(*jobhost.Run) bool {
		n++
		return true
	})
	return n, nil
}

// matching calls each for the runs that q selects, newest start first, until it answers false.
func (t *tx) matching(q *jobhost.RunQuery, each func(*jobhost.Run) bool) {
	ids, few := q.IDs, len(q.IDs) > 0
	if !few && q.Prefix != "" {
		ids, few = t.withPrefix(q.Prefix), true
	}
	if few {
		for _, r := range t.named(ids) {
			if q.Matches(r.Run) && !each(r.Run) {
				return
			}
		}
		return
	}
	tree, from := t.history, started{math.MaxInt64, &jobhost.Run{Job: q.Job}}
	if q.Job != "" {
		tree = t.byJob
	}
	if !q.To.IsZero() {
		from.at = q.To.UnixMicro()
	}
	tree.Ascend(from, func(r started) bool {
		if q.Job != "" && r.Job != q.Job || !q.From.IsZero() && r.ListedAt().Before(q.From) {
			return false
		}
		return !q.Matches(r.Run) || each(r.Run)
	})
}

func (t *tx) withPrefix(prefix string) (ids []jobhost.RunID) {
	t.runs.Ascend(jobhost.RunID(prefix), func(id jobhost.RunID, _ *jobhost.Run) bool {
		if !strings.HasPrefix(string(id), prefix) {
			return false
		}
		ids = append(ids, id)
		return true
	})
	return ids
}

func (t *tx) named(ids []jobhost.RunID) []started {
	out := make([]started, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if r, ok := t.runs.Get(id); ok {
			out = append(out, startedOf(r))
		}
	}
	slices.SortFunc(out, newest)
	return out
}

func (t *tx) PutRuns(rs ...jobhost.Run) error {
	for i := range rs {
		if err := t.writeOf(rs[i].ID); err != nil {
			return err
		}
		r := cloneRun(&rs[i])
		t.runs.Set(r.ID, &r)
		t.history.Set(startedOf(&r))
		t.byJob.Set(startedOf(&r))
		if r.State.Ended() {
			t.open.Delete(&r)
		} else {
			t.open.Set(&r)
		}
	}
	return nil
}

func (t *tx) AppendLog(id jobhost.RunID, chunk []byte) error {
	if err := t.writeOf(id); err != nil {
		return err
	}
	chunks, _ := t.logs.Get(id)
	t.logs.Set(id, append(chunks, bytes.Clone(chunk))) // behind what an older version can see
	return nil
}

func (t *tx) Log(id jobhost.RunID) ([][]byte, error) {
	chunks, _ := t.logs.Get(id)
	out := make([][]byte, 0, len(chunks))
	for _, c := range chunks {
		out = append(out, bytes.Clone(c))
	}
	return out, nil
}

func (t *tx) PutOutput(id jobhost.RunID, b []byte) error {
	if err := t.writeOf(id); err != nil {
		return err
	}
	t.outputs.Set(id, bytes.Clone(b))
	return nil
}

func (t *tx) Output(id jobhost.RunID) ([]byte, bool, error) {
	b, ok := t.outputs.Get(id)
	return bytes.Clone(b), ok, nil
}

func startedOf(r *jobhost.Run) started { return started{r.ListedAt().UnixMicro(), r} }

func cloneRun(r *jobhost.Run) jobhost.Run {
	c := *r
	c.Data = cloneData(r.Data)
	c.ScheduledAt, c.StartedAt, c.EndedAt = instant(r.ScheduledAt), instant(r.StartedAt), instant(r.EndedAt)
	return c
}
