package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// The settings that the model and the engine are played with. They are short, so that a short story sees misfires.
const (
	modelPoll      = 5 * second
	modelThreshold = 30 * second
)

// A model is SPEC 9 to 13 and 17 once more, as plainly as they can be said: lists of jobs and of runs that are looked at
// from end to end, one event after the other. It is written from the specification; where that leaves a choice, it is as
// DESIGN says: the end of a run settles its job's Blocked triggers in order until one starts, and a make-up of run_all
// holds the trigger back for exactly one poll interval, or until it is paused.
type model struct {
	now  time.Time
	jobs map[jobhost.Name]*modelJob
	runs []*modelRun
}

type modelJob struct {
	def      jobhost.JobDef
	paused   bool
	triggers []*modelTrigger // one-shots too
}

type modelTrigger struct {
	job    jobhost.Name
	def    jobhost.TriggerDef
	state  jobhost.TriggerState
	due    time.Time
	hold   time.Time // not to be claimed before, after a make-up
	count  int
	paused bool
	run    *modelRun // that it waits for, while Running
	shot   *modelRun // of a one-shot: the run that it will be
}

type modelRun struct {
	job, trigger              jobhost.Name
	kind                      jobhost.RunKind
	attempt                   int
	first                     *modelRun // of its chain, unless it is that itself
	priority                  int32
	scheduled, started, ended time.Time
	state                     jobhost.RunState
}

// define is T1, T2, T14, T17 to T20.
func (m *model) define(def jobhost.JobDef) {
	j := m.jobs[def.Name]
	if j == nil {
		j = &modelJob{}
		m.jobs[def.Name] = j
	}
	old := j.triggers
	j.def, j.triggers = def, slices.DeleteFunc(slices.Clone(old), func(t *modelTrigger) bool { return t.shot == nil })
	for _, d := range def.Triggers {
		t := &modelTrigger{job: def.Name}
		if i := slices.IndexFunc(old, func(o *modelTrigger) bool { return o.shot == nil && o.def.Name == d.Name }); i >= 0 {
			t = old[i]
		}
		same, s := t.def.Schedule == d.Schedule, schedules[d.Schedule]
		t.def = d
		j.triggers = append(j.triggers, t)
		switch {
		case same:
		case t.state == jobhost.TriggerRunning && s.every > 0:
			t.count = 0
		default:
			t.count, t.run, t.hold = 0, nil, time.Time{}
			t.wait(s.first(m.now))
		}
	}
	for _, t := range j.triggers {
		if t.state == jobhost.TriggerBlocked && def.AllowConcurrent {
			t.state = jobhost.TriggerWaiting
		}
	}
	m.advance(m.now)
}

func (m *model) pause(target jobhost.Target, paused bool) {
	j := m.jobs[target.Job]
	if target.Trigger == "" {
		j.paused = paused
	}
	for _, t := range j.triggers {
		mine := t.shot == nil && (target.Trigger == "" || t.def.Name == target.Trigger)
		if mine && target.Trigger != "" {
			t.paused = paused
		}
		if mine && paused {
			t.hold = time.Time{}
		}
		if mine && target.SkipMissed && t.state == jobhost.TriggerWaiting && !t.due.After(m.now) {
			t.wait(schedules[t.def.Schedule].next(m.now))
		}
	}
	m.advance(m.now)
}

// trigger is a manual run, here and now. It reports whether it was refused.
func (m *model) trigger(job jobhost.Name) (refused bool) {
	if m.busy(m.jobs[job]) {
		return true
	}
	m.start(&modelRun{job: job, kind: jobhost.KindManual, attempt: 1, scheduled: m.now, priority: jobhost.DefaultPriority})
	return false
}

func (m *model) enqueue(job jobhost.Name, at time.Time, priority int32) {
	m.plan(&modelRun{job: job, kind: jobhost.KindManual, attempt: 1, scheduled: at, priority: priority})
	m.advance(m.now)
}

// plan writes a one-shot.
func (m *model) plan(r *modelRun) {
	j := m.jobs[r.job]
	t := &modelTrigger{job: r.job, shot: r, state: jobhost.TriggerWaiting, due: r.scheduled}
	t.def.Name, t.def.Priority = strings.ToLower(r.kind.String())+"-", r.priority
	j.triggers = append(j.triggers, t)
}

