package memstore

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"

	"github.com/jobhost/jobhost"
)

// state is one version of everything: the records, and the orders in which they are listed.
type state struct {
	jobs     *btree.Map[jobhost.Name, *jobhost.Job]
	locals   *btree.Set[jobhost.Name] // jobs that run on every instance
	triggers *btree.BTreeG[trigger]
	ready    *btree.BTreeG[ready]
	blocked  *btree.BTreeG[blocked]
	pending  *btree.Map[jobhost.RunID, jobhost.TriggerKey] // manual one-shots by the ids of their runs

	runs    *btree.Map[jobhost.RunID, *jobhost.Run]
	history *btree.BTreeG[started]      // every run, newest start first
	byJob   *btree.BTreeG[started]      // the same within each job
	open    *btree.BTreeG[*jobhost.Run] // those that have not ended
	logs    *btree.Map[jobhost.RunID, [][]byte]
	outputs *btree.Map[jobhost.RunID, []byte]

	nodes   *btree.Map[string, jobhost.Node]
	cancels *btree.BTreeG[cancel]
	keys    *btree.BTreeG[idempotent]
	expiry  *btree.BTreeG[idempotent] // the same keys, the first to expire first
	values  *btree.BTreeG[value]
}

// The items of the trees are small, since a changed branch is copied with all that is in it.
type (
	trigger struct {
		key jobhost.TriggerKey
		*jobhost.Trigger
	}
	ready struct {
		priority int32
		at       int64 // microseconds since 1970
		key      jobhost.TriggerKey
		oneShot  bool
	}
	blocked struct {
		job      jobhost.Name
		priority int32
		due      int64 // microseconds since 1970
		trigger  jobhost.Name
	}
	started struct {
		at int64 // microseconds since 1970
		*jobhost.Run
	}
	cancel struct {
		node string
		id   jobhost.RunID
	}
	idempotent struct {
		job   jobhost.Name
		key   string
		id    jobhost.RunID
		until int64 // microseconds since 1970
	}
	value struct {
		job   jobhost.Name
		key   string
		value []byte
	}
)

func newState() *state {
	return &state{
		jobs:     new(btree.Map[jobhost.Name, *jobhost.Job]),
		locals:   new(btree.Set[jobhost.Name]),
		triggers: tree(func(a, b trigger) int { return byKey(a.key, b.key) }),
		ready: tree(func(a, b ready) int {
			if c := cmp.Compare(b.priority, a.priority); c != 0 {
				return c
			}
			if c := cmp.Compare(a.at, b.at); c != 0 {
				return c
			}
			return byKey(a.key, b.key)
		}),
		blocked: tree(func(a, b blocked) int {
			return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(b.priority, a.priority), cmp.Compare(a.due, b.due),
				cmp.Compare(a.trigger, b.trigger))
		}),
		pending: new(btree.Map[jobhost.RunID, jobhost.TriggerKey]),
		runs:    new(btree.Map[jobhost.RunID, *jobhost.Run]),
		history: tree(newest),
		byJob: tree(func(a, b started) int {
			if a.Job != b.Job {
				return cmp.Compare(a.Job, b.Job)
			}
			return newest(a, b)
		}),
		open:    tree(func(a, b *jobhost.Run) int { return byTwo(a.Job, b.Job, a.ID, b.ID) }),
		logs:    new(btree.Map[jobhost.RunID, [][]byte]),
		outputs: new(btree.Map[jobhost.RunID, []byte]),
		nodes:   new(btree.Map[string, jobhost.Node]),
		cancels: tree(func(a, b cancel) int { return byTwo(a.node, b.node, a.id, b.id) }),
		keys:    tree(func(a, b idempotent) int { return byTwo(a.job, b.job, a.key, b.key) }),
		expiry: tree(func(a, b idempotent) int {
			if a.until != b.until {
				return cmp.Compare(a.until, b.until)
			}
			return byTwo(a.job, b.job, a.key, b.key)
		}),
		values: tree(func(a, b value) int { return byTwo(a.job, b.job, a.key, b.key) }),
	}
}

func newest(a, b started) int {
	if a.at != b.at {
		return cmp.Compare(b.at, a.at)
	}
	return cmp.Compare(a.ID, b.ID)
}

func byKey(a, b jobhost.TriggerKey) int { return byTwo(a.Job, b.Job, a.Trigger, b.Trigger) }

// byTwo compares a pair of names, the second only if it must.
func byTwo[T ~string](a1, b1 string, a2, b2 T) int {
	if c := cmp.Compare(a1, b1); c != 0 {
		return c
	}
	return cmp.Compare(a2, b2)
}

func tree[T any](compare func(a, b T) int) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(func(a, b T) bool { return compare(a, b) < 0 }, btree.Options{NoLocks: true})
}

// next returns a version that can be changed without s changing. It copies the tops of the trees only; a branch is
// copied when something in it changes.
func (s *state) next() *state {
	return &state{
		jobs: s.jobs.Copy(), locals: s.locals.Copy(), triggers: s.triggers.Copy(), ready: s.ready.Copy(), blocked: s.blocked.Copy(),
		pending: s.pending.Copy(),
		runs:    s.runs.Copy(), history: s.history.Copy(), byJob: s.byJob.Copy(), open: s.open.Copy(),
		logs: s.logs.Copy(), outputs: s.outputs.Copy(),
		nodes: s.nodes.Copy(), cancels: s.cancels.Copy(), keys: s.keys.Copy(), expiry: s.expiry.Copy(), values: s.values.Copy(),
	}
}

// instant is how stores keep time: UTC, microseconds, no monotonic reading.
func instant(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }
