package engine

import (
	"fmt"
	"log/slog"
	"maps"
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

// A command is something that was asked of the scheduler and is part of the next turn.
type command struct {
	jobs []jobhost.Name    // locked before anything else in the turn
	do   func(*turn) error // checks everything, then writes; an error is the store's
	err  error             // what the caller did wrong; set by do
	done chan error        // receives err or the store's error, once
}

// A started is a run that a turn has put on record and that is to be dispatched.
type started struct {
	run     jobhost.Run
	job     jobhost.Job
	awaited bool
}

// An ended is a run whose end a turn has recorded, and when what follows it, a retry or a recovery, is due; zero: nothing.
type ended struct {
	run  jobhost.Run
	next time.Time
}

// A turn is one transaction of the loop. The fields above the line are given to it; those below are made from scratch
// each time the store executes it.
type turn struct {
	cfg      *Config
	plans    *plans
	now      time.Time
	ids      []jobhost.RunID // drawn for the runs it may start
	held     held            // what is known not to be startable here
	plugins  plugins         // what can run here
	logs     []logChunks     // of runs in progress
	locals   *locals
	inHand   map[jobhost.Name]int // runs in progress of local jobs
	orphaned map[jobhost.Name]bool
	oneShots bool                 // only one-shots may be claimed
	sizes    map[jobhost.Name]int // bytes of jobs' values, as far as they are known
	heard    bool                 // somebody listens to events

	tx        jobhost.Tx
	jobs      map[jobhost.Name]*jobhost.JobState
	started   []started
	drawn     int
	slots     int
	freed     []jobhost.Name // jobs whose last blocking run ended
	runs      []jobhost.Run  // to be written by the next flush
	moved     []jobhost.Trigger
	newHeld   held
	fired     []jobhost.Trigger // triggers with a new due, for the log
	ends      []ended           // the same
	events    []jobhost.Event
	moves     []move // of local triggers
	localOpen map[jobhost.Name]int
	reread    bool                 // the local trigger set has changed
	newSizes  map[jobhost.Name]int // of jobs whose values change
}

// held is what cannot start on this node although it is due, with the reason: jobs whose plugin is not ready, triggers
// whose plan cannot be made. It is passed to the store as exceptions, so that it neither blocks a batch nor makes the loop
// spin.
type held struct {
	jobs     map[jobhost.Name]string
	triggers map[jobhost.TriggerKey]string
}

func (h held) clone() held { return held{maps.Clone(h.jobs), maps.Clone(h.triggers)} }

func (h held) query(now time.Time, limit int, orphaned map[jobhost.Name]bool, oneShots bool) jobhost.DueQuery {
	q := jobhost.DueQuery{Now: now, Limit: limit, OneShots: oneShots, NotJobs: orphaned}
	if len(h.jobs) > 0 {
		q.NotJobs = make(map[jobhost.Name]bool, len(h.jobs)+len(orphaned))
		maps.Copy(q.NotJobs, orphaned)
		for n := range h.jobs {
			q.NotJobs[n] = true
		}
	}
	if len(h.triggers) > 0 {
		q.NotTriggers = map[jobhost.TriggerKey]bool{}
		for k := range h.triggers {
			q.NotTriggers[k] = true
		}
	}
	return q
}

// run does the turn: record what finished, carry out commands, settle what that freed, claim what is due with up to slots
// runs.
func (t *turn) run(tx jobhost.Tx, done []*ending, cmds []*command, slots int) error {
	t.tx, t.jobs, t.slots = tx, map[jobhost.Name]*jobhost.JobState{}, slots
	t.started, t.drawn, t.freed, t.fired = t.started[:0], 0, t.freed[:0], t.fired[:0]
	t.ends = t.ends[:0]
	t.newHeld, t.runs, t.moved = t.held.clone(), t.runs[:0], t.moved[:0]
	t.events, t.moves, t.localOpen, t.reread = t.events[:0], t.moves[:0], maps.Clone(t.inHand), false
	t.newSizes = map[jobhost.Name]int{}
	var names []jobhost.Name
	for _, d := range done {
		names = append(names, d.run.Job)
	}
	for _, c := range cmds {
		names = append(names, c.jobs...)
	}
	if err := t.lock(names); err != nil {
		return err
	}
	for _, l := range t.logs {
		for _, chunk := range l.chunks {
			if err := tx.AppendLog(l.run, chunk); err != nil {
				return err
			}
		}
	}
	if err := t.finish(done); err != nil {
		return err
	}
	for _, c := range cmds {
		c.err = nil
		if err := c.do(t); err != nil {
			return err
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.free(); err != nil {
		return err
	}
	if t.locals != nil {
		if err := t.claimLocal(); err != nil {
			return err
		}
	}
	return t.claim()
}

// lock reads and locks jobs that the turn does not have yet.
func (t *turn) lock(names []jobhost.Name) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n jobhost.Name) bool { return t.jobs[n] != nil })
	if len(names) == 0 {
		return nil
	}
	js, err := t.tx.Jobs(names...)
	for i := range js {
		t.jobs[js[i].Name] = &js[i]
	}
	return err
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
		if p, err := t.plans.of(ts[i].Schedule); err == nil { // a one-shot has none
			ts[i] = unblocked(ts[i], p, t.now, t.rules())
		}
		ts[i].State = jobhost.TriggerWaiting
		ts[i] = ready(ts[i], job.Job)
	}
	job.Blocked = false
	return t.tx.PutTriggers(ts...)
}

