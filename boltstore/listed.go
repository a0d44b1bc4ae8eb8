package boltstore

import (
	"bytes"
	"encoding/binary"

	"github.com/jobhost/jobhost"
)

// Lists of runs go without the runs' data, which can be most of a file. It stands in the middle of a record, so what is
// around it is read, and of a record in parts no more of them than that takes.

// run decodes a run from its value as it stands in its bucket, without its data when it is listed.
func (t *tx) run(i bucket, id rawID, key, v []byte, listed bool) (r jobhost.Run, ok bool) {
	d := dec{slim: listed}
	if listed {
		d.b = t.withoutData(i, key, v)
	} else {
		d.b = t.whole(i, key, v)
	}
	if i == bRuns {
		d.uint() // the segment
	}
	r, err := d.run(id)
	if err != nil {
		t.damage(i, key, err)
	}
	return r, err == nil
}

// withoutData returns the record of a run. One that is in parts comes with no data in it, others as they are.
func (t *tx) withoutData(i bucket, key, v []byte) []byte {
	if !isHead(v) {
		return v
	}
	first := bytes.Clone(t.partKey(i, key))
	numberAt, size := len(first)-4, room(first)-4 // as putParts cuts
	var b []byte
	data, end, found := 0, 0, false
	t.walk(bParts, first[:numberAt], func(_, part []byte) bool {
		b = append(b, part...)
		data, end, found = dataIn(i, b)
		return !found
	})
	if !found || end > length(v) {
		return t.whole(i, key, v)
	}
	b = append(b[:data], 0) // no data
	at := len(b)
	c := t.cursor(bParts)
	k, part := c.Seek(binary.BigEndian.AppendUint32(first[:numberAt:numberAt], uint32(end/size))) //nolint:gosec // parts are few
	for skip := end % size; bytes.HasPrefix(k, first[:numberAt]); k, part = c.Next() {
		b = append(b, part[min(skip, len(part)):]...)
		skip = 0
	}
	if len(b)-at != length(v)-end {
		return t.whole(i, key, v) // which says what is wrong
	}
	return b
}

// dataIn finds a run's data in what there is of its record: where its length stands, and where it ends.
func dataIn(i bucket, b []byte) (at, end int, ok bool) {
	d := dec{b: b}
	if i == bRuns {
		d.uint() // the segment
	}
	d.open(runRecord)
	d.next(2)
	for range 3 {
		d.int()
	}
	for range 3 {
		d.next(d.uint())
	}
	d.int()
	d.int()
	d.next(d.uint() >> 1)
	d.next(d.uint() >> 1)
	at = d.at
	n := d.uint()
	if d.err != nil || n > 1<<40 {
		return 0, 0, false
	}
	return at, d.at + int(n), true
}

// withPrefix lists the ids of the runs that begin with some digits, some of them twice. Most runs start in the millisecond of their id, so they are
// looked for among those that started at the time of the prefix; the others have an index.
func (t *tx) withPrefix(prefix string) (ids []jobhost.RunID) {
	lo, hi := bounds(prefix)
	add := func(id rawID) {
		if bytes.Compare(lo[:], id[:]) <= 0 && bytes.Compare(id[:], hi[:]) <= 0 {
			ids = append(ids, id.id())
		}
	}
	t.walk(bOpen, nil, func(k, _ []byte) bool {
		if id, ok := t.anyOpenKey(k); ok {
			add(id)
		}
		return true
	})
	t.allOpen = true
	c := t.bucket(bRuns).Cursor()
	for k, _ := c.Seek(putMicro(nil, lo.millis()*1000)); k != nil; k, _ = c.Next() {
		started, id, err := startedKey(k)
		if err != nil {
			t.damage(bRuns, k, err)
			continue
		}
		if started >= (hi.millis()+1)*1000 {
			break
		}
		add(id)
	}
	c = t.bucket(bRunIDs).Cursor()
	for k, _ := c.Seek(lo[:]); len(k) == idLen && bytes.Compare(k, hi[:]) <= 0; k, _ = c.Next() {
		add(rawID(k))
	}
	return ids
}

// bounds are the first and the last id that begin with some digits. What comes behind the last digit is taken for none.
func bounds(prefix string) (lo, hi rawID) {
	for i := range hi {
		hi[i] = 0xff
	}
	for i := range min(len(prefix), 2*idLen) {
		n := unhex(prefix[i])
		if n > 15 {
			break
		}
		if i%2 == 0 {
			lo[i/2], hi[i/2] = n<<4, n<<4|15
		} else {
			lo[i/2], hi[i/2] = lo[i/2]|n, hi[i/2]&0xf0|n
		}
	}
	return lo, hi
}
