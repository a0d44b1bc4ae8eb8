package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

// maxExcluded is how many candidates in a row a calendar may exclude before a schedule has no next (SPEC 9).
const maxExcluded = 10_000

// precision is that of the instants in a store (SPEC 28).
const precision = time.Microsecond

// A plan is a schedule that is ready to be asked: its expression parsed, its zone loaded, its calendar found. It is
// immutable and all its answers are functions of their arguments.
type plan struct {
	jobhost.Schedule
	cron *cron.Schedule    // of a cron schedule
	cal  calendar.Calendar // nil: nothing is excluded
}

// newPlan compiles a schedule text. The error says what is wrong with the text, or names a calendar that is not there.
func newPlan(text string, calendars calendar.Set) (*plan, error) {
	s, err := jobhost.ParseSchedule(text)
	if err != nil {
		return nil, err
	}
	p := &plan{Schedule: s}
	p.At = s.At.Truncate(precision) // so that the instant equals the due that a store gives back
	if s.Kind == jobhost.Cron {
		if p.cron, err = s.Cron(); err != nil {
			return nil, err
		}
	}
	if s.Calendar != "" {
		var ok bool
		if p.cal, ok = calendars[s.Calendar]; !ok {
			return nil, fmt.Errorf("calendar %q is not registered", s.Calendar)
		}
	}
	return p, nil
}

// first is the first due of a trigger that is created at now; zero: none (SPEC 9).
func (p *plan) first(now time.Time, threshold time.Duration) time.Time {
	if p.Kind == jobhost.Once {
		if p.At.Before(now.Add(-threshold)) || p.excludes(p.At) || !p.inWindow(p.At) {
			return time.Time{}
		}
		return p.At
	}
	return p.next(now)
}

// next is the first due strictly after an instant: for an interval, of the end of its run; for cron, of the planned time
// of the firing, or of now when a misfire policy says so. Zero means that there is none.
func (p *plan) next(after time.Time) time.Time {
	after = p.sinceStart(after)
	for range maxExcluded {
		at := p.candidate(after)
		if at.IsZero() || !p.End.IsZero() && at.After(p.End) {
			return time.Time{}
		}
		if !p.excludes(at) {
			return at
		}
		after = at
	}
	return time.Time{}
}

// sinceStart moves an instant before the window to where the search in it begins.
func (p *plan) sinceStart(after time.Time) time.Time {
	from := p.Start // of an interval the first due is start + interval
	if p.Kind == jobhost.Cron {
		from = from.Add(-time.Nanosecond) // a match exactly at start counts
	}
	if p.Start.IsZero() || !after.Before(from) {
		return after
	}
	return from
}

// candidate is the schedule's own next instant, whatever window and calendar say.
func (p *plan) candidate(after time.Time) time.Time {
	switch p.Kind {
	case jobhost.Manual:
		return time.Time{}
	case jobhost.Every:
		return after.Add(p.Interval)
	case jobhost.Cron:
		return p.cron.Next(after).UTC() // the zero time stays zero
	case jobhost.Once:
		if p.At.After(after) && p.inWindow(p.At) && !p.excludes(p.At) {
			return p.At
		}
		return time.Time{}
	}
	return time.Time{}
}

// allows reports whether a run may be planned for an instant that is not one of the schedule's own.
func (p *plan) allows(at time.Time) bool { return p.inWindow(at) && !p.excludes(at) }

func (p *plan) inWindow(at time.Time) bool {
	return !at.Before(p.Start) && (p.End.IsZero() || !at.After(p.End))
}

func (p *plan) excludes(at time.Time) bool { return p.cal != nil && p.cal.IsExcluded(at) }

// plans keeps compiled plans by their text. It is safe for concurrent use.
type plans struct {
	calendars calendar.Set

	mu     sync.Mutex
	byText map[string]*plan
}

// of is the plan of a schedule text.
func (c *plans) of(text string) (*plan, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.byText[text]; ok {
		return p, nil
	}
	p, err := newPlan(text, c.calendars)
	if err != nil {
		return nil, err
	}
	const most = 20_000 // texts come from users
	if c.byText == nil || len(c.byText) >= most {
		c.byText = map[string]*plan{}
	}
	c.byText[text] = p
	return p, nil
}
