package engine

import (
	"time"

	"github.com/jobhost/jobhost"
)

// maxMissed is how many slots are counted at a time of what a trigger has missed, excluded ones included. Counting them
// takes about half a millisecond, which a turn can bear for each of many triggers after a long downtime.
const maxMissed = 10_000

const whyBlocked = "a run of the job was in progress"

// A loss is a reason why slots do not run.
type loss uint8

const (
	skipped loss = iota
	blockedSlots
	deadline
	collapsed // one run made up for several
)

// refuse is what t's refusals are once all its slots up to now that are not among them yet are lost for a reason.
func refuse(t jobhost.Trigger, p *plan, now time.Time, l loss, why string) jobhost.Refusals {
	n, last, more := p.missed(t.Due, t.Refused.Slot, now)
	return lose(t.Refused, n, last, more, now, l, why)
}

// refuseAllButOne is refuse for slots that one run makes up for: it stands for the first of them.
func refuseAllButOne(t jobhost.Trigger, p *plan, now time.Time, l loss, why string) jobhost.Refusals {
	n, last, more := p.missed(t.Due, t.Refused.Slot, now)
	if t.Due.After(t.Refused.Slot) {
		n--
	}
	if n == 0 {
		return t.Refused
	}
	return lose(t.Refused, n, last, more, now, l, why)
}

// lose adds n slots to refusals.
func lose(r jobhost.Refusals, n int, last time.Time, more bool, now time.Time, l loss, why string) jobhost.Refusals {
	switch l {
	case skipped:
		r.Skipped += n
	case blockedSlots:
		r.Blocked += n
	case deadline:
		r.Deadline += n
	case collapsed:
		r.Collapsed += n
	}
	r.AtLeast = r.AtLeast || more
	r.Last, r.At = why, now
	if n > 0 {
		r.Slot = last
	}
	return r
}

// missed counts the slots from due up to now that are later than one that was counted before, and names the last. It stops
// after maxMissed candidates and says whether there were more. A schedule that is no cron has one slot at a time.
func (p *plan) missed(due, counted, now time.Time) (n int, last time.Time, more bool) {
	at := counted
	if due.After(counted) {
		n, at, last = 1, due, due
	}
	if p.Kind != jobhost.Cron {
		return n, last, false
	}
	for range maxMissed + 1 {
		at = p.candidate(at)
		if at.IsZero() || at.After(now) || !p.End.IsZero() && at.After(p.End) {
			return n, last, false
		}
		if n == maxMissed {
			break
		}
		if !p.excludes(at) {
			n, last = n+1, at
		}
	}
	return n, last, true
}
