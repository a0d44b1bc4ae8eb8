package boltstore

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// A bucket's place in tx.buckets.
type bucket int

const (
	bMeta bucket = iota
	bJobs
	bLocals
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
	bParts
	bucketCount
)

var buckets = [bucketCount]string{
	"meta", "jobs", "locals", "triggers", "ready", "blocked", "pending", "open", "runs", "jobruns", "runids", "logs", "outputs", "nodes",
	"cancels", "keys", "expiry", "values", "parts",
}

// fill is how full a page may get before it is split. Keys that only ever come at the end leave full pages behind; four
// parts make a full one.
var fill = [bucketCount]float64{bJobs: 0.9, bTriggers: 0.9, bRuns: 0.95, bLogs: 0.9, bOutputs: 0.9, bParts: 1}

// tx is one transaction, or the next one in the memory of the last.
type tx struct {
	b       *bolt.Tx
	buckets [bucketCount]*bolt.Bucket // as far as they were needed
	cursors [bucketCount]*bolt.Cursor // for one step at a time; a walk that calls back into tx has its own
	damaged []Damage
	key     []byte                 // scratch; bbolt copies keys
	part    []byte                 // the same for the keys of parts
	some    [bucketCount]int8      // whether a bucket has records in parts: 1 yes, -1 no, 0 not known
	arena   []byte                 // values, which bbolt keeps until the commit
	begins  bool                   // something new was put that stays until somebody deletes it
	adds    bool                   // logs or outputs were put
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
	*t = tx{b: b, key: t.key[:0], part: t.part[:0], arena: t.arena[:0], jobOf: t.jobOf, full: full}
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

func (t *tx) cursor(i bucket) *bolt.Cursor {
	if t.cursors[i] == nil {
		t.cursors[i] = t.bucket(i).Cursor()
	}
	return t.cursors[i]
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

// plain returns the record of bytes that have no form: a one, and the bytes.
func (t *tx) plain(b []byte) []byte {
	return t.encoded(func(e *enc) { *e = append(append(*e, 1), b...) })
}

// bytesOf returns a copy of what a plain record holds; ok is false if it holds nothing.
func bytesOf(v []byte) (b []byte, ok bool) {
	if len(v) == 0 {
		return nil, false
	}
	return append([]byte{}, v[1:]...), true
}

// damage notes a record that cannot be read.
func (t *tx) damage(i bucket, key []byte, err error) {
	t.damaged = append(t.damaged, Damage{Bucket: buckets[i], Key: bytes.Clone(key), Err: err})
}
