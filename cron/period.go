package cron

import (
	"math"
	"slices"
	"time"
)

// forever stands for the bound that the first or last period of a zone does not have.
const forever = math.MaxInt64

// period is a stretch of time with one offset: from the second start to before end. The stretch before or after it may
// have the same offset.
type period struct{ start, end, offset int64 }

// period returns the stretch that at lies in.
func (s *Schedule) period(at int64) period {
	lo, hi := 0, len(s.periods)
	if hi == 0 || at < s.periods[0].start || at >= s.periods[hi-1].end {
		return periodAt(s.loc, at)
	}
	for hi-lo > 1 {
		if m := int(uint(lo+hi) / 2); at < s.periods[m].start {
			hi = m
		} else {
			lo = m
		}
	}
	return s.periods[lo]
}

func (s *Schedule) offsetAt(at int64) int64 {
	if at >= s.steady {
		return s.offset
	}
	return s.period(at).offset
}

// periodAt asks the zone. Where its file has no more transitions but a rule for all years, as most have after 2037 and
// those of the compiled-in database much earlier, that takes some 100 ns. Also, time.ZoneBounds then cuts stretches at
// the turn of the year, and in leap years a day too early; so an end that is not after at is taken to be the end of at's
// day.
func periodAt(loc *time.Location, at int64) period {
	t := time.Unix(at, 0).In(loc)
	_, offset := t.Zone()
	p := period{-forever, forever, int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = min(start.Unix(), at)
	}
	if !end.IsZero() {
		if p.end = end.Unix(); p.end <= at {
			p.end = (floorDiv(at, daySeconds) + 1) * daySeconds
		}
	}
	return p
}

// periodsFrom1970 returns the stretches of a zone up to 2100, as few as there are offsets in succession.
func periodsFrom1970(loc *time.Location) []period {
	const last = 4102444800 // 2100-01-01T00:00:00Z
	periods := []period{periodAt(loc, 0)}
	for p := &periods[0]; p.end < last; {
		if next := periodAt(loc, p.end); next.offset == p.offset {
			p.end = next.end
		} else {
			next.start = p.end
			periods = append(periods, next)
			p = &periods[len(periods)-1]
		}
	}
	return slices.Clip(periods)
}
