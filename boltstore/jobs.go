package boltstore

import (
	"slices"

	"github.com/jobhost/jobhost"
)

func (t *tx) Jobs(names ...jobhost.Name) ([]jobhost.JobState, error) {
	out := make([]jobhost.JobState, 0, len(names))
	for _, n := range inOrder(names) {
		t.key = append(t.key[:0], n...)
		b := t.get(bJobs, t.key)
		if b == nil {
			continue
		}
		j, err := decodeJob(n, b)
		if err != nil {
			t.damage(bJobs, t.key, err)
			continue
		}
		s := jobhost.JobState{Job: j}
		t.key = putName(t.key[:0], n)
		t.scan(bOpen, t.key, func(k, v []byte) bool {
			if id, ok := t.openKey(n, k); !ok {
				return true
			} else if err := checkRun(v); err != nil { // nobody could end it
				t.damage(bOpen, k, err)
			} else {
				s.Open = append(s.Open, id.id())
			}
			return true
		})
		t.scan(bBlocked, t.key, func(_, _ []byte) bool {
			s.Blocked = true
			return false
		})
		out = append(out, s)
	}
	return out, nil
}

func (t *tx) JobNames(after jobhost.Name, limit int) ([]jobhost.Name, error) {
	var out []jobhost.Name
	c := t.cursor(bJobs)
	for k, _ := c.Seek([]byte(after)); k != nil && len(out) < limit; k, _ = c.Next() {
		if string(k) != after {
			out = append(out, string(k))
		}
	}
	return out, nil
}

func (t *tx) PutJobs(jobs ...jobhost.Job) error {
	for i := range jobs {
		t.key = append(t.key[:0], jobs[i].Name...)
		record := t.encoded(func(e *enc) { e.job(&jobs[i]) })
		const little = 4 << 10 // a pause with its reason, another limit
		if was := t.get(bJobs, t.key); was == nil || len(record) > len(was)+little {
			t.begins = true
		}
		if err := t.put(bJobs, t.key, record); err != nil {
			return err
		}
		if err := t.markLocal(jobs[i].Name, jobs[i].RunOnEveryInstance); err != nil {
			return err
		}
	}
	return nil
}

// markLocal notes whether a job runs on every instance. It writes only what changes.
func (t *tx) markLocal(name jobhost.Name, local bool) error {
	t.key = append(t.key[:0], name...)
	switch was := t.get(bLocals, t.key) != nil; {
	case was == local:
		return nil
	case local:
		return t.put(bLocals, t.key, []byte{})
	}
	return t.delete(bLocals, t.key)
}

func (t *tx) LocalJobs() ([]jobhost.Name, error) {
	var out []jobhost.Name
	t.scan(bLocals, nil, func(k, _ []byte) bool {
		out = append(out, string(k))
		return true
	})
	return out, nil
}

func (t *tx) DeleteJobs(names ...jobhost.Name) error {
	for _, n := range names {
		if err := t.delete(bJobs, []byte(n)); err != nil {
			return err
		}
		if err := t.markLocal(n, false); err != nil {
			return err
		}
		prefix := putName(nil, n)
		for _, k := range t.keysWith(bTriggers, prefix) {
			if err := t.deleteTrigger(jobhost.TriggerKey{Job: n, Trigger: string(k[len(prefix):])}); err != nil {
				return err
			}
		}
		for _, k := range t.keysWith(bKeys, prefix) {
			if err := t.deleteIdempotent(k); err != nil {
				return err
			}
		}
		if err := t.deleteAll(bValues, t.keysWith(bValues, prefix)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) Value(job jobhost.Name, key string) ([]byte, bool, error) {
	t.key = append(putName(t.key[:0], job), key...)
	v, ok := bytesOf(t.get(bValues, t.key))
	return v, ok, nil
}

func (t *tx) PutValue(job jobhost.Name, key string, value []byte) error {
	t.key = append(putName(t.key[:0], job), key...)
	if value == nil {
		return t.delete(bValues, t.key)
	}
	t.begins = true
	return t.put(bValues, t.key, t.plain(value))
}

func (t *tx) ValueKeys(job jobhost.Name, prefix string) (keys []string, size int, err error) {
	t.key = putName(t.key[:0], job)
	skip := len(t.key)
	t.walk(bValues, t.key, func(k, v []byte) bool {
		k = k[skip:]
		size += len(k) + length(v) - 1
		if len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix {
			keys = append(keys, string(k))
		}
		return true
	})
	return keys, size, nil
}

// inOrder returns names sorted, each once.
func inOrder(names []jobhost.Name) []jobhost.Name {
	for i := 1; i < len(names); i++ {
		if names[i] <= names[i-1] {
			return slices.Compact(slices.Sorted(slices.Values(names)))
		}
	}
	return names
}
