package jobhost

import (
	"errors"
	"fmt"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// ScheduleKind is one of the four kinds of schedule.
type ScheduleKind uint8

// The kinds of schedule (SPEC 6.1).
const (
	Manual ScheduleKind = iota // never due
	Every                      // one interval after the previous run ended
	Cron                       // matches of a cron expression
	Once                       // one instant
)

var scheduleKinds = []string{"manual", "every", "cron", "once"}

// String returns the word that schedule text begins with.
func (k ScheduleKind) String() string { return word(scheduleKinds, k) }

// Schedule says when. It is comparable: equal values mean the same. [ParseSchedule], [EveryInterval], [CronIn] and
// [OnceAt] make one; what is set by hand is checked by [Schedule.Check].
type Schedule struct {
	Kind     ScheduleKind
	Interval time.Duration // of Every; positive
	Times    int           // of Every: the total number of runs; 0: no limit
	Expr     string        // of Cron: fields separated by single spaces
	Zone     string        // of Cron: an IANA zone name; empty is UTC
	At       time.Time     // of Once; UTC
	Start    time.Time     // no run before it; UTC; zero: none
	End      time.Time     // no run after it; UTC; zero: none
	Calendar Name          // excludes instants; empty: none
}

// EveryInterval returns the schedule of runs that each start one interval after the end of the one before. The interval
// is positive. Set Times to bound the number of runs.
func EveryInterval(interval time.Duration) (Schedule, error) {
	return checked(Schedule{Kind: Every, Interval: interval})
}

// CronIn returns the schedule of a cron expression in a zone: an IANA name, a Windows zone id, or empty for UTC.
func CronIn(expr, zone string) (Schedule, error) {
	e, err := cron.Parse(expr)
	if err != nil {
		return Schedule{}, err
	}
	if zone, err = cron.CanonicalZone(zone); err != nil {
		return Schedule{}, err
	}
	if zone == "UTC" {
		zone = ""
	}
	return Schedule{Kind: Cron, Expr: e.String(), Zone: zone}, nil
}

// OnceAt returns the schedule of one run at an instant, which lies in the years 1 to 9999.
func OnceAt(at time.Time) (Schedule, error) {
	return checked(Schedule{Kind: Once, At: at.Round(0).UTC()})
}

func checked(s Schedule) (Schedule, error) {
	if err := s.Check(); err != nil {
		return Schedule{}, err
	}
	return s, nil
}

// Cron returns the matches of a schedule of kind [Cron]. They do not know of Start, End and Calendar. It fails when
// expression or zone are not valid, and for the other kinds.
func (s Schedule) Cron() (*cron.Schedule, error) {
	if s.Kind != Cron {
		return nil, fmt.Errorf("a schedule of kind %v has no cron expression", s.Kind)
	}
	e, err := cron.Parse(s.Expr)
	if err != nil {
		return nil, err
	}
	loc, err := cron.LoadZone(s.Zone)
	if err != nil {
		return nil, err
	}
	return e.In(loc), nil
}

// Check reports what is wrong with a schedule that was not made by [ParseSchedule]: values out of range, values that
// the kind has no use for, and values that are not in their one form, such as an instant that is not in UTC.
func (s Schedule) Check() error {
	var errs []error
	if int(s.Kind) >= len(scheduleKinds) {
		return fmt.Errorf("schedule kind is %v; want one of %q", s.Kind, scheduleKinds)
	}
	foreign := func(what string, set bool, kind ScheduleKind) {
		if set && s.Kind != kind {
			errs = append(errs, fmt.Errorf("%s belongs to %v, not to %v", what, kind, s.Kind))
		}
	}
	foreign("an interval", s.Interval != 0, Every)
	foreign("a number of runs", s.Times != 0, Every)
	foreign("an expression", s.Expr != "", Cron)
	foreign("tz", s.Zone != "", Cron)
	foreign("an instant", !s.At.IsZero(), Once)
	switch s.Kind {
	case Manual:
	case Every:
		if s.Interval <= 0 {
			errs = append(errs, fmt.Errorf("interval is %v; want more than 0", s.Interval))
		}
		if s.Times < 0 {
			errs = append(errs, fmt.Errorf("number of runs is %d; want 1 or more, or 0 for no limit", s.Times))
		}
	case Cron:
		if want, err := CronIn(s.Expr, s.Zone); err != nil {
			errs = append(errs, err)
		} else if want.Expr != s.Expr || want.Zone != s.Zone {
			errs = append(errs, fmt.Errorf("expression %q in zone %q is not in canonical form; want %q in %q", s.Expr, s.Zone, want.Expr, want.Zone))
		}
	case Once:
		if s.At.IsZero() {
			errs = append(errs, errors.New("instant is missing"))
		}
	}
	errs = append(errs, checkInstant("instant", s.At), checkInstant("start", s.Start), checkInstant("end", s.End))
	if !s.Start.IsZero() && !s.End.IsZero() && s.End.Before(s.Start) {
		errs = append(errs, fmt.Errorf("end %s is before start %s", instantText(s.End), instantText(s.Start)))
	}
	if s.Calendar != "" {
		if _, err := ParseName(s.Calendar); err != nil {
			errs = append(errs, fmt.Errorf("calendar: %w", err))
		}
	}
	return errors.Join(errs...)
}

// checkInstant reports an instant that schedule text cannot hold, or not in the form that compares equal.
func checkInstant(what string, t time.Time) error {
	switch u := t.Round(0).UTC(); {
	case t.IsZero() && t != (time.Time{}), t != u:
		return fmt.Errorf("%s %v is not in UTC or has a monotonic reading; use Round(0).UTC()", what, t)
	case !t.IsZero() && (u.Year() < 1 || u.Year() > 9999):
		return fmt.Errorf("%s is in year %d; want 1 to 9999", what, u.Year())
	}
	return nil
}