// end is the end of a run with all that follows from it: T11, T13, a retry.
func (m *model) end(r *modelRun, state jobhost.RunState, permanent bool) {
	r.state, r.ended = state, m.now
	j := m.jobs[r.job]
	if j == nil {
		return
	}
	for _, t := range j.triggers {
		if t.run != r {
			continue
		}
		s := schedules[t.def.Schedule]
		t.run = nil
		if s.times > 0 && t.count >= s.times {
			t.wait(time.Time{})
		} else {
			t.wait(s.next(m.now))
		}
	}
	if p := j.def.Retry; p != nil && state == jobhost.RunFailed && !permanent && r.attempt <= p.MaxRetries {
		delay := p.Delay
		for n := 1; n < r.attempt && p.Exponential; n++ {
			delay *= 2
		}
		if p.Exponential && p.MaxDelay > 0 {
			delay = min(delay, p.MaxDelay)
		}
		m.plan(&modelRun{
			job: r.job, trigger: r.trigger, kind: jobhost.KindRetry, attempt: r.attempt + 1, first: cmp.Or(r.first, r),
			scheduled: m.now.Add(delay), priority: r.priority,
		})
	}
	if len(m.open(r.job)) == 0 {
		m.free(j)
	}
	m.advance(m.now)
}

func (m *model) free(j *modelJob) {
	blocked := slices.DeleteFunc(slices.Clone(j.triggers), func(t *modelTrigger) bool { return t.state != jobhost.TriggerBlocked })
	slices.SortFunc(blocked, byOrder)
	for _, t := range blocked {
		if !j.paused && !t.paused && !m.busy(j) {
			t.state = jobhost.TriggerWaiting
			m.settle(t)
		}
	}
	for _, t := range blocked {
		if t.state == jobhost.TriggerBlocked && !m.busy(j) {
			t.state = jobhost.TriggerWaiting
		}
	}
}

// cancelPending records an enqueued run that has not started as Canceled.
func (m *model) cancelPending(t *modelTrigger) {
	m.remove(t)
	t.shot.state, t.shot.ended = jobhost.RunCanceled, m.now
	m.runs = append(m.runs, t.shot)
}

func (m *model) remove(t *modelTrigger) {
	j := m.jobs[t.job]
	j.triggers = slices.DeleteFunc(j.triggers, func(o *modelTrigger) bool { return o == t })
}

// advance lets time pass: whatever wants to fire until an instant does, each at its own.
func (m *model) advance(to time.Time) {
	for {
		var next *modelTrigger
		var at time.Time
		for _, j := range m.jobs {
			for _, t := range j.triggers {
				if t.state != jobhost.TriggerWaiting || t.paused || j.paused {
					continue
				}
				ready := later(later(t.due, t.hold), m.now)
				if next == nil || ready.Before(at) || ready.Equal(at) && byOrder(t, next) < 0 {
					next, at = t, ready
				}
			}
		}
		if next == nil || at.After(to) {
			m.now = to
			return
		}
		m.now = at
		m.settle(next)
	}
}

// byOrder is the order of acquisition (SPEC 11).
func byOrder(a, b *modelTrigger) int {
	return cmp.Or(cmp.Compare(b.def.Priority, a.def.Priority), a.due.Compare(b.due), strings.Compare(a.job, b.job), strings.Compare(a.def.Name, b.def.Name))
}

// settle decides a trigger that is due: the table of SPEC 12, and SPEC 13.
func (m *model) settle(t *modelTrigger) {
	busy := m.busy(m.jobs[t.job])
	if t.shot != nil {
		if t.state = jobhost.TriggerBlocked; !busy {
			m.remove(t)
			m.start(t.shot)
		}
		return
	}
	s, late := schedules[t.def.Schedule], m.now.Sub(t.due)
	misfire, policy := late > modelThreshold, t.def.Misfire
	tooLate := t.def.StartDeadline > 0 && late > t.def.StartDeadline
	skipped := misfire && policy == jobhost.MisfireSkip
	makeUp := misfire && policy == jobhost.MisfireRunOnce
	switch {
	case tooLate || skipped || makeUp && !s.allows(m.now):
		t.wait(s.next(m.now))
		return
	case busy:
		t.state = jobhost.TriggerBlocked
		return
	}
	planned := t.due
	if makeUp {
		planned = m.now
	}
	r := &modelRun{job: t.job, trigger: t.def.Name, kind: jobhost.KindSchedule, attempt: 1, scheduled: planned, priority: t.def.Priority}
	m.start(r)
	t.count++
	if s.every > 0 {
		t.state, t.due, t.run = jobhost.TriggerRunning, time.Time{}, r
		return
	}
	t.wait(s.next(planned))
	if misfire && policy == jobhost.MisfireRunAll {
		t.hold = m.now.Add(modelPoll)
	}
}