// claim settles due triggers while there are slots.
func (t *turn) claim() error {
	for t.slots > 0 {
		due, err := t.tx.Due(t.newHeld.query(t.now, t.slots, t.orphaned, t.oneShots))
		if err != nil || len(due) == 0 {
			return err
		}
		names := make([]jobhost.Name, len(due))
		for i := range due {
			names[i] = due[i].Key.Job
		}
		if err := t.lock(names); err != nil {
			return err
		}
		heldBack := false
		for _, d := range due {
			if why := t.unstartable(d); why != "" {
				heldBack = true
				continue
			}
			if err := t.settle(d); err != nil {
				return err
			}
		}
		if err := t.flush(); err != nil || !heldBack {
			return err
		}
	}
	return nil
}

// flush writes what was decided since the last flush.
func (t *turn) flush() error {
	if err := t.tx.PutTriggers(t.moved...); err != nil {
		return err
	}
	if err := t.tx.PutRuns(t.runs...); err != nil {
		return err
	}
	t.moved, t.runs = t.moved[:0], t.runs[:0]
	return nil
}

// unstartable says why a due trigger cannot start on this node, and remembers it (T10).
func (t *turn) unstartable(d jobhost.Trigger) string {
	job := t.jobs[d.Key.Job]
	if job == nil {
		return t.hold(d.Key, "its job is not in the store")
	}
	if why := t.plugins.why(job.Plugin); why != "" {
		if t.newHeld.jobs == nil {
			t.newHeld.jobs = map[jobhost.Name]string{}
		}
		t.newHeld.jobs[d.Key.Job] = why
		return why
	}
	if d.OneShot == nil {
		if _, err := t.plans.of(d.Schedule); err != nil {
			return t.hold(d.Key, err.Error())
		}
	}
	return ""
}

// unhold forgets what was held of a job that is defined anew or gone.
func (t *turn) unhold(job jobhost.Name) {
	delete(t.newHeld.jobs, job)
	maps.DeleteFunc(t.newHeld.triggers, func(k jobhost.TriggerKey, _ string) bool { return k.Job == job })
}

func (t *turn) hold(k jobhost.TriggerKey, why string) string {
	if t.newHeld.triggers == nil {
		t.newHeld.triggers = map[jobhost.TriggerKey]string{}
	}
	t.newHeld.triggers[k] = why
	return why
}

// busy reports whether a run of an exclusive job is in progress: of a local job on this instance, else anywhere.
func (t *turn) busy(job *jobhost.JobState) bool {
	if job.RunOnEveryInstance {
		return !job.AllowConcurrent && t.localOpen[job.Name] > 0
	}
	return !job.AllowConcurrent && len(job.Open) > 0
}

// settle decides one due or freed trigger, whose job is locked, and leaves what follows for the next flush.
func (t *turn) settle(d jobhost.Trigger) error {
	job := t.jobs[d.Key.Job]
	d.Ready = time.Time{}
	v, at, next, err := t.decide(d, t.busy(job))
	if err != nil {
		t.hold(d.Key, err.Error())
		d.State = jobhost.TriggerWaiting
		t.moved = append(t.moved, ready(d, job.Job))
		return nil
	}
	switch v {
	case fire:
		return t.fire(job, d, next, at)
	case block:
		job.Blocked = true
	case skip:
		t.fired = append(t.fired, next)
	}
	t.moved = append(t.moved, ready(next, job.Job))
	return nil
}

