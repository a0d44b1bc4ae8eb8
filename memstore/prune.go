package memstore

import (
	"math"
	"time"

	"github.com/jobhost/jobhost"
)

func (t *tx) PruneRuns(endedBefore time.Time, limit int) (int, error) {
	if err := t.write(); err != nil {
		return 0, err
	}
	var old []*jobhost.Run
	t.history.Reverse(func(r started) bool {
		if len(old) >= limit || !r.ListedAt().Before(endedBefore) {
			return false
		}
		if r.State.Ended() && r.EndedAt.Before(endedBefore) {
			old = append(old, r.Run)
		}
		return true
	})
	t.forget(old)
	return len(old), nil
}

func (t *tx) PruneJobRuns(job jobhost.Name, keep, limit int) (int, error) {
	if err := t.write(); err != nil {
		return 0, err
	}
	var old []*jobhost.Run
	t.byJob.Ascend(started{math.MaxInt64, &jobhost.Run{Job: job}}, func(r started) bool {
		switch {
		case r.Job != job || len(old) >= limit:
			return false
		case !r.State.Ended():
		case keep > 0:
			keep--
		default:
			old = append(old, r.Run)
		}
		return true
	})
	t.forget(old)
	return len(old), nil
}

func (t *tx) forget(runs []*jobhost.Run) {
	for _, r := range runs {
		t.runs.Delete(r.ID)
		t.history.Delete(startedOf(r))
		t.byJob.Delete(startedOf(r))
		t.logs.Delete(r.ID)
		t.outputs.Delete(r.ID)
	}
}

func (t *tx) Idempotent(job jobhost.Name, key string, now time.Time) (jobhost.RunID, bool, error) {
	k, ok := t.keys.Get(idempotent{job: job, key: key})
	if !ok || now.UnixMicro() >= k.until {
		return "", false, nil
	}
	return k.id, true, nil
}

func (t *tx) PutIdempotent(job jobhost.Name, key string, id jobhost.RunID, until time.Time) error {
	if err := t.writeOf(id); err != nil {
		return err
	}
	k := idempotent{job: job, key: key, id: id, until: until.UnixMicro()}
	if old, ok := t.keys.Set(k); ok {
		t.expiry.Delete(old)
	}
	t.expiry.Set(k)
	return nil
}

func (t *tx) PruneIdempotent(now time.Time, limit int) (int, error) {
	if err := t.write(); err != nil {
		return 0, err
	}
	var old []idempotent
	t.expiry.Scan(func(k idempotent) bool {
		if len(old) >= limit || k.until > now.UnixMicro() {
			return false
		}
		old = append(old, k)
		return true
	})
	for _, k := range old {
		t.keys.Delete(k)
		t.expiry.Delete(k)
	}
	return len(old), nil
}
