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
	return t.freeRest(job)
}

// freeRest makes the job's Blocked triggers Waiting. One-shots are written with their data, so on a store with little room that
// is done a part at a time, and the next turn goes on. Until then the job says that it has Blocked ones, by which a start finds it.
func (t *turn) freeRest(job *jobhost.JobState) error {
	page, most := int(^uint(0)>>1), int(^uint(0)>>1) // triggers read at a time, and bytes of data written by a turn
	if t.narrow {
		page, most = 8, 64<<10
	}
	for size := 0; ; {
		ts, err := t.tx.Blocked(job.Name, page)
		if err != nil {
			return err
		}
		all := len(ts) < page
		for i := range ts {
			if size > most {
				ts, all = ts[:i], false
				break
			}
			if ts[i].OneShot != nil {
				size += len(ts[i].OneShot.Data)
			}
			ts[i].State = jobhost.TriggerWaiting
			ts[i] = ready(ts[i], job.Job)
		}
		if err := t.tx.PutTriggers(ts...); err != nil {
			return err
		}
		switch {
		case all:
			job.Blocked = false
			return nil
		case size > most:
			t.unfreed = append(t.unfreed, job.Name)
			return nil
		}
	}
}
