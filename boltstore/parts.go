package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// A page of bbolt holds four keys before it is split, however large they are, and then needs as many pages in a row.
// So what is large is put in parts, each a key of its own: every node fits into one page, any free page is good for
// any of them, a file that is nearly full does not fail for want of a row, and a large value is not written again
// with its neighbours. The record then is a zero byte and the length of all parts. A record that is whole does not
// begin with a zero byte.

// partTags stand in the keys of parts for the bucket that they belong to, for all buckets whose records can be large.
var partTags = [bucketCount]byte{
	bJobs: 'j', bTriggers: 't', bOpen: 'o', bRuns: 'r', bLogs: 'l', bOutputs: 'p', bNodes: 'n', bValues: 'v',
}

// mostInPage is the most bytes of a key and its value of which four fit into a page of 4 KiB.
const mostInPage = 1000

// room is how large a value can be beside a key. Keys are shorter than a page by far.
func room(key []byte) int { return max(mostInPage-len(key), 100) }

var errParts = errors.New("the record's parts are not what it says")

func (t *tx) put(i bucket, key, value []byte) error {
	t.written += len(key) + len(value)
	if partTags[i] != 0 {
		if err := t.deleteParts(i, key); err != nil {
			return err
		}
		if len(value) > room(key) {
			return t.putParts(i, key, value)
		}
	}
	return t.bucket(i).Put(key, value)
}

func (t *tx) putParts(i bucket, key, value []byte) error {
	head := t.encoded(func(e *enc) {
		e.byte(0)
		e.uint(uint64(len(value)))
	})
	if err := t.bucket(i).Put(key, head); err != nil {
		return err
	}
	t.some[i] = 1
	n := len(t.partKey(i, key))
	for part := range slices.Chunk(value, room(t.part)-4) {
		if err := t.bucket(bParts).Put(t.part, part); err != nil {
			return err
		}
		number := binary.BigEndian.Uint32(t.part[n-4:]) + 1
		t.part = binary.BigEndian.AppendUint32(t.part[:n-4], number)
	}
	return nil
}

// partKey leaves the key of a record's first part in t.part.
func (t *tx) partKey(i bucket, key []byte) []byte {
	t.part = binary.BigEndian.AppendUint16(append(t.part[:0], partTags[i]), uint16(len(key))) //nolint:gosec // bbolt's limit
	t.part = append(append(t.part, key...), 0, 0, 0, 0)
	return t.part
}

// deleteParts deletes the parts of the record at a key, if it is in parts.
func (t *tx) deleteParts(i bucket, key []byte) error {
	if !t.hasParts(i) {
		return nil
	}
	if k, v := t.cursor(i).Seek(key); bytes.Equal(k, key) && isHead(v) {
		return t.dropParts(i, key)
	}
	return nil
}

func (t *tx) dropParts(i bucket, key []byte) error {
	prefix := bytes.Clone(t.partKey(i, key))
	for _, k := range t.keysWith(bParts, prefix[:len(prefix)-4]) {
		if err := t.delete(bParts, k); err != nil {
			return err
		}
	}
	return nil
}

// hasParts reports whether anything of a bucket may be in parts. Mostly nothing is, and then no record need be read
// before it is overwritten.
func (t *tx) hasParts(i bucket) bool {
	if t.some[i] == 0 {
		t.some[i] = -1
		if k, _ := t.cursor(bParts).Seek(partTags[i : i+1]); len(k) > 0 && k[0] == partTags[i] {
			t.some[i] = 1
		}
	}
	return t.some[i] > 0
}

func isHead(v []byte) bool { return len(v) > 0 && v[0] == 0 }

// length is how many bytes a value has, all parts together.
func length(v []byte) int {
	if !isHead(v) {
		return len(v)
	}
	n, _ := binary.Uvarint(v[1:])
	return int(n) //nolint:gosec // only added up
}

// whole returns a value as it was put. One whose parts are not there comes back empty, which no record is.
func (t *tx) whole(i bucket, key, v []byte) []byte {
	if partTags[i] == 0 || !isHead(v) {
		return v
	}
	all := []byte{}
	prefix := t.partKey(i, key)
	t.walk(bParts, prefix[:len(prefix)-4], func(_, part []byte) bool {
		all = append(all, part...)
		return true
	})
	if len(all) != length(v) {
		t.damage(i, key, errParts)
		return []byte{}
	}
	return all
}

// delete and get do what bbolt's own do, which make a cursor each time.
func (t *tx) delete(i bucket, key []byte) error {
	if partTags[i] != 0 {
		if err := t.deleteParts(i, key); err != nil {
			return err
		}
	}
	c := t.cursor(i)
	if k, _ := c.Seek(key); k == nil || !bytes.Equal(k, key) {
		return nil
	}
	return c.Delete()
}

func (t *tx) get(i bucket, key []byte) []byte {
	v := t.peek(i, key)
	if v == nil {
		return nil
	}
	return t.whole(i, key, v)
}

// peek is get with the value as it stands in the bucket.
func (t *tx) peek(i bucket, key []byte) []byte {
	k, v := t.cursor(i).Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	return v
}

// scan calls each for the keys with a prefix, in order, until it answers false. Keys and values are not to be changed,
// and in each nothing else may be done with the bucket.
func (t *tx) scan(i bucket, prefix []byte, each func(k, v []byte) bool) {
	t.walk(i, prefix, func(k, v []byte) bool { return each(k, t.whole(i, k, v)) })
}

// walk is scan with values as they stand in the bucket, for who does not look at them.
func (t *tx) walk(i bucket, prefix []byte, each func(k, v []byte) bool) {
	c := t.cursor(i)
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if !each(k, v) {
			return
		}
	}
}

// keysWith returns the keys with a prefix. It is for deleting: a cursor skips keys when the bucket changes below it.
func (t *tx) keysWith(i bucket, prefix []byte) (keys [][]byte) {
	t.walk(i, prefix, func(k, _ []byte) bool {
		keys = append(keys, k)
		return true
	})
	return keys
}

func (t *tx) deleteAll(i bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := t.delete(i, k); err != nil {
			return err
		}
	}
	return nil
}
