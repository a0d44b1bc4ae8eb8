package engine

import (
	"github.com/jobhost/jobhost"
)

// free is T13. A freed job's Blocked triggers are settled in order until one starts; the others stay Blocked, truthfully,
// behind it. If none starts, all are freed. Freeing all in any case would cost a write for each of them per run.
func (t *turn) free() error {
	for _, name := range t.freed {
		if err := t.freeJob(name); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) freeJob(name jobhost.Name) error {
	job := t.jobs[name]
	if job == nil || t.busy(job) {
		return nil // deleted, or a command of this turn has started it again
	}
	const page = 8
	for !job.Paused && t.slots > 0 && t.plugins.why(job.Plugin) == "" {
		ts, err := t.tx.Blocked(name, page)
		if err != nil {
			return err
		}
		settled := 0
		for _, b := range ts {
			if b.Paused {
				continue
			}
			settled++
			if err := t.settle(b); err != nil {
				return err
			}
			if t.busy(job) || t.slots == 0 {
				break
			}
		}
		if err := t.flush(); err != nil || t.busy(job) {
			return err
		}
		if settled == 0 {
			break
		}
	}
	ts, err := t.tx.Blocked(name, int(^uint(0)>>1))
	if err != nil {
		return err
	}
	for i := range ts {
		ts[i].State = jobhost.TriggerWaiting
		ts[i] = ready(ts[i], job.Job)
	}
	job.Blocked = false
	return t.tx.PutTriggers(ts...)
}
