package boltstore

import (
	"bytes"
	"errors"

	"github.com/jobhost/jobhost"
)

// trigger reads one trigger; ok is false when there is none, or none that can be read.
func (t *tx) trigger(key jobhost.TriggerKey) (x jobhost.Trigger, ok bool) {
	t.key = putTriggerKey(t.key[:0], key)
	b := t.get(bTriggers, t.key)
	if b == nil {
		return x, false
	}
	x, err := decodeTrigger(key, b)
	if err != nil {
		t.damage(bTriggers, t.key, err)
	}
	return x, err == nil
}

// listedTrigger reads the trigger that an entry of an index stands for.
func (t *tx) listedTrigger(i bucket, entry []byte, key jobhost.TriggerKey, agrees func(*jobhost.Trigger) bool) (x jobhost.Trigger, ok bool) {
	x, ok = t.trigger(key)
	switch {
	case ok && !agrees(&x):
		t.damage(i, entry, errIndex)
		return x, false
	case !ok && t.get(bTriggers, t.key) == nil:
		t.damage(i, entry, errIndex)
	}
	return x, ok
}

var errIndex = errors.New("the index has what no trigger's record says")

func (t *tx) Triggers(keys ...jobhost.TriggerKey) ([]jobhost.Trigger, error) {
	out := make([]jobhost.Trigger, 0, len(keys))
	for _, k := range keys {
		if x, ok := t.trigger(k); ok {
			out = append(out, x)
		}
	}
	return out, nil
}

func (t *tx) TriggersOf(jobs ...jobhost.Name) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	for _, n := range inOrder(jobs) {
		t.key = putName(t.key[:0], n)
		t.scan(bTriggers, t.key, func(k, v []byte) bool {
			x, err := decodeTrigger(jobhost.TriggerKey{Job: n, Trigger: string(k[len(n)+1:])}, v)
			if err != nil {
				t.damage(bTriggers, k, err)
			} else {
				out = append(out, x)
			}
			return true
		})
	}
	return out, nil
}

func (t *tx) Pending(ids ...jobhost.RunID) ([]jobhost.Trigger, error) {
	var out []jobhost.Trigger
	for _, id := range ids {
		raw, ok := toRaw(id)
		if !ok {
			continue
		}
		b := t.get(bPending, raw[:])
		if b == nil {
			continue
		}
		key, err := triggerKey(b)
		if err != nil {
			t.damage(bPending, raw[:], err)
		} else if x, ok := t.listedTrigger(bPending, raw[:], key, func(x *jobhost.Trigger) bool { return listingOf(x).pending == raw }); ok {
			out = append(out, x)
		}
	}
	return out, nil
}

func (t *tx) PendingIDs(job jobhost.Name, after jobhost.RunID, limit int) (ids []jobhost.RunID, err error) {
	from, _ := bounds(string(after))
	of := putName(nil, job)
	c := t.bucket(bPending).Cursor()
	for k, v := c.Seek(from[:]); k != nil && len(ids) < limit; k, v = c.Next() {
		if len(k) != idLen {
			t.damage(bPending, k, errKey)
			continue
		}
		if id := rawID(k).id(); id > after && (job == "" || bytes.HasPrefix(v, of)) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (t *tx) PutTriggers(ts ...jobhost.Trigger) error {
	for i := range ts {
		if err := t.putTrigger(&ts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putTrigger(x *jobhost.Trigger) error {
	is := listingOf(x)
	t.key = putTriggerKey(t.key[:0], x.Key)
	was, had, err := t.listed(x.Key)
	if err != nil {
		return err
	}
	if err := t.put(bTriggers, t.key, t.encoded(func(e *enc) { e.trigger(x) })); err != nil {
		return err
	}
	if had && was == is {
		return nil
	}
	if had {
		if err := t.unlist(x.Key, was); err != nil {
			return err
		}
	}
	if is.isReady() {
		t.key = putReadyKey(t.key[:0], is.priority, is.ready, x.Key)
		v := noOneShot
		if is.oneShot {
			v = yesOneShot
		}
		if err := t.put(bReady, t.key, v); err != nil {
			return err
		}
	}
	if is.state == jobhost.TriggerBlocked {
		t.key = putBlockedKey(t.key[:0], is.priority, is.due, x.Key)
		if err := t.put(bBlocked, t.key, nil); err != nil {
			return err
		}
	}
	if is.pending != (rawID{}) {
		t.begins = t.begins || !had
		return t.put(bPending, is.pending[:], putTriggerKey(nil, x.Key))
	}
	return nil
}

var noOneShot, yesOneShot = []byte{0}, []byte{1}

// listed reads how the trigger at t.key is listed. A record that cannot be read is taken out of the indices the slow
// way.
func (t *tx) listed(key jobhost.TriggerKey) (l listing, had bool, err error) {
	old := t.get(bTriggers, t.key)
	if old == nil {
		return l, false, nil
	}
	d := dec{b: old}
	var x jobhost.Trigger
	if l = d.listing(&x); d.err == nil {
		return l, true, nil
	}
	return l, false, t.search(key)
}

func (t *tx) unlist(key jobhost.TriggerKey, l listing) error {
	if l.isReady() {
		t.key = putReadyKey(t.key[:0], l.priority, l.ready, key)
		if err := t.delete(bReady, t.key); err != nil {
			return err
		}
	}
	if l.state == jobhost.TriggerBlocked {
		t.key = putBlockedKey(t.key[:0], l.priority, l.due, key)
		if err := t.delete(bBlocked, t.key); err != nil {
			return err
		}
	}
	if l.pending != (rawID{}) {
		return t.delete(bPending, l.pending[:])
	}
	return nil
}

// search removes every entry of a trigger from the indices.
func (t *tx) search(key jobhost.TriggerKey) error {
	var ready, blocked, pending [][]byte
	suffix := putTriggerKey(nil, key)
	t.scan(bReady, nil, func(k, _ []byte) bool {
		if len(k) == readyLen+len(suffix) && bytes.HasSuffix(k, suffix) {
			ready = append(ready, k)
		}
		return true
	})
	t.scan(bPending, nil, func(k, v []byte) bool {
		if bytes.Equal(v, suffix) {
			pending = append(pending, k)
		}
		return true
	})
	prefix := putName(nil, key.Job)
	t.scan(bBlocked, prefix, func(k, _ []byte) bool {
		if len(k) == len(prefix)+readyLen+len(key.Trigger) && bytes.HasSuffix(k, []byte(key.Trigger)) {
			blocked = append(blocked, k)
		}
		return true
	})
	if err := t.deleteAll(bReady, ready); err != nil {
		return err
	}
	if err := t.deleteAll(bPending, pending); err != nil {
		return err
	}
	return t.deleteAll(bBlocked, blocked)
}

func (t *tx) DeleteTriggers(keys ...jobhost.TriggerKey) error {
	for _, k := range keys {
		if err := t.deleteTrigger(k); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) deleteTrigger(key jobhost.TriggerKey) error {
	t.key = putTriggerKey(t.key[:0], key)
	was, had, err := t.listed(key)
	if err != nil {
		return err
	}
	if err := t.delete(bTriggers, t.key); err != nil || !had {
		return err
	}
	return t.unlist(key, was)
}