// decide asks the rules. A panic in them is an error of this trigger and of no other.
func (t *turn) decide(d jobhost.Trigger, busy bool) (v verdict, at time.Time, next jobhost.Trigger, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("deciding panicked: %v", p)
		}
	}()
	var p *plan
	if d.OneShot == nil {
		if p, err = t.plans.of(d.Schedule); err != nil {
			return 0, time.Time{}, d, err
		}
	}
	v, at, next = settle(d, p, busy, t.now, t.rules())
	return v, at, next, nil
}

func (t *turn) rules() rules { return rules{t.cfg.MisfireThreshold, t.cfg.PollInterval} }

// fire puts the run on record and moves its trigger on: claim and start are one commit.
func (t *turn) fire(job *jobhost.JobState, d, next jobhost.Trigger, at time.Time) error {
	r, err := start(d, job.Job, t.draw(), at, t.now, t.cfg.NodeID)
	if err != nil {
		t.hold(d.Key, fmt.Sprintf("its data cannot be merged: %v", err))
		return nil
	}
	t.slots--
	if d.OneShot != nil {
		t.begin(job, r, false)
		return t.tx.DeleteTriggers(d.Key) // T7
	}
	awaited := next.State == jobhost.TriggerRunning
	if awaited {
		next.RunID = r.ID
	} else {
		t.fired = append(t.fired, next)
	}
	t.moved = append(t.moved, ready(next, job.Job))
	t.begin(job, r, awaited)
	return nil
}

// begin puts a run on record with the next flush, and has it dispatched after the commit.
func (t *turn) begin(job *jobhost.JobState, r jobhost.Run, awaited bool) {
	job.Open = append(job.Open, r.ID)
	if job.RunOnEveryInstance {
		if t.localOpen == nil {
			t.localOpen = map[jobhost.Name]int{}
		}
		t.localOpen[job.Name]++
	}
	if t.heard {
		t.tell(runEvent(jobhost.TopicRunStarted, r))
	}
	t.runs = append(t.runs, r)
	t.started = append(t.started, started{r, job.Job, awaited})
}

// draw takes one of the ids that were drawn before the turn.
func (t *turn) draw() jobhost.RunID {
	t.drawn++
	return t.ids[t.drawn-1]
}

// report logs what the turn decided, after its commit.
func (t *turn) report(log *slog.Logger) {
	for _, f := range t.fired {
		if f.State == jobhost.TriggerComplete {
			log.Warn("no next fire", slog.String("job", f.Key.Job), slog.String("trigger", f.Key.Trigger), slog.String("why", t.plans.whyComplete(f, t.now)))
		} else {
			log.Info("next fire", slog.String("job", f.Key.Job), slog.String("trigger", f.Key.Trigger), slog.Time("at", f.Due))
		}
	}
	for _, d := range t.ends {
		d.report(log)
	}
	for n, why := range t.newHeld.jobs {
		if t.held.jobs[n] == "" {
			log.Error("due, but not startable here", slog.String("job", n), slog.String("why", why))
		}
	}
	for k, why := range t.newHeld.triggers {
		if t.held.triggers[k] == "" {
			log.Error("due, but not startable here", slog.String("job", k.Job), slog.String("trigger", k.Trigger), slog.String("why", why))
		}
	}
}

// report logs an end that somebody has to know of, in one line.
func (d ended) report(log *slog.Logger) {
	r := d.run
	attrs := []any{slog.String("job", r.Job), slog.String("run", string(r.ID)), slog.Int("attempt", r.Attempt)}
	const most = 512 // of a text that may be the plugin's
	switch r.State {
	case jobhost.RunFailed:
		attrs = append(attrs, slog.String("code", string(r.ErrorCode)), slog.String("message", cut(r.ErrorMessage, most)), slog.Bool("retried", !d.next.IsZero()))
		if !d.next.IsZero() {
			attrs = append(attrs, slog.Time("retryAt", d.next))
		}
		log.Warn("a run failed", attrs...)
	case jobhost.RunLost:
		log.Info("a run was lost", append(attrs, slog.String("message", cut(r.ErrorMessage, most)), slog.Bool("recovered", !d.next.IsZero()))...)
	case jobhost.RunPending, jobhost.RunRunning, jobhost.RunSucceeded, jobhost.RunCanceled:
	}
}
