package calendar

import (
	"fmt"
	"time"
)

const daySeconds = 24 * 60 * 60

// rule excludes readings of a wall clock, counted in seconds as if it had shown 1970-01-01T00:00:00 at 0 and never been
// set since.
type rule interface {
	excluded(wall int64) bool
	// end returns the first wall time after an excluded one that is not excluded; false: there is none.
	end(wall int64) (int64, bool)
}

// walled is a rule for the clock of a zone.
type walled struct {
	rule rule
	zone *time.Location
}

// IsExcluded reads the zone's clock.
func (w walled) IsExcluded(at time.Time) bool { return w.rule.excluded(wallOf(at.In(w.zone))) }

// Resume goes to the end of the excluded stretch, or stops to look again where the zone's clock is set.
func (w walled) Resume(at time.Time) (time.Time, bool) {
	const patience = 100
	for range patience {
		at = at.In(w.zone)
		wall := wallOf(at)
		if !w.rule.excluded(wall) {
			return at, true
		}
		end, ok := w.rule.end(wall)
		if !ok {
			return time.Time{}, false
		}
		next := time.Unix(at.Unix()+end-wall, 0).In(w.zone)
		if change := nextChange(at); !change.IsZero() && !change.After(next) {
			next = change
		}
		at = next
	}
	return time.Time{}, false
}

// Why says what the calendar is.
func (w walled) Why(at time.Time) string {
	if !w.IsExcluded(at) {
		return ""
	}
	return w.String()
}

// String returns kind, parameters and zone.
func (w walled) String() string { return fmt.Sprintf("%v (%v)", w.rule, w.zone) }

func wallOf(at time.Time) int64 {
	_, offset := at.Zone()
	return at.Unix() + int64(offset)
}

// nextChange returns an instant after at up to which the zone's clock is not set; zero: it never is again. At the end of
// some leap years time.ZoneBounds names an instant that is not after at; then it is the end of at's day in UTC.
func nextChange(at time.Time) time.Time {
	_, change := at.ZoneBounds()
	if !change.IsZero() && !change.After(at) {
		return time.Unix((floorDiv(at.Unix(), daySeconds)+1)*daySeconds, 0).In(at.Location())
	}
	return change
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
