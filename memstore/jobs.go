package memstore

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
)

func (t *tx) Jobs(names ...jobhost.Name) ([]jobhost.JobState, error) {
	out := make([]jobhost.JobState, 0, len(names))
	for _, n := range inOrder(names) {
		j, ok := t.jobs.Get(n)
		if !ok {
			continue
		}
		s := jobhost.JobState{Job: cloneJob(j)}
		t.open.Ascend(&jobhost.Run{Job: n}, func(r *jobhost.Run) bool {
			if r.Job != n {
				return false
			}
			s.Open = append(s.Open, r.ID)
			return true
		})
		t.blocked.Ascend(blocked{job: n, priority: math.MaxInt32, due: math.MinInt64}, func(b blocked) bool {
			s.Blocked = b.job == n
			return false
		})
		out = append(out, s)
	}
	return out, nil
}

func (t *tx) JobNames(after jobhost.Name, limit int) ([]jobhost.Name, error) {
	var out []jobhost.Name
	t.jobs.Ascend(after, func(n jobhost.Name, _ *jobhost.Job) bool {
		if n != after && len(out) < limit {
			out = append(out, n)
		}
		return len(out) < limit
	})
	return out, nil
}

func (t *tx) LocalJobs() ([]jobhost.Name, error) {
	return t.locals.Keys(), nil
}

func (t *tx) PutJobs(jobs ...jobhost.Job) error {
	if err := t.write(); err != nil {
		return err
	}
	for i := range jobs {
		j := cloneJob(&jobs[i])
		j.Triggers = nil
		t.jobs.Set(j.Name, &j)
		if j.RunOnEveryInstance {
			t.locals.Insert(j.Name)
		} else {
			t.locals.Delete(j.Name)
		}
	}
	return nil
}

func (t *tx) DeleteJobs(names ...jobhost.Name) error {
	if err := t.write(); err != nil {
		return err
	}
	for _, n := range names {
		t.jobs.Delete(n)
		t.locals.Delete(n)
		var triggers []jobhost.TriggerKey
		t.ofJob(n, func(x trigger) { triggers = append(triggers, x.key) })
		if err := t.DeleteTriggers(triggers...); err != nil {
			return err
		}
		for _, k := range t.keysOf(n) {
			t.keys.Delete(k)
			t.expiry.Delete(k)
		}
		for _, v := range t.valuesOf(n) {
			t.values.Delete(v)
		}
	}
	return nil
}

func (t *tx) keysOf(job jobhost.Name) (out []idempotent) {
	t.keys.Ascend(idempotent{job: job}, func(k idempotent) bool {
		if k.job == job {
			out = append(out, k)
		}
		return k.job == job
	})
	return out
}

func (t *tx) valuesOf(job jobhost.Name) (out []value) {
	t.values.Ascend(value{job: job}, func(v value) bool {
		if v.job == job {
			out = append(out, v)
		}
		return v.job == job
	})
	return out
}

func (t *tx) Value(job jobhost.Name, key string) ([]byte, bool, error) {
	v, ok := t.values.Get(value{job: job, key: key})
	return bytes.Clone(v.value), ok, nil
}

func (t *tx) PutValue(job jobhost.Name, key string, b []byte) error {
	if err := t.write(); err != nil {
		return err
	}
	v := value{job: job, key: key, value: bytes.Clone(b)}
	if b == nil {
		t.values.Delete(v)
	} else {
		t.values.Set(v)
	}
	return nil
}

func (t *tx) ValueKeys(job jobhost.Name, prefix string) (keys []string, size int, err error) {
	for _, v := range t.valuesOf(job) {
		size += len(v.key) + len(v.value)
		if strings.HasPrefix(v.key, prefix) {
			keys = append(keys, v.key)
		}
	}
	return keys, size, nil
}

// inOrder returns names sorted, each once.
func inOrder(names []jobhost.Name) []jobhost.Name {
	if !slices.IsSorted(names) {
		names = slices.Sorted(slices.Values(names))
	}
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return slices.Compact(slices.Clone(names))
		}
	}
	return names
}

func cloneJob(j *jobhost.Job) jobhost.Job {
	c := *j
	c.Data = cloneData(j.Data)
	if j.Retry != nil {
		p := *j.Retry
		c.Retry = &p
	}
	return c
}

// cloneData copies data. Empty data is nil, as in stores that keep no difference.
func cloneData[B ~[]byte](b B) B {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
