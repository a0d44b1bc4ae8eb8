package boltstore

import (
	"math"
	"time"

	"github.com/jobhost/jobhost"
)

// ended is a run that is to be deleted. Its key is bbolt's own.
type ended struct {
	job jobhost.Name
	key []byte // in the runs
	id  rawID

	segment uint32
}

func (t *tx) PruneRuns(endedBefore time.Time, limit int) (int, error) {
	var old []ended
	before := ceilMicro(endedBefore)
	c := t.bucket(bRuns).Cursor()
	for k, v := c.First(); k != nil && len(old) < limit; k, v = c.Next() {
		started, id, err := startedKey(k)
		if err != nil {
			t.damage(bRuns, k, err)
			continue
		}
		if started >= before {
			break
		}
		job, at, segment, err := decodeRunEnd(t.whole(bRuns, k, v))
		if err != nil {
			t.damage(bRuns, k, err)
			continue
		}
		if at < before {
			old = append(old, ended{job, k, id, segment})
		}
	}
	return len(old), t.forget(old)
}

func (t *tx) PruneJobRuns(job jobhost.Name, keep, limit int) (int, error) {
	var old []ended
	j := t.jobRuns(job, math.MaxInt64)
	for len(old) < limit {
		k, segment := j.step()
		if k == nil {
			break
		}
		if keep > 0 {
			keep--
			continue
		}
		_, id, err := startedKey(k)
		if err != nil {
			return 0, err
		}
		old = append(old, ended{job, k, id, segment})
	}
	return len(old), t.forget(old)
}

func (t *tx) forget(old []ended) error {
	segments := map[uint32]bool{}
	for _, r := range old {
		segments[r.segment] = true
		if err := t.delete(bRuns, r.key); err != nil {
			return err
		}
		t.key = append(putName(putSegment(t.key[:0], r.segment), r.job), r.key...)
		if err := t.delete(bJobRuns, t.key); err != nil {
			return err
		}
		if err := t.delete(bOutputs, r.id[:]); err != nil {
			return err
		}
		if err := t.deleteAll(bLogs, t.keysWith(bLogs, r.id[:])); err != nil {
			return err
		}
		if sameMillis(r.id, micro(r.key)) {
			continue
		}
		if err := t.delete(bRunIDs, r.id[:]); err != nil {
			return err
		}
	}
	return t.dropHeads(segments)
}
