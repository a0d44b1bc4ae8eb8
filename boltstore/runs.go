package boltstore

import (
	"bytes"
	"encoding/binary"

	"github.com/jobhost/jobhost"
)

// openKey takes the id off a key of the open runs and remembers whose it is, so that the run can be read by its id.
func (t *tx) openKey(job jobhost.Name, k []byte) (id rawID, ok bool) {
	if len(k) != len(job)+1+idLen {
		t.damage(bOpen, k, errKey)
		return id, false
	}
	copy(id[:], k[len(job)+1:])
	t.remember(id, job)
	return id, true
}

func (t *tx) anyOpenKey(k []byte) (id rawID, ok bool) {
	job, _, _ := bytes.Cut(k, []byte{0})
	return t.openKey(string(job), k)
}

func (t *tx) remember(id rawID, job jobhost.Name) {
	if t.jobOf == nil {
		t.jobOf = map[rawID]jobhost.Name{}
	}
	t.jobOf[id] = job
}

// eachOpen calls each for every open run, or those of one job, by job and id. Listed, they are without their data.
func (t *tx) eachOpen(job jobhost.Name, listed bool, each func(jobhost.Run)) {
	var prefix []byte
	if job != "" {
		prefix = putName(nil, job)
	}
	t.walk(bOpen, prefix, func(k, v []byte) bool {
		id, ok := t.anyOpenKey(k)
		if !ok {
			return true
		}
		if r, ok := t.run(bOpen, id, k, v, listed); ok {
			each(r)
		}
		return true
	})
}

func (t *tx) Runs(ids ...jobhost.RunID) ([]jobhost.Run, error) { return t.named(ids, false), nil }

// named are the runs of some ids. Listed, they are without their data.
func (t *tx) named(ids []jobhost.RunID, listed bool) []jobhost.Run {
	out := make([]jobhost.Run, 0, len(ids))
	for _, id := range ids {
		raw, ok := toRaw(id)
		if !ok {
			continue
		}
		i, k, v := t.find(raw)
		if v == nil {
			continue
		}
		if r, ok := t.run(i, raw, k, v, listed); ok {
			out = append(out, r)
		}
	}
	return out
}

// find looks for a run where it is most likely: among the open runs of which the job is known, in the history, and
// then among all open runs, which are few. The value is as it stands in its bucket.
func (t *tx) find(id rawID) (i bucket, k, v []byte) {
	if v := t.findOpen(id); v != nil {
		return bOpen, t.key, v
	}
	if k, v := t.findEnded(id); v != nil {
		return bRuns, k, v
	}
	if !t.allOpen {
		t.walk(bOpen, nil, func(k, _ []byte) bool {
			t.anyOpenKey(k)
			return true
		})
		t.allOpen = true
	}
	return bOpen, t.key, t.findOpen(id)
}

func (t *tx) findOpen(id rawID) []byte {
	job, ok := t.jobOf[id]
	if !ok {
		return nil
	}
	t.key = append(putName(t.key[:0], job), id[:]...)
	return t.peek(bOpen, t.key)
}

// findEnded tries each instant of the id's millisecond at which a run started, and then the index of the runs that
// started in another one.
func (t *tx) findEnded(id rawID) (k, v []byte) {
	c := t.cursor(bRuns)
	first := id.millis() * 1000
	for at := first; at < first+1000; {
		t.key = putStarted(t.key[:0], at, id)
		k, v := c.Seek(t.key)
		if bytes.Equal(k, t.key) {
			return k, v
		}
		if len(k) != startedLen {
			break
		}
		at = max(at+1, micro(k))
	}
	started := t.get(bRunIDs, id[:])
	if len(started) != 8 {
		return nil, nil
	}
	t.key = putStarted(t.key[:0], micro(started), id)
	return t.key, t.peek(bRuns, t.key)
}

func (t *tx) OpenRuns(node string) ([]jobhost.Run, error) {
	var out []jobhost.Run
	t.eachOpen("", false, func(r jobhost.Run) {
		if node == "" || r.Node == node {
			out = append(out, r)
		}
	})
	return out, nil
}

func (t *tx) PutRuns(rs ...jobhost.Run) error {
	var s *segment
	for i := range rs {
		r := &rs[i]
		id, err := parseID(r.ID)
		if err != nil {
			return err
		}
		if !r.State.Ended() {
			if err := t.putOpen(r, id); err != nil {
				return err
			}
			continue
		}
		if s == nil {
			s = t.newestSegment()
		}
		if err := t.putEnded(r, id, s); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	return s.save(t)
}

func (t *tx) putOpen(r *jobhost.Run, id rawID) error {
	t.begins = true
	t.remember(id, r.Job)
	t.key = append(putName(t.key[:0], r.Job), id[:]...)
	return t.put(bOpen, t.key, t.encoded(func(e *enc) { e.run(r) }))
}

func (t *tx) putEnded(r *jobhost.Run, id rawID, s *segment) error {
	t.key = append(putName(t.key[:0], r.Job), id[:]...)
	if err := t.delete(bOpen, t.key); err != nil {
		return err
	}
	started := r.ListedAt().UnixMicro()
	t.key = putStarted(t.key[:0], started, id)
	if err := t.put(bRuns, t.key, t.encoded(func(e *enc) { e.endedRun(s.number, r) })); err != nil {
		return err
	}
	if err := s.add(t, r.Job, started, id); err != nil || sameMillis(id, started) {
		return err
	}
	return t.put(bRunIDs, id[:], t.encoded(func(e *enc) { *e = putMicro(*e, started) }))
}

// sameMillis reports whether a run can be found by its id alone.
func sameMillis(id rawID, started int64) bool {
	first := id.millis() * 1000
	return first <= started && started < first+1000
}

func (t *tx) AppendLog(id jobhost.RunID, chunk []byte) error {
	raw, err := parseID(id)
	if err != nil {
		return err
	}
	n := uint32(0)
	t.key = binary.BigEndian.AppendUint32(append(t.key[:0], raw[:]...), ^n)
	c := t.cursor(bLogs)
	k, _ := c.Seek(t.key)
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if len(k) == idLen+4 && bytes.HasPrefix(k, raw[:]) {
		n = binary.BigEndian.Uint32(k[idLen:]) + 1
	}
	t.key = binary.BigEndian.AppendUint32(append(t.key[:0], raw[:]...), n)
	t.adds = true
	return t.put(bLogs, t.key, t.plain(chunk))
}

func (t *tx) Log(id jobhost.RunID) ([][]byte, error) {
	var chunks [][]byte
	if raw, ok := toRaw(id); ok {
		t.scan(bLogs, raw[:], func(_, v []byte) bool {
			if b, ok := bytesOf(v); ok {
				chunks = append(chunks, b)
			}
			return true
		})
	}
	return chunks, nil
}

func (t *tx) PutOutput(id jobhost.RunID, out []byte) error {
	raw, err := parseID(id)
	if err != nil {
		return err
	}
	t.adds = true
	return t.put(bOutputs, raw[:], t.plain(out))
}

func (t *tx) Output(id jobhost.RunID) ([]byte, bool, error) {
	raw, ok := toRaw(id)
	if !ok {
		return nil, false, nil
	}
	v, ok := bytesOf(t.get(bOutputs, raw[:]))
	return v, ok, nil
}
