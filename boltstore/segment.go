package boltstore

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// The ended runs of a job lie scattered among those of all others. One index by job would change a page for nearly
// every run that ends, and pages are what a commit costs. So the index is written in segments: a run goes into the
// newest one, which is small enough that the runs of one commit share its pages, and when that is full the next begins.
// A query merges the segments. A head says how late the runs of its segment and of all older ones started, so that the
// newest runs are found without looking into every segment.

const (
	segmentLen  = 4
	segmentRuns = 8192 // that go into a segment while there are few of them
)

// segment is the newest segment as one call of PutRuns fills it.
type segment struct {
	number uint32
	count  uint32 // runs that went into it
	latest int64  // the latest start in it and in older ones
}

func putSegment(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

// newestSegment reads the newest segment, and begins another when that is full.
func (t *tx) newestSegment() *segment {
	n := t.bucket(bJobRuns).Sequence()
	s := &segment{number: uint32(n >> 32), count: uint32(n)} //nolint:gosec // two halves
	s.latest = t.latest(s.number, math.MinInt64)
	if s.count >= t.full && uint64(s.count)*64 >= uint64(t.full)*t.liveSegments(s.number) {
		s.number, s.count = s.number+1, 0
	}
	return s
}

// liveSegments is how many segments there are. More of them make the next ones larger, so that their number grows with
// the square root of the number of runs.
func (t *tx) liveSegments(newest uint32) uint64 {
	k, _ := t.cursor(bJobRuns).First()
	if len(k) < segmentLen {
		return 1
	}
	return uint64(newest) - uint64(binary.BigEndian.Uint32(k)) + 1
}

// latest reads the head of a segment.
func (t *tx) latest(n uint32, otherwise int64) int64 {
	t.key = putSegment(t.key[:0], n)
	if v := t.get(bJobRuns, t.key); len(v) == 8 {
		return micro(v)
	}
	return otherwise
}

// add puts an ended run into the index.
func (s *segment) add(t *tx, job jobhost.Name, started int64, id rawID) error {
	s.count++
	s.latest = max(s.latest, started)
	t.key = putStarted(putName(putSegment(t.key[:0], s.number), job), started, id)
	return t.put(bJobRuns, t.key, nil)
}

// save writes the segment's head.
func (s *segment) save(t *tx) error {
	t.key = putSegment(t.key[:0], s.number)
	if err := t.put(bJobRuns, t.key, t.encoded(func(e *enc) { *e = putMicro(*e, s.latest) })); err != nil {
		return err
	}
	return t.bucket(bJobRuns).SetSequence(uint64(s.number)<<32 | uint64(s.count))
}

// dropHeads deletes the heads of older segments that have nothing else left.
func (t *tx) dropHeads(segments map[uint32]bool) error {
	newest := uint32(t.bucket(bJobRuns).Sequence() >> 32)
	for n := range segments {
		head := putSegment(nil, n)
		c := t.cursor(bJobRuns)
		k, _ := c.Seek(head)
		if n == newest || !bytes.Equal(k, head) {
			continue
		}
		if k, _ = c.Next(); bytes.HasPrefix(k, head) {
			continue
		}
		if err := t.delete(bJobRuns, head); err != nil {
			return err
		}
	}
	return nil
}

// jobRuns walks through the ended runs of a job, newest start first.
type jobRuns struct {
	t      *tx
	job    []byte // with a zero byte behind it
	end    []byte // where to begin within a segment, behind the job
	walk   *bolt.Cursor
	next   uint32 // the newest segment that was not looked into
	latest int64  // of it
	more   bool   // there is one
	found  []place
}

// place is where the walk through one segment has come to.
type place struct {
	segment uint32
	c       *bolt.Cursor
	at      []byte // the run's key
}

// jobRuns begins in front of an instant in microseconds.
func (t *tx) jobRuns(job jobhost.Name, before int64) *jobRuns {
	j := &jobRuns{t: t, job: putName(nil, job), end: putMicro(nil, before), walk: t.bucket(bJobRuns).Cursor()}
	if k, _ := j.walk.Last(); len(k) >= segmentLen {
		j.reach(binary.BigEndian.Uint32(k))
	}
	return j
}

func (j *jobRuns) reach(n uint32) {
	j.next, j.latest, j.more = n, j.t.latest(n, math.MaxInt64), true
}

// step returns the next run's key and its segment; nil at the end.
func (j *jobRuns) step() (at []byte, segment uint32) {
	for j.more && (len(j.found) == 0 || j.latest >= micro(j.found[len(j.found)-1].at)) {
		p := place{segment: j.next, c: j.t.bucket(bJobRuns).Cursor()}
		prefix := append(putSegment(nil, j.next), j.job...)
		k, _ := back(p.c, append(prefix, j.end...))
		j.keep(p, k)
		k, _ = back(j.walk, putSegment(nil, j.next))
		if j.more = len(k) >= segmentLen; j.more {
			j.reach(binary.BigEndian.Uint32(k))
		}
	}
	if len(j.found) == 0 {
		return nil, 0
	}
	p := j.found[len(j.found)-1]
	j.found = j.found[:len(j.found)-1]
	k, _ := p.c.Prev()
	j.keep(p, k)
	return p.at, p.segment
}

// keep sorts a place in by its run, the newest last, unless the segment has no more of the job.
func (j *jobRuns) keep(p place, k []byte) {
	n := segmentLen + len(j.job)
	if len(k) < n || binary.BigEndian.Uint32(k) != p.segment || !bytes.Equal(k[segmentLen:n], j.job) {
		return
	}
	if p.at = k[n:]; len(p.at) != startedLen {
		j.t.damage(bJobRuns, k, errKey)
		return
	}
	i, _ := slices.BinarySearchFunc(j.found, p, func(a, b place) int { return bytes.Compare(a.at, b.at) })
	j.found = slices.Insert(j.found, i, p)
}

// back moves a cursor to the last key in front of end.
func back(c *bolt.Cursor, end []byte) (k, v []byte) {
	if k, _ = c.Seek(end); k == nil {
		return c.Last()
	}
	return c.Prev()
}
