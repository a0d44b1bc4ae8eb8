package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// A bucket's place in tx.buckets.
type bucket int

const (
	bMeta bucket = iota
	bJobs
	bTriggers
	bReady
	bBlocked
	bPending
	bOpen
	bRuns
	bJobRuns
	bRunIDs
	bLogs
	bOutputs
	bNodes
	bCancels
	bKeys
	bExpiry
	bValues
	bucketCount
)

var buckets = [bucketCount]string{
	"meta", "jobs", "triggers", "ready", "blocked", "pending", "open", "runs", "jobruns", "runids", "logs", "outputs", "nodes",
	"cancels", "keys", "expiry", "values",
}

// fill is how full a page may get before it is split. Keys that only ever come at the end leave full pages behind.
var fill = [bucketCount]float64{bJobs: 0.9, bTriggers: 0.9, bRuns: 0.95, bLogs: 0.9, bOutputs: 0.9}

const format = 1

// prepare makes the buckets of a new file and checks the format of an old one.
func (s *Store) prepare() error {
	return s.db.Update(func(b *bolt.Tx) error {
		if k, _ := b.Cursor().First(); k != nil && b.Bucket([]byte(buckets[bMeta])) == nil {
			return errors.New("the file is a bbolt file, but no store of jobhost")
		}
		for _, name := range buckets {
			if _, err := b.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		meta := b.Bucket([]byte(buckets[bMeta]))
		got := meta.Get([]byte("format"))
		if got == nil {
			return meta.Put([]byte("format"), []byte{format})
		}
		if v, n := binary.Uvarint(got); n != len(got) || v != format {
			return fmt.Errorf("the file has format %d, and this program knows %d; use a newer jobhost", v, format)
		}
		return nil
	})
}

// tx is one transaction, or the next one in the memory of the last.
type tx struct {
	b       *bolt.Tx
	buckets [bucketCount]*bolt.Bucket // as far as they were needed
	cursors [bucketCount]*bolt.Cursor // for one step at a time; a walk that calls back into tx has its own
	damaged []Damage
	key     []byte                 // scratch; bbolt copies keys
	arena   []byte                 // values, which bbolt keeps until the commit
	begins  bool                   // something was put that stays until somebody deletes it
	written int                    // bytes put
	jobOf   map[rawID]jobhost.Name // of open runs, as far as they are known
	allOpen bool                   // jobOf knows every open run
	full    uint32                 // how many runs are enough for a segment while there are few segments
}

var _ jobhost.Tx = (*tx)(nil)

func (t *tx) begin(b *bolt.Tx, full uint32) {
	clear(t.jobOf)
	if cap(t.arena) > 4<<20 {
		t.arena = nil // one large transaction is no reason to hold on to its memory
	}
	*t = tx{b: b, key: t.key[:0], arena: t.arena[:0], jobOf: t.jobOf, full: full}
}

func (t *tx) bucket(i bucket) *bolt.Bucket {
	b := t.buckets[i]
	if b == nil {
		b = t.b.Bucket([]byte(buckets[i]))
		if fill[i] != 0 {
			b.FillPercent = fill[i]
		}
		t.buckets[i] = b
	}
	return b
}

func (t *tx) put(i bucket, key, value []byte) error {
	t.written += len(key) + len(value)
	return t.bucket(i).Put(key, value)
}

func (t *tx) cursor(i bucket) *bolt.Cursor {
	if t.cursors[i] == nil {
		t.cursors[i] = t.bucket(i).Cursor()
	}
	return t.cursors[i]
}

// delete and get do what bbolt's own do, which make a cursor each time.
func (t *tx) delete(i bucket, key []byte) error {
	c := t.cursor(i)
	if k, _ := c.Seek(key); k == nil || !bytes.Equal(k, key) {
		return nil
	}
	return c.Delete()
}

func (t *tx) get(i bucket, key []byte) []byte {
	k, v := t.cursor(i).Seek(key)
	if !bytes.Equal(k, key) {
		return nil
	}
	return v
}

// encoded calls write with room in the arena and returns what it wrote.
func (t *tx) encoded(write func(*enc)) []byte {
	if cap(t.arena)-len(t.arena) < 1<<10 {
		t.arena = make([]byte, 0, max(64<<10, 2*cap(t.arena))) // the bytes so far stay where they are
	}
	e := enc(t.arena[len(t.arena):])
	write(&e)
	if len(e) <= cap(t.arena)-len(t.arena) {
		t.arena = t.arena[:len(t.arena)+len(e)]
	}
	return e
}

// kept returns a copy of b that lasts as long as the transaction.
func (t *tx) kept(b []byte) []byte {
	return t.encoded(func(e *enc) { *e = append(*e, b...) })
}

// damage notes a record that cannot be read.
func (t *tx) damage(i bucket, key []byte, err error) {
	t.damaged = append(t.damaged, Damage{Bucket: buckets[i], Key: bytes.Clone(key), Err: err})
}

// scan calls each for the keys with a prefix, in order, until it answers false. Keys and values are bbolt's own. In
// each nothing else may be done with the bucket.
func (t *tx) scan(i bucket, prefix []byte, each func(k, v []byte) bool) {
	c := t.cursor(i)
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if !each(k, v) {
			return
		}
	}
}

// keysWith returns the keys with a prefix. It is for deleting: a cursor skips keys when the bucket changes below it.
func (t *tx) keysWith(i bucket, prefix []byte) (keys [][]byte) {
	t.scan(i, prefix, func(k, _ []byte) bool {
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
