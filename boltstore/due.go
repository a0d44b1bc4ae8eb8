package boltstore

import (
	"math"
	"time"

	"github.com/jobhost/jobhost"
)

func (t *tx) Due(q jobhost.DueQuery) ([]jobhost.Trigger, error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	var out []jobhost.Trigger
	now := q.Now.UnixMicro()
	t.byPriority(&q, func(ready int64, x func() (jobhost.Trigger, bool)) bool {
		if ready > now || len(out) >= q.Limit {
			return false
		}
		if tr, ok := x(); ok {
			out = append(out, tr)
		}
		return true
	})
	return out, nil
}

func (t *tx) NextReady(q jobhost.DueQuery) (time.Time, error) {
	next, found := int64(math.MaxInt64), false
	t.byPriority(&q, func(ready int64, x func() (jobhost.Trigger, bool)) bool {
		if found && ready >= next {
			return false
		}
		_, ok := x() // one that cannot be read must not wake anybody: Due does not return it
		if ok {
			next, found = ready, true
		}
		return !ok
	})
	if !found {
		return time.Time{}, nil
	}
	return fromMicro(next), nil
}

// byPriority calls each for the entries of the ready index that the filters of q let pass, a priority at a time, the
// earliest first. When each answers false, the rest of the priority is skipped: a backlog is never walked through to
// find what comes behind it.
func (t *tx) byPriority(q *jobhost.DueQuery, each func(ready int64, trigger func() (jobhost.Trigger, bool)) bool) {
	c := t.bucket(bReady).Cursor()
	var from [4]byte
	k, v := c.First()
	for k != nil {
		p, ready, key, err := readyKey(k)
		if err != nil {
			t.damage(bReady, k, err)
			k, v = c.Next()
			continue
		}
		oneShot := len(v) == 1 && v[0] == 1
		if q.OneShots && !oneShot || q.NotJobs[key.Job] || q.NotTriggers[key] ||
			each(ready, func() (jobhost.Trigger, bool) {
				return t.listedTrigger(bReady, k, key, func(x *jobhost.Trigger) bool {
					return x.Priority == p && x.Ready.UnixMicro() == ready
				})
			}) {
			k, v = c.Next()
			continue
		}
		if p == math.MinInt32 {
			return
		}
		k, v = c.Seek(putPriority(from[:0], p-1))
	}
}

func (t *tx) Blocked(job jobhost.Name, limit int) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	prefix := putName(nil, job)
	t.scan(bBlocked, prefix, func(k, _ []byte) bool {
		if len(out) >= limit {
			return false
		}
		if len(k) < len(prefix)+readyLen {
			t.damage(bBlocked, k, errKey)
			return true
		}
		key := jobhost.TriggerKey{Job: job, Trigger: string(k[len(prefix)+readyLen:])}
		if x, ok := t.listedTrigger(bBlocked, k, key, func(x *jobhost.Trigger) bool {
			return x.State == jobhost.TriggerBlocked && x.Priority == priority(k[len(prefix):]) && x.Due.UnixMicro() == micro(k[len(prefix)+4:])
		}); ok {
			out = append(out, x)
		}
		return true
	})
	return out, nil
}
