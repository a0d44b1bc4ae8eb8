package jobtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func (p *play) op() op {
	return rapid.SampledFrom([]func() op{
		p.putJobs, p.deleteJobs, p.putTriggers, p.putTriggers, p.deleteTriggers, p.putRuns, p.putRuns, p.logs,
		p.prune, p.due, p.query, p.query, p.pending, p.nodes, p.keys, p.values,
	}).Draw(p.rt, "operation")()
}

// one draws one of a few values, so that they meet again.
func one[V any](p *play, what string, vs ...V) V { return rapid.SampledFrom(vs).Draw(p.rt, what) }

func some[V any](p *play, what string, draw func() V) []V {
	var out []V
	for range rapid.IntRange(0, 3).Draw(p.rt, what) {
		out = append(out, draw())
	}
	return out
}

func (p *play) yes(what string) bool       { return rapid.Bool().Draw(p.rt, what) }
func (p *play) int(what string, n int) int { return rapid.IntRange(0, n).Draw(p.rt, what) }
func (p *play) name() jobhost.Name {
	return one(p, "name", "a", "a.b", "a-b", "b")
}

func (p *play) key() jobhost.TriggerKey { return jobhost.TriggerKey{Job: p.name(), Trigger: p.name()} }

func (p *play) instant() time.Time {
	return one(p, "instant", time.Time{}, time.Unix(0, 0).UTC(), time.Unix(-1, 0).UTC(), t0, t0.Add(time.Microsecond),
		t0.Add(time.Millisecond), t0.Add(time.Hour), t0.Add(2*time.Hour), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (p *play) data() json.RawMessage {
	return one(p, "data", nil, json.RawMessage(`{}`), json.RawMessage(`null`), json.RawMessage(`{"a":[1,"\u0000"]}`))
}

func (p *play) priority() int32 {
	return one[int32](p, "priority", math.MinInt32, -1, 0, 5, 6, math.MaxInt32)
}

func (p *play) runID() jobhost.RunID {
	return id(p.int("run", 12), t0.Add(time.Duration(p.int("drawn", 2))*time.Millisecond))
}

func (p *play) putJobs() op {
	jobs := some(p, "jobs", func() jobhost.Job {
		j := jobhost.Job{JobDef: jobhost.NewJob(p.name(), "p"), Source: jobhost.SourceFile}
		if p.yes("full") {
			j = newJob(j.Name)
		}
		j.Data = p.data()
		return j
	})
	return op{"PutJobs", func(tx jobhost.Tx) (any, error) { return nil, tx.PutJobs(jobs...) }}
}

func (p *play) deleteJobs() op {
	names := some(p, "names", p.name)
	return op{"DeleteJobs", func(tx jobhost.Tx) (any, error) { return nil, tx.DeleteJobs(names...) }}
}

func (p *play) putTriggers() op {
	ts := some(p, "triggers", func() jobhost.Trigger {
		k := p.key()
		t := newTrigger(k.Job, k.Trigger, p.priority(), p.instant())
		if p.yes("full") {
			t = fullTrigger(k.Job, k.Trigger, p.instant())
			t.Priority, t.OneShot.Kind = p.priority(), one(p, "kind", jobhost.KindManual, jobhost.KindRetry)
			t.OneShot.RunID = jobhost.NewRunID(t0, [10]byte{k.Job[len(k.Job)-1], k.Trigger[len(k.Trigger)-1], byte(len(k.Job)), byte(len(k.Trigger))})
		}
		t.Ready, t.LastFired = p.instant(), p.instant()
		t.State = one(p, "state", jobhost.TriggerWaiting, jobhost.TriggerRunning, jobhost.TriggerBlocked, jobhost.TriggerComplete)
		t.Data = p.data()
		return t
	})
	return op{"PutTriggers", func(tx jobhost.Tx) (any, error) { return nil, tx.PutTriggers(ts...) }}
}

func (p *play) deleteTriggers() op {
	keys := some(p, "keys", p.key)
	return op{"DeleteTriggers", func(tx jobhost.Tx) (any, error) { return nil, tx.DeleteTriggers(keys...) }}
}

// putRuns starts runs and ends some that were started; a run that has ended is not put again.
func (p *play) putRuns() op {
	var rs []jobhost.Run
	for range rapid.IntRange(0, 4).Draw(p.rt, "runs") {
		id := p.runID()
		r, known := p.runs[id]
		if known && r.State.Ended() {
			continue
		}
		if !known {
			r = fullRun(1, p.name(), p.instant(), p.instant())
			if r.StartedAt.IsZero() {
				r.StartedAt = t0
			}
			r.ID, r.Node, r.Data = id, one(p, "node", "n", "n-1"), p.data()
			r.Kind, r.RetryOf = one(p, "kind", jobhost.KindSchedule, jobhost.KindRetry), one(p, "retry of", "", p.runID())
		}
		r.State = one(p, "state", jobhost.RunRunning, jobhost.RunSucceeded, jobhost.RunLost)
		r.EndedAt = time.Time{}
		if r.State.Ended() {
			r.EndedAt = p.instant()
			if !known && p.yes("never started") {
				r.StartedAt = time.Time{}
			}
		}
		p.runs[id] = r
		rs = append(rs, r)
	}
	return op{"PutRuns", func(tx jobhost.Tx) (any, error) { return nil, tx.PutRuns(rs...) }}
}

func (p *play) logs() op {
	id, chunk := p.runID(), []byte(one(p, "chunk", "", "one", "two"))
	if p.yes("output") {
		return op{"PutOutput", func(tx jobhost.Tx) (any, error) { return nil, tx.PutOutput(id, chunk) }}
	}
	return op{"AppendLog", func(tx jobhost.Tx) (any, error) { return nil, tx.AppendLog(id, chunk) }}
}

// prune goes on until nothing is left to prune, since a store may choose what goes first.
func (p *play) prune() op {
	at, job, keep, limit := p.instant(), p.name(), p.int("keep", 3), 1+p.int("limit", 3)
	what := one(p, "what", "PruneRuns", "PruneJobRuns", "PruneIdempotent")
	return op{what, func(tx jobhost.Tx) (any, error) {
		var counts []int
		for {
			var n int
			var err error
			switch what {
			case "PruneRuns":
				n, err = tx.PruneRuns(at, limit)
			case "PruneJobRuns":
				n, err = tx.PruneJobRuns(job, keep, limit)
			case "PruneIdempotent":
				n, err = tx.PruneIdempotent(at, limit)
			}
			if n == 0 || err != nil {
				return counts, err
			}
			counts = append(counts, n)
		}
	}}
}

func (p *play) due() op {
	q := jobhost.DueQuery{
		Now: p.instant(), Limit: p.int("limit", 6), OneShots: p.yes("one-shots"),
		NotJobs: map[jobhost.Name]bool{}, NotTriggers: map[jobhost.TriggerKey]bool{},
	}
	for _, n := range some(p, "not jobs", p.name) {
		q.NotJobs[n] = p.yes("not")
	}
	for _, k := range some(p, "not triggers", p.key) {
		q.NotTriggers[k] = p.yes("not")
	}
	return op{fmt.Sprintf("Due %+v", q), func(tx jobhost.Tx) (any, error) {
		next, e1 := tx.NextReady(q)
		ts, e2 := tx.Due(q)
		return []any{ts, next}, errors.Join(e1, e2)
	}}
}

func (p *play) query() op {
	q := jobhost.RunQuery{Limit: 1 + p.int("limit", 6), Skip: p.int("skip", 3)}
	if p.yes("by job") {
		q.Job = p.name()
	}
	if p.yes("by instant") {
		q.From, q.To = p.instant(), p.instant()
	}
	switch p.int("by", 7) {
	case 0:
		q.IDs = append(some(p, "ids", p.runID), p.runID())
	case 1:
		q.States = []jobhost.RunState{one(p, "state", jobhost.RunRunning, jobhost.RunSucceeded, jobhost.RunLost)}
	case 2:
		q.Node = "n"
	case 3:
		q.RetryOf = p.runID()
	case 5:
		q.Prefix = string(p.runID()[:one(p, "digits", 1, 8, 9, 12, 16, 18, 32)])
	case 4:
		q.Kinds = []jobhost.RunKind{jobhost.KindRetry}
	}
	return op{fmt.Sprintf("QueryRuns %+v", q), func(tx jobhost.Tx) (any, error) {
		n, e1 := tx.CountRuns(q)
		rs, e2 := tx.QueryRuns(q)
		return []any{n, rs}, errors.Join(e1, e2)
	}}
}

func (p *play) pending() op {
	job, limit, after := one(p, "of a job", "", p.name()), p.int("limit", 3), jobhost.RunID("")
	switch p.int("after", 3) {
	case 0:
		after = jobhost.NewRunID(t0, [10]byte{'a', 'b', 1, 2})
	case 1:
		after = jobhost.NewRunID(t0, [10]byte{'b', 'a', 3})[:one(p, "digits", 11, 14, 15, 32)]
	}
	return op{fmt.Sprintf("PendingIDs %q %q %d", job, after, limit), func(tx jobhost.Tx) (any, error) {
		return wrap(tx.PendingIDs(job, after, limit))
	}}
}

func (p *play) nodes() op {
	node, run := one(p, "node", "n", "n-1"), p.runID()
	n := jobhost.Node{ID: node, Started: p.instant(), Beat: p.instant()}
	switch one(p, "what", "put", "delete", "cancel", "take") {
	case "put":
		return op{"PutNode", func(tx jobhost.Tx) (any, error) { return wrap(tx.PutNode(n)) }}
	case "delete":
		return op{"DeleteNode", func(tx jobhost.Tx) (any, error) { return nil, tx.DeleteNode(node) }}
	case "cancel":
		return op{"PutCancel", func(tx jobhost.Tx) (any, error) { return nil, tx.PutCancel(node, run) }}
	default:
		return op{"TakeCancels", func(tx jobhost.Tx) (any, error) {
			ids, err := tx.TakeCancels(node)
			slices.Sort(ids)
			return ids, err
		}}
	}
}

func (p *play) keys() op {
	job, key, run, at := p.name(), one(p, "key", "", "k", "k2"), p.runID(), p.instant()
	if p.yes("put") {
		return op{"PutIdempotent", func(tx jobhost.Tx) (any, error) { return nil, tx.PutIdempotent(job, key, run, at) }}
	}
	return op{"Idempotent", func(tx jobhost.Tx) (any, error) {
		id, ok, err := tx.Idempotent(job, key, at)
		return []any{id, ok}, err
	}}
}

func (p *play) values() op {
	job, key := p.name(), one(p, "key", "", "k", "k2", "l")
	if p.yes("put") {
		v := one(p, "value", nil, []byte{}, []byte("v"), []byte("value"))
		return op{"PutValue", func(tx jobhost.Tx) (any, error) { return nil, tx.PutValue(job, key, v) }}
	}
	return op{"ValueKeys", func(tx jobhost.Tx) (any, error) {
		keys, size, e1 := tx.ValueKeys(job, key)
		v, ok, e2 := tx.Value(job, "k")
		return []any{keys, size, v, ok}, errors.Join(e1, e2)
	}}
}

// readAll reads all there can be.
func (p *play) readAll() op {
	ids := make([]jobhost.RunID, 0, 39)
	for n := range 13 {
		for ms := range 3 {
			ids = append(ids, id(n, t0.Add(time.Duration(ms)*time.Millisecond)))
		}
	}
	names := []jobhost.Name{"a", "a-b", "a.b", "b"}
	far := time.Date(9999, 12, 1, 0, 0, 0, 0, time.UTC)
	return op{"read all", func(tx jobhost.Tx) (any, error) {
		var all []any
		var errs []error
		add := func(v any, err error) { all, errs = append(all, v), append(errs, err) }
		add(wrap(tx.JobNames("", 99)))
		add(wrap(jobsWithSortedRuns(tx, names...)))
		add(wrap(tx.TriggersOf(names...)))
		add(wrap(tx.Due(due(far, 99))))
		add(wrap(tx.NextReady(due(far, 99))))
		add(wrap(tx.Runs(ids...)))
		add(wrap(tx.QueryRuns(jobhost.RunQuery{Limit: 99})))
		open, err := tx.OpenRuns("")
		add(wrap(sorted(open, err, func(r jobhost.Run) jobhost.RunID { return r.ID })))
		for _, n := range names {
			add(wrap(tx.Blocked(n, 99)))
			add(wrap(tx.QueryRuns(jobhost.RunQuery{Job: n, Limit: 99})))
		}
		for _, id := range ids {
			add(wrap(tx.Log(id)))
			out, ok, err := tx.Output(id)
			add([]any{out, ok}, err)
		}
		nodes, err := tx.Nodes()
		add(wrap(sorted(nodes, err, func(n jobhost.Node) string { return n.ID })))
		return all, errors.Join(errs...)
	}}
}
