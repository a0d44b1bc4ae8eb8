package boltstore

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/jobhost/jobhost"
)

func (t *tx) Nodes() ([]jobhost.Node, error) {
	var out []jobhost.Node
	t.scan(bNodes, nil, func(k, v []byte) bool {
		n, err := decodeNode(string(k), v)
		if err != nil {
			t.damage(bNodes, k, err)
		} else {
			out = append(out, n)
		}
		return true
	})
	return out, nil
}

func (t *tx) PutNode(n jobhost.Node) (existed bool, err error) {
	t.key = append(t.key[:0], n.ID...)
	existed = t.get(bNodes, t.key) != nil
	return existed, t.put(bNodes, t.key, t.encoded(func(e *enc) { e.node(&n) }))
}

func (t *tx) DeleteNode(id string) error { return t.delete(bNodes, []byte(id)) }

// putCancels is in front of all requests for a node. Node ids may have any characters.
func putCancels(b []byte, node string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(node))), node...) //nolint:gosec // shorter than a key
}

func (t *tx) PutCancel(node string, id jobhost.RunID) error {
	raw, err := parseID(id)
	if err != nil {
		return err
	}
	t.key = append(putCancels(t.key[:0], node), raw[:]...)
	return t.put(bCancels, t.key, nil)
}

func (t *tx) TakeCancels(node string) ([]jobhost.RunID, error) {
	prefix := putCancels(nil, node)
	keys := t.keysWith(bCancels, prefix)
	var ids []jobhost.RunID
	for _, k := range keys {
		if len(k) != len(prefix)+idLen {
			t.damage(bCancels, k, errKey)
			continue
		}
		ids = append(ids, rawID(k[len(prefix):]).id())
	}
	return ids, t.deleteAll(bCancels, keys)
}

// cancelKey takes a request apart.
func cancelKey(k []byte) (node string, id rawID, err error) {
	if len(k) < 4 || uint64(len(k)) != 4+uint64(binary.BigEndian.Uint32(k))+idLen {
		return "", id, errKey
	}
	n := len(k) - idLen
	return string(k[4:n]), rawID(k[n:]), nil
}

// idempotent reads a key's record: the version of its form, the run's id, the instant of its expiry.
func idempotent(v []byte) (id rawID, until int64, err error) {
	switch {
	case len(v) > 0 && v[0] != versions[idempotentRecord]:
		return id, 0, errVersion(v[0], idempotentRecord)
	case len(v) != 1+idLen+8:
		return id, 0, errShort
	}
	return rawID(v[1:]), micro(v[1+idLen:]), nil
}

func (t *tx) Idempotent(job jobhost.Name, key string, now time.Time) (jobhost.RunID, bool, error) {
	t.key = append(putName(t.key[:0], job), key...)
	v := t.get(bKeys, t.key)
	if v == nil {
		return "", false, nil
	}
	id, until, err := idempotent(v)
	if err != nil {
		t.damage(bKeys, t.key, err)
		return "", false, nil
	}
	if now.UnixMicro() >= until {
		return "", false, nil
	}
	return id.id(), true, nil
}

func (t *tx) PutIdempotent(job jobhost.Name, key string, id jobhost.RunID, until time.Time) error {
	raw, err := parseID(id)
	if err != nil {
		return err
	}
	k := append(putName(nil, job), key...)
	if err := t.deleteIdempotent(k); err != nil {
		return err
	}
	t.begins = true
	v := t.encoded(func(e *enc) {
		*e = putMicro(append(append(*e, versions[idempotentRecord]), raw[:]...), until.UnixMicro())
	})
	if err := t.put(bKeys, k, v); err != nil {
		return err
	}
	t.key = append(putMicro(t.key[:0], until.UnixMicro()), k...)
	return t.put(bExpiry, t.key, nil)
}

// deleteIdempotent deletes a key with its place in the order of expiry.
func (t *tx) deleteIdempotent(k []byte) error {
	if _, until, err := idempotent(t.get(bKeys, k)); err == nil {
		t.key = append(putMicro(t.key[:0], until), k...)
		if err := t.delete(bExpiry, t.key); err != nil {
			return err
		}
	}
	return t.delete(bKeys, k)
}

func (t *tx) PruneIdempotent(now time.Time, limit int) (int, error) {
	var old [][]byte
	c := t.bucket(bExpiry).Cursor()
	for k, _ := c.First(); k != nil && len(old) < limit; k, _ = c.Next() {
		if len(k) < 8 {
			t.damage(bExpiry, k, errKey)
			continue
		}
		if micro(k) > now.UnixMicro() {
			break
		}
		old = append(old, k)
	}
	for _, k := range old {
		if err := t.delete(bKeys, bytes.Clone(k[8:])); err != nil {
			return 0, err
		}
	}
	return len(old), t.deleteAll(bExpiry, old)
}
