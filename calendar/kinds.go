package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// Holiday returns a calendar that excludes whole days of a zone, each given as YYYY-MM-DD. Without dates it excludes
// nothing. A nil zone is UTC.
func Holiday(dates []string, zone *time.Location) (Calendar, error) {
	h := make(holiday, len(dates))
	var errs []error
	for i, text := range dates {
		date, err := time.Parse(time.DateOnly, text)
		if err != nil {
			errs = append(errs, fmt.Errorf("date %q is not valid; want YYYY-MM-DD", text))
		}
		h[i] = date.Unix() / daySeconds
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.Sort(h)
	return walled{slices.Compact(h), in(zone)}, nil
}

// Weekly returns a calendar that excludes weekdays of a zone. Without days it excludes Saturday and Sunday. A nil zone is
// UTC.
func Weekly(days []time.Weekday, zone *time.Location) (Calendar, error) {
	if len(days) == 0 {
		days = []time.Weekday{time.Saturday, time.Sunday}
	}
	var w weekly
	for _, d := range days {
		if d < time.Sunday || d > time.Saturday {
			return nil, fmt.Errorf("weekday %d is out of range; want 0-6", d)
		}
		w |= 1 << d
	}
	return walled{w, in(zone)}, nil
}

// Daily returns a calendar that excludes a part of each day of a zone, from one time of day until before another, each
// given as HH:MM or HH:MM:SS. A part that ends before it starts crosses midnight. Equal times are an error. A nil zone is
// UTC.
func Daily(from, to string, zone *time.Location) (Calendar, error) {
	f, err1 := timeOfDay("from", from)
	t, err2 := timeOfDay("to", to)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if f == t {
		return nil, fmt.Errorf("from and to are both %s; want two different times", from)
	}
	return walled{daily{f, t}, in(zone)}, nil
}

// Cron returns a calendar that excludes every second in which the schedule matches, also when a wall time comes twice.
func Cron(schedule *cron.Schedule) Calendar { return matching{schedule} }

func in(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// timeOfDay reads HH:MM or HH:MM:SS as seconds since midnight.
func timeOfDay(what, text string) (int64, error) {
	layout := "15:04:05"
	if len(text) == len("15:04") {
		layout = "15:04"
	}
	t, err := time.Parse(layout, text)
	switch {
	case strings.HasPrefix(text, "24:"):
		return 0, fmt.Errorf("%s %q is not a time of day; want 00:00 for midnight", what, text)
	case err != nil || len(text) != len(layout):
		return 0, fmt.Errorf("%s %q is not a time of day; want HH:MM or HH:MM:SS", what, text)
	}
	return int64(t.Hour()*3600 + t.Minute()*60 + t.Second()), nil
}

// holiday is a sorted list of days since 1970-01-01.
type holiday []int64

func (h holiday) excluded(wall int64) bool {
	_, found := slices.BinarySearch(h, floorDiv(wall, daySeconds))
	return found
}

func (h holiday) end(wall int64) (int64, bool) {
	day := floorDiv(wall, daySeconds)
	i, _ := slices.BinarySearch(h, day)
	for ; i < len(h) && h[i] == day; i++ {
		day++
	}
	return day * daySeconds, true
}

func (h holiday) String() string {
	switch len(h) {
	case 0:
		return "holiday without dates"
	case 1:
		return "holiday " + dateText(h[0])
	}
	return "holiday " + strconv.Itoa(len(h)) + " dates from " + dateText(h[0]) + " to " + dateText(h[len(h)-1])
}

func dateText(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly) }

// weekly is a set of weekdays, bit 0 for Sunday.
type weekly uint8

func (w weekly) excluded(wall int64) bool {
	day := floorDiv(wall, daySeconds) + int64(time.Thursday) // 1970-01-01 was one
	return w>>(day-7*floorDiv(day, 7))&1 != 0
}

func (w weekly) end(wall int64) (int64, bool) {
	day := floorDiv(wall, daySeconds)
	for range 7 {
		if day++; !w.excluded(day * daySeconds) {
			return day * daySeconds, true
		}
	}
	return 0, false
}

func (w weekly) String() string {
	var names []string
	for i := range 7 {
		if d := time.Weekday((i + 1) % 7); w>>d&1 != 0 { // Monday first
			names = append(names, strings.ToUpper(d.String()[:3]))
		}
	}
	return "weekly " + strings.Join(names, ",")
}

// daily is a part of the day in seconds since midnight.
type daily struct{ from, to int64 }

func (d daily) excluded(wall int64) bool {
	s := wall - daySeconds*floorDiv(wall, daySeconds)
	if d.from < d.to {
		return s >= d.from && s < d.to
	}
	return s >= d.from || s < d.to
}

func (d daily) end(wall int64) (int64, bool) {
	midnight := daySeconds * floorDiv(wall, daySeconds)
	if wall-midnight >= d.to {
		midnight += daySeconds
	}
	return midnight + d.to, true
}

func (d daily) String() string {
	clock := func(s int64) string { return time.Unix(s, 0).UTC().Format(time.TimeOnly) }
	return "daily " + clock(d.from) + "-" + clock(d.to)
}

// matching is a cron calendar.
type matching struct{ schedule *cron.Schedule }

// IsExcluded reports whether the second of at matches.
func (m matching) IsExcluded(at time.Time) bool { return m.schedule.Matches(at) }

// Resume finds the first second that does not match.
func (m matching) Resume(at time.Time) (time.Time, bool) { return m.schedule.NextUnmatched(at) }

// Why says what the calendar is.
func (m matching) Why(at time.Time) string {
	if !m.IsExcluded(at) {
		return ""
	}
	return m.String()
}

// String returns kind, expression and zone.
func (m matching) String() string {
	return fmt.Sprintf("cron %v (%v)", m.schedule.Expression(), m.schedule.Location())
}
