package engine

import (
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// An ending is a run that is over and not yet on record.
type ending struct {
	run       jobhost.Run // with state, end and error
	permanent bool        // a failure that is not worth a retry
	output    []byte
	log       [][]byte // chunks that are not stored yet
	live      *runLog  // nil for a run of a process that is gone
	awaited   bool     // its interval trigger waits for it
	degraded  bool     // to be stored as Unexpected without output and log, since it could not be stored as it is

	refused bool // set by the turn: the record was not Running any more, and nothing was written
}

// An ended is a run whose end a turn has recorded, and when what follows it, a retry or a recovery, is due; zero: nothing.
type ended struct {
	run  jobhost.Run
	next time.Time
}

// finish records ended runs, with what follows from each: its interval trigger waits again, a retry or recovery is
// written, and its job's Blocked triggers are to be looked at. A run whose record is not Running any more is left alone.
func (t *turn) finish(done []*ending) error {
	if len(done) == 0 {
		return nil
	}
	ids := make([]jobhost.RunID, len(done))
	var keys []jobhost.TriggerKey
	for i, d := range done {
		ids[i] = d.run.ID
		if d.awaited {
			keys = append(keys, jobhost.TriggerKey{Job: d.run.Job, Trigger: d.run.Trigger})
		}
	}
	records, err := t.tx.Runs(ids...)
	if err != nil {
		return err
	}
	open := make(map[jobhost.RunID]*jobhost.Run, len(records))
	for i := range records {
		open[records[i].ID] = &records[i]
	}
	waiting, err := t.tx.Triggers(keys...)
	if err != nil {
		return err
	}
	byRun := make(map[jobhost.RunID]jobhost.Trigger, len(waiting))
	for _, w := range waiting {
		if w.State == jobhost.TriggerRunning {
			byRun[w.RunID] = w
		}
	}
	var runs []jobhost.Run
	var triggers []jobhost.Trigger
	for _, d := range done {
		r := open[d.run.ID]
		d.refused = r == nil || r.State != jobhost.RunRunning || r.Node != d.run.Node
		if d.refused {
			if r != nil {
				d.run = *r // what is on record is what counts
			}
			continue
		}
		end := d.record(*r)
		if err := t.keep(d); err != nil {
			return err
		}
		if t.heard {
			t.tell(t.endEvent(end))
		}
		runs = append(runs, end)
		triggers = append(triggers, t.follow(end, d.permanent, byRun)...)
	}
	if err := t.tx.PutRuns(runs...); err != nil {
		return err
	}
	return t.tx.PutTriggers(triggers...)
}

// record is the run's record with its end.
func (d *ending) record(r jobhost.Run) jobhost.Run {
	r.State, r.EndedAt, r.ErrorCode, r.ErrorMessage = d.run.State, d.run.EndedAt, d.run.ErrorCode, d.run.ErrorMessage
	r.Digest, r.Fuel, r.PeakMemory = d.run.Digest, d.run.Fuel, d.run.PeakMemory
	if d.degraded {
		r.State, r.ErrorCode, r.ErrorMessage = jobhost.RunFailed, jobhost.Unexpected, "the outcome could not be stored"
	}
	return r
}

// keep stores the output and the log of an ended run.
func (t *turn) keep(d *ending) error {
	if d.degraded {
		return nil
	}
	if len(d.output) > 0 {
		if err := t.tx.PutOutput(d.run.ID, d.output); err != nil {
			return err
		}
	}
	for _, chunk := range d.log {
		if err := t.tx.AppendLog(d.run.ID, chunk); err != nil {
			return err
		}
	}
	return nil
}

// endOf is the instant from which on counts what follows the end of a run: of a lost one, that it was found to be.
func (t *turn) endOf(r jobhost.Run) time.Time {
	if r.State == jobhost.RunLost {
		return t.now
	}
	return r.EndedAt
}

// follow returns the triggers that change because the run r ended, and marks its job when that frees Blocked ones.
func (t *turn) follow(r jobhost.Run, permanent bool, byRun map[jobhost.RunID]jobhost.Trigger) []jobhost.Trigger {
	t.ends = append(t.ends, ended{run: r})
	job := t.jobs[r.Job]
	if job == nil {
		return nil // deleted meanwhile: recorded, and nothing follows
	}
	var out []jobhost.Trigger
	if w, ok := byRun[r.ID]; ok {
		if p, err := t.plans.of(w.Schedule); err == nil {
			w = ready(afterRun(w, p, t.endOf(r)), job.Job)
			t.fired = append(t.fired, w)
			out = append(out, w)
		}
	}
	one, ok := retry(job.Job, r, permanent)
	if !ok {
		one, ok = recovery(job.Job, r, t.now)
	}
	if ok {
		t.ends[len(t.ends)-1].next = one.Due
		t.tell(t.followEvent(r, one))
		if job.RunOnEveryInstance { // it waits in this process, and goes with it
			t.addLocal(job.Job, one)
		} else {
			out = append(out, ready(one, job.Job))
		}
	}
	if job.RunOnEveryInstance && t.locals != nil {
		t.endLocal(r)
		return out
	}
	job.Open = slices.DeleteFunc(job.Open, func(id jobhost.RunID) bool { return id == r.ID })
	if len(job.Open) == 0 && job.Blocked {
		t.freed = append(t.freed, r.Job)
	}
	return out
}
