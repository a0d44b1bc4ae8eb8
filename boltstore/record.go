package boltstore

import (
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// kind is a kind of record.
type kind int

const (
	jobRecord kind = iota
	triggerRecord
	runRecord
	nodeRecord
	idempotentRecord
)

// versions are the newest ones. A form that changes gets a new number, and reading the old one stays.
var versions = [...]byte{jobRecord: 1, triggerRecord: 2, runRecord: 1, nodeRecord: 1, idempotentRecord: 1}

func (e *enc) job(j *jobhost.Job) {
	e.open(jobRecord)
	e.flags(j.AllowConcurrent, j.RunOnEveryInstance, j.RequestsRecovery, j.Paused, j.Retry != nil)
	e.byte(byte(j.Source))
	e.str(j.Plugin)
	e.bytes(j.Data)
	if r := j.Retry; r != nil {
		e.flags(r.Exponential)
		e.int(int64(r.MaxRetries))
		e.int(int64(r.Delay))
		e.int(int64(r.MaxDelay))
	}
	e.int(int64(j.Timeout))
	e.int(int64(j.HistoryLimit))
	e.str(j.Description)
	e.str(j.PauseReason)
	e.hex(j.Fingerprint)
}

func decodeJob(name jobhost.Name, b []byte) (j jobhost.Job, err error) {
	d := dec{b: b}
	d.open(jobRecord)
	var retry bool
	j.Name = name
	d.flags(&j.AllowConcurrent, &j.RunOnEveryInstance, &j.RequestsRecovery, &j.Paused, &retry)
	j.Source = enum(&d, jobhost.SourceOverridden)
	j.Plugin = d.str()
	j.Data = d.bytes()
	if retry {
		j.Retry = new(jobhost.RetryPolicy)
		d.flags(&j.Retry.Exponential)
		j.Retry.MaxRetries = int(d.int())
		j.Retry.Delay = time.Duration(d.int())
		j.Retry.MaxDelay = time.Duration(d.int())
	}
	j.Timeout = time.Duration(d.int())
	j.HistoryLimit = int(d.int())
	j.Description = d.str()
	j.PauseReason = d.str()
	j.Fingerprint = d.hex()
	return j, d.close()
}

// trigger writes first what places the trigger in the indices, see listing.
func (e *enc) trigger(t *jobhost.Trigger) {
	e.open(triggerRecord)
	e.byte(byte(t.State))
	e.flags(t.Paused, t.OneShot != nil)
	e.int(int64(t.Priority))
	due := t.Due.UnixMicro()
	e.int(due)
	e.int(t.Ready.UnixMicro() - due)
	if o := t.OneShot; o != nil {
		e.byte(byte(o.Kind))
		e.hex(string(o.RunID))
	}
	e.int(t.LastFired.UnixMicro() - due)
	e.int(int64(t.FiredCount))
	e.str(t.Schedule)
	e.bytes(t.Data)
	e.byte(byte(t.Misfire))
	e.int(int64(t.StartDeadline))
	e.str(t.Description)
	e.str(t.PauseReason)
	e.hex(string(t.RunID))
	e.refusals(&t.Refused)
	if o := t.OneShot; o != nil {
		e.str(o.Trigger)
		e.int(int64(o.Attempt))
		e.hex(string(o.RetryOf))
		e.hex(string(o.RecoveryOf))
		e.bytes(o.Data)
	}
}

func (e *enc) refusals(r *jobhost.Refusals) {
	some := *r != jobhost.Refusals{}
	e.flags(some, r.AtLeast)
	if some {
		e.int(int64(r.Skipped))
		e.int(int64(r.Blocked))
		e.int(int64(r.Deadline))
		e.str(r.Last)
		at := r.At.UnixMicro()
		e.int(at)
		e.int(int64(r.Collapsed))
		e.int(r.Slot.UnixMicro() - at)
	}
}

// listing is what places a trigger in the indices.
type listing struct {
	state      jobhost.TriggerState
	priority   int32
	due, ready int64
	oneShot    bool
	pending    rawID // the id that the run of a manual one-shot will have; zero: none
}

func listingOf(t *jobhost.Trigger) listing {
	l := listing{state: t.State, priority: t.Priority, due: t.Due.UnixMicro(), ready: t.Ready.UnixMicro()}
	if o := t.OneShot; o != nil {
		l.oneShot = true
		l.pending = pendingRun(o.Kind, o.RunID)
	}
	return l
}

func pendingRun(k jobhost.RunKind, id jobhost.RunID) (raw rawID) {
	if k == jobhost.KindManual {
		raw, _ = toRaw(id)
	}
	return raw
}

func (l listing) isReady() bool { return l.ready != never }

// never is the zero time.
var never = time.Time{}.UnixMicro()

// listing reads as far as the trigger's place in the indices, into what it needs of x.
func (d *dec) listing(x *jobhost.Trigger) (l listing) {
	d.open(triggerRecord)
	x.State = enum(d, jobhost.TriggerComplete)
	d.flags(&x.Paused, &l.oneShot)
	x.Priority = d.priority()
	l.due = d.int()
	l.ready = l.due + d.int()
	if l.oneShot {
		x.OneShot = &jobhost.OneShot{Kind: enum(d, jobhost.KindRetry), RunID: d.runID()}
		l.pending = pendingRun(x.OneShot.Kind, x.OneShot.RunID)
	}
	l.state, l.priority = x.State, x.Priority
	return l
}

func decodeTrigger(key jobhost.TriggerKey, b []byte) (t jobhost.Trigger, err error) {
	d := dec{b: b}
	version := d.version()
	l := d.listing(&t)
	t.Key, t.Name = key, key.Trigger
	t.Due, t.Ready = fromMicro(l.due), fromMicro(l.ready)
	t.LastFired = fromMicro(l.due + d.int())
	t.FiredCount = int(d.int())
	t.Schedule = d.str()
	t.Data = d.bytes()
	t.Misfire = enum(&d, jobhost.MisfireRunAll)
	t.StartDeadline = time.Duration(d.int())
	t.Description = d.str()
	t.PauseReason = d.str()
	t.RunID = d.runID()
	d.refusals(version, &t.Refused)
	if o := t.OneShot; o != nil {
		o.Trigger = d.str()
		o.Attempt = int(d.int())
		o.RetryOf = d.runID()
		o.RecoveryOf = d.runID()
		o.Data = d.bytes()
	}
	return t, d.close()
}

// refusals reads what a record of a version has of them: the first one ends with the instant.
func (d *dec) refusals(version byte, r *jobhost.Refusals) {
	var some bool
	if d.flags(&some, &r.AtLeast); !some {
		return
	}
	r.Skipped, r.Blocked, r.Deadline, r.Last = int(d.int()), int(d.int()), int(d.int()), d.str()
	at := d.int()
	r.At = fromMicro(at)
	if version > 1 {
		r.Collapsed = int(d.int())
		r.Slot = fromMicro(at + d.int())
	}
}

// run writes everything but the id, which is in every key.
func (e *enc) run(r *jobhost.Run) {
	e.open(runRecord)
	e.byte(byte(r.Kind))
	e.byte(byte(r.State))
	started := r.StartedAt.UnixMicro()
	e.int(started)
	e.int(r.EndedAt.UnixMicro() - started)
	e.int(r.ScheduledAt.UnixMicro() - started)
	e.str(r.Job)
	e.str(r.Trigger)
	e.str(r.Node)
	e.int(int64(r.Attempt))
	e.int(int64(r.Priority))
	e.hex(string(r.RetryOf))
	e.hex(string(r.RecoveryOf))
	e.bytes(r.Data)
	e.str(string(r.ErrorCode))
	e.str(r.ErrorMessage)
	e.hex(r.Digest)
	e.uint(r.Fuel)
	e.uint(r.PeakMemory)
}

// endedRun writes in front of the record where the run is in the index by job.
func (e *enc) endedRun(segment uint32, r *jobhost.Run) {
	e.uint(uint64(segment) + 1) // not zero, see parts.go
	e.run(r)
}

func decodeEndedRun(id rawID, b []byte) (jobhost.Run, error) {
	d := dec{b: b}
	d.uint()
	return d.run(id)
}

// decodeRunEnd reads of an ended run only what deleting it takes.
func decodeRunEnd(b []byte) (job jobhost.Name, ended int64, segment uint32, err error) {
	d := dec{b: b}
	segment = uint32(d.uint() - 1) //nolint:gosec // was one
	d.open(runRecord)
	d.next(2)
	started := d.int()
	ended = started + d.int()
	d.int()
	job = string(d.next(d.uint()))
	return job, ended, segment, d.err
}

// mayMatch reports whether an ended run can be one that q selects, by what is in front of its record.
func mayMatch(q *jobhost.RunQuery, b []byte) bool {
	d := dec{b: b}
	d.uint()
	d.open(runRecord)
	kind, state := jobhost.RunKind(d.byte()), jobhost.RunState(d.byte())
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, kind) || len(q.States) > 0 && !slices.Contains(q.States, state) {
		return false
	}
	for range 3 {
		d.int()
	}
	d.next(d.uint())
	trigger, node := d.next(d.uint()), d.next(d.uint())
	return d.err != nil || (q.Trigger == "" || q.Trigger == string(trigger)) && (q.Node == "" || q.Node == string(node))
}