func (m *model) start(r *modelRun) {
	r.started, r.state = m.now, jobhost.RunRunning
	m.runs = append(m.runs, r)
}

func (m *model) open(job jobhost.Name) (runs []*modelRun) {
	for _, r := range m.runs {
		if r.job == job && r.state == jobhost.RunRunning {
			runs = append(runs, r)
		}
	}
	return runs
}

func (m *model) busy(j *modelJob) bool { return !j.def.AllowConcurrent && len(m.open(j.def.Name)) > 0 }

func (t *modelTrigger) wait(due time.Time) {
	t.due, t.state = due, jobhost.TriggerWaiting
	if due.IsZero() {
		t.state = jobhost.TriggerComplete
	}
}

// A modelSchedule is what a schedule text means, without a parser: cron is a function of the second.
type modelSchedule struct {
	every      time.Duration
	times      int
	once       time.Time
	match      func(second int) bool // of the time since t0
	start, end time.Duration         // 0: none
	not        [2]time.Duration      // excluded by the calendar, from and to
}

func (s modelSchedule) allows(at time.Time) bool {
	d := at.Sub(t0)
	excluded := d >= s.not[0] && d.Truncate(second) < s.not[1]
	return d >= s.start && (s.end == 0 || d <= s.end) && !excluded
}

// first is the first due of a trigger that is made at an instant.
func (s modelSchedule) first(now time.Time) time.Time {
	if !s.once.IsZero() && now.Sub(s.once) > modelThreshold {
		return time.Time{}
	}
	if !s.once.IsZero() {
		return s.once
	}
	return s.next(now)
}

// next is the next due after an instant; zero: none. An hour is longer than any pause between matches here.
func (s modelSchedule) next(after time.Time) time.Time {
	switch {
	case s.every > 0:
		return later(after, t0.Add(s.start)).Add(s.every)
	case !s.once.IsZero():
		return time.Time{}
	}
	at := after.Truncate(second)
	for range int(hour / second) {
		at = at.Add(second)
		if s.match(int(at.Sub(t0)/second)) && s.allows(at) {
			return at
		}
	}
	return time.Time{}
}

func eachNth(n int) func(int) bool { return func(s int) bool { return s%minutes%n == 0 } }

const minutes = 60 // seconds in one

var schedules = map[string]modelSchedule{
	"cron */20 * * * * *":                            {match: eachNth(20)},
	"cron */7 * * * * *":                             {match: eachNth(7)},
	"cron 5 * * * * *":                               {match: func(s int) bool { return s%minutes == 5 }},
	"cron */15 * * * * * end=2026-01-05T00:04:00Z":   {match: eachNth(15), end: 4 * minute},
	"cron */30 * * * * * start=2026-01-05T00:03:00Z": {match: eachNth(30), start: 3 * minute},
	"cron */10 * * * * * calendar=quiet":             {match: eachNth(10), not: [2]time.Duration{2 * minute, 4 * minute}},
	"cron 0 0 0 30 2 *":                              {match: func(int) bool { return false }},
	"every 13s":                                      {every: 13 * second},
	"every 40s":                                      {every: 40 * second},
	"every 9s x3":                                    {every: 9 * second, times: 3},
	"every 25s start=2026-01-05T00:03:00Z":           {every: 25 * second, start: 3 * minute},
	"once 2026-01-05T00:02:30Z":                      {once: t0.Add(150 * second)},
}

// lines is the model's state, one line for each trigger and run, sorted.
func (m *model) lines() []string {
	var out []string
	for name, j := range m.jobs {
		out = append(out, jobLine(name, j.paused))
		for _, t := range j.triggers {
			if t.shot != nil {
				out = append(out, shotLine(name, t.shot.kind, t.shot.attempt, t.shot.trigger, t.due, t.state))
			} else {
				out = append(out, triggerLine(name, t.def.Name, t.state, t.due, t.count, t.paused))
			}
		}
	}
	for _, r := range m.runs {
		line := r.key() + fmt.Sprintf(" %v, ended %s", r.state, since(r.ended))
		if r.first != nil {
			line += ", after " + r.first.key()
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// key tells a run from all others in one story.
func (r *modelRun) key() string {
	return runKey(r.job, r.trigger, r.kind, r.attempt, r.scheduled, r.started)
}
