package engine

import (
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// slots lists the next n firings after an instant, and between them what does not fire, with the reason: what a calendar
// excludes, and the wall times that a clock change skips or repeats. A run is taken to need no time. At most n of those
// that do not fire are listed in a row.
func (p *plan) slots(after time.Time, n int) []jobhost.Slot {
	var out []jobhost.Slot
	after = p.sinceStart(after)
	for fired, excluded := 0, 0; fired < n && excluded < maxExcluded; {
		at := p.candidate(after)
		if at.IsZero() || !p.End.IsZero() && at.After(p.End) || p.Times > 0 && fired == p.Times {
			return out
		}
		if excluded < n {
			out = append(out, p.changedClock(after, at, n)...)
		}
		after = at
		if p.excludes(at) {
			if excluded++; excluded <= n {
				out = append(out, jobhost.Slot{At: at, Skipped: p.whyExcluded(at)})
			}
			continue
		}
		fired, excluded = fired+1, 0
		out = append(out, jobhost.Slot{At: at})
	}
	return out
}

// whyExcluded names what excludes an instant: the calendar, and of a composite one the member.
func (p *plan) whyExcluded(at time.Time) string {
	if member := calendar.Why(p.cal, at); member != "" && member != p.Calendar {
		return fmt.Sprintf("calendar %q excludes it: %s", p.Calendar, member)
	}
	return fmt.Sprintf("calendar %q excludes it", p.Calendar)
}

// changedClock lists the wall times between two neighbouring matches that the expression names and that do not fire, since
// a clock change skips them or shows them for the second time.
func (p *plan) changedClock(after, at time.Time, most int) (out []jobhost.Slot) {
	if p.Kind != jobhost.Cron {
		return nil
	}
	zone := p.cron.Location()
	onWall := p.cron.Expression().In(time.UTC) // a clock that never changes
	for wall := onWall.Next(asUTC(after.In(zone))); !wall.IsZero() && wall.Before(asUTC(at.In(zone))) && len(out) < most; wall = onWall.Next(wall) {
		shown := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
		why := "the clock was set back, and a wall time fires only the first time"
		if !asUTC(shown).Equal(wall) {
			why = "the clock is set forward past it"
			shown = forward(shown, wall)
		}
		out = append(out, jobhost.Slot{At: shown.UTC(), Skipped: fmt.Sprintf("%s %s: %s", wall.Format("2006-01-02 15:04:05"), zone, why)})
	}
	return out
}

// forward is the instant at which the clock is set past a wall time, near which time.Date has put it, on either side.
func forward(near, wall time.Time) time.Time {
	start, end := near.ZoneBounds()
	if asUTC(near).After(wall) {
		return start
	}
	return end
}

// asUTC is the wall clock of an instant, read as if it were UTC.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