func decodeRun(id rawID, b []byte) (jobhost.Run, error) {
	d := dec{b: b}
	return d.run(id)
}

// checkRun reports what decodeRun would, for less.
func checkRun(b []byte) error {
	d := dec{b: b, dry: true}
	_, err := d.run(rawID{})
	return err
}

func (d *dec) run(id rawID) (r jobhost.Run, err error) {
	d.open(runRecord)
	if !d.dry {
		r.ID = id.id()
	}
	r.Kind = enum(d, jobhost.KindRetry)
	r.State = enum(d, jobhost.RunLost)
	started := d.int()
	r.StartedAt = fromMicro(started)
	r.EndedAt = fromMicro(started + d.int())
	r.ScheduledAt = fromMicro(started + d.int())
	r.Job = d.str()
	r.Trigger = d.str()
	r.Node = d.str()
	r.Attempt = int(d.int())
	r.Priority = d.priority()
	r.RetryOf = d.runID()
	r.RecoveryOf = d.runID()
	if d.slim {
		d.next(d.uint())
	} else {
		r.Data = d.bytes()
	}
	r.ErrorCode = jobhost.Code(d.str())
	r.ErrorMessage = d.str()
	r.Digest = d.hex()
	r.Fuel = d.uint()
	r.PeakMemory = d.uint()
	return r, d.close()
}

func (e *enc) node(n *jobhost.Node) {
	e.open(nodeRecord)
	e.str(n.Host)
	e.str(n.Version)
	e.int(n.Started.UnixMicro())
	e.int(n.Beat.UnixMicro())
	e.uint(uint64(len(n.FileJobs)))
	for _, name := range n.FileJobs {
		e.str(name)
	}
}

func decodeNode(id string, b []byte) (n jobhost.Node, err error) {
	d := dec{b: b}
	d.open(nodeRecord)
	n = jobhost.Node{ID: id, Host: d.str(), Version: d.str(), Started: fromMicro(d.int()), Beat: fromMicro(d.int())}
	for range d.count() {
		n.FileJobs = append(n.FileJobs, d.str())
	}
	return n, d.close()
}
