package cron

import (
	"iter"
	"time"
)

// Schedule is an expression in a zone. It is immutable and safe for use by many goroutines.
type Schedule struct {
	expr    Expression
	loc     *time.Location
	periods []period // of loc, in order and without holes; empty when LoadZone does not know it

	// From the second steady on the zone's clock is never set again and is offset ahead of UTC.
	steady, offset int64
}

// In returns the schedule of the expression in a zone. A nil zone is UTC.
func (e Expression) In(loc *time.Location) *Schedule {
	if loc == nil {
		loc = time.UTC
	}
	s := &Schedule{expr: e, loc: loc, periods: periodsOf(loc), steady: forever}
	if p := s.period(lastInstant); p.end == forever {
		s.steady, s.offset = p.start, p.offset
		if p.start != -forever {
			s.steady += maxOverlap
		}
	}
	return s
}

// Expression returns what the schedule was made of.
func (s *Schedule) Expression() Expression { return s.expr }

// Location returns the zone.
func (s *Schedule) Location() *time.Location { return s.loc }

// Next returns the first instant strictly later than after at which the zone's clock shows a matching wall time, in the
// schedule's zone, or the zero time when there is none.
//
// It looks at most five calendar years ahead: to the wall clock of after plus five years, inclusive, where 29 February
// becomes the 28th (SPEC 7.5). A wall time that the zone skips does not count; of one that comes twice only the first
// counts. Instants before year 0 or after year 9999 have no next.
//
// It takes time in proportion to the months that are passed over, at most 61, and does not allocate.
func (s *Schedule) Next(after time.Time) time.Time {
	at := after.Unix()
	if at < firstInstant || at > lastInstant {
		return time.Time{}
	}
	var next int64
	var ok bool
	if at >= s.steady {
		shown := at + s.offset
		next, ok = s.expr.after(shown, shown+1)
		next -= s.offset
	} else {
		next, ok = s.nextAcross(at)
	}
	if !ok {
		return time.Time{}
	}
	return time.Unix(next, 0).In(s.loc)
}

// All yields the matches from from to to, both included, in order.
func (s *Schedule) All(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := s.Next(from.Add(-1)); !t.IsZero() && !t.After(to); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Matches reports whether the zone's clock shows a matching wall time at t, which may be the first or a repeated
// showing. Fractions of a second are dropped. Before year 0 and after year 9999 nothing matches.
func (s *Schedule) Matches(t time.Time) bool {
	at := t.Unix()
	return at >= firstInstant && at <= lastInstant && s.expr.matches(at+s.offsetAt(at))
}

// NextUnmatched returns the first instant at or after from at which [Schedule.Matches] is false, or false when there is
// none within five years. It is from itself when that does not match, and else a whole second.
func (s *Schedule) NextUnmatched(from time.Time) (time.Time, bool) {
	at := from.Unix()
	if at < firstInstant || at > lastInstant || !s.Matches(from) {
		return from, true
	}
	for last := fiveYearsAfter(at + s.offsetAt(at)); ; {
		p := s.period(at)
		wall, ok := s.expr.free(at+p.offset, last)
		switch {
		case !ok:
			return time.Time{}, false
		case wall-p.offset < p.end:
			return time.Unix(wall-p.offset, 0).In(s.loc), true
		}
		at = p.end
	}
}

const (
	firstInstant = -62167219200 // 0000-01-01T00:00:00Z
	lastInstant  = 253402300799 // 9999-12-31T23:59:59Z
	maxOverlap   = 26 * 60 * 60 // clocks are set back by less: offsets lie between -12 and +14 hours
)

// nextAcross is Next where the clock may be set.
func (s *Schedule) nextAcross(at int64) (int64, bool) {
	p := s.period(at)
	shown := at + p.offset
	wall := shown + 1
	for {
		var ok bool
		if wall, ok = s.expr.after(shown, wall); !ok {
			return 0, false
		}
		first, resume := s.place(wall, p)
		if first > at {
			return first, true
		}
		wall = resume
	}
}

// place returns the first instant at which the clock shows wall, looking from period p. When there is none, or it lies
// in the past of whoever asks, the search goes on at the wall time resume, which ends the skipped or repeated stretch.
func (s *Schedule) place(wall int64, p period) (first, resume int64) {
	first = wall - p.offset
	if first < p.start || first >= p.end {
		p = s.period(first)
		first = wall - p.offset
	}
	for first >= p.end {
		next := s.period(p.end)
		if first = wall - next.offset; first < p.end {
			return -forever, p.end + next.offset
		}
		p = next
	}
	for first < p.start {
		previous := s.period(p.start - 1)
		if first = wall - previous.offset; first >= p.start {
			return -forever, p.start + p.offset
		}
		p = previous
	}
	resume = wall + 1
	for end := p.start; end != -forever && first-end < maxOverlap; end = p.start {
		p = s.period(end - 1)
		if earlier := wall - p.offset; earlier >= p.start && earlier < end {
			first, resume = earlier, end+p.offset
		}
	}
	return first, resume
}

// after returns the first matching wall time at or after from that is at most five years after shown.
func (e *Expression) after(shown, from int64) (int64, bool) {
	const sure = 5 * 365 * daySeconds // five calendar years are never shorter
	y, _, _ := civil(floorDiv(shown, daySeconds))
	next, ok := e.next(from, y+5)
	if ok && next-shown > sure {
		ok = next <= fiveYearsAfter(shown)
	}
	return next, ok
}

func fiveYearsAfter(wall int64) int64 {
	day := floorDiv(wall, daySeconds)
	y, m, d := civil(day)
	y += 5
	return dayOf(y, m, min(d, monthDays(y, m)))*daySeconds + wall - day*daySeconds
}

func (e *Expression) matches(wall int64) bool {
	day := floorDiv(wall, daySeconds)
	s := int(wall - day*daySeconds)
	if e.set[Hour]>>(s/3600)&1 == 0 || e.set[Minute]>>(s/60%60)&1 == 0 || e.set[Second]>>(s%60)&1 == 0 {
		return false
	}
	y, m, d := civil(day)
	return e.set[Month]>>m&1 != 0 && e.hasYear(y) && e.days(y, m, day-int64(d-1))>>d&1 != 0
}
