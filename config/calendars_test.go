package config

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// sameCalendars compares sets by their names; what a calendar excludes is package calendar's affair.
var sameCalendars = cmp.Comparer(func(a, b calendar.Set) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
})

func TestCalendarsAreReadWithTheirParameters(t *testing.T) {
	s := good(t, `
calendars:
- {name: holidays, kind: holiday, dates: [2026-10-01, "2026-10-02"], tz: Asia/Shanghai}
- {name: no-dates, kind: holiday}
- {name: weekends, kind: weekly}
- {name: mondays, kind: weekly, days: [mon], tz: "China Standard Time"}
- {name: nights, kind: daily, from: 22:00, to: 06:30:00}
- {name: early, kind: cron, expression: "* * 0-7 * * *", tz: "${zone:-America/New_York}"}
- name: office
  kind: composite
  members:
  - weekends
  - {kind: daily, from: "18:00", to: "08:00"}
  - {kind: composite, members: [holidays]}
- {name: nothing, kind: composite}
jobs:
- {name: a, plugin: p, schedule: cron 0 3 * * * calendar=office}
`)
	at := func(text string) time.Time {
		t.Helper()
		instant, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return instant
	}
	for _, c := range []struct {
		name     jobhost.Name
		at       string
		excluded bool
	}{
		{"holidays", "2026-10-01T00:00:00+08:00", true},
		{"holidays", "2026-10-02T23:59:59+08:00", true},
		{"holidays", "2026-10-03T00:00:00+08:00", false},
		{"no-dates", "2026-10-01T00:00:00Z", false},
		{"weekends", "2026-01-03T12:00:00Z", true},
		{"weekends", "2026-01-05T12:00:00Z", false},
		{"mondays", "2026-01-04T16:00:00Z", true},
		{"mondays", "2026-01-05T16:00:00Z", false},
		{"nights", "2026-01-05T22:00:00Z", true},
		{"nights", "2026-01-05T06:30:00Z", false},
		{"early", "2026-01-05T12:59:59Z", true},
		{"early", "2026-01-05T13:00:00Z", false},
		{"office", "2026-01-03T12:00:00Z", true},
		{"office", "2026-01-05T18:00:00Z", true},
		{"office", "2026-10-01T08:00:00Z", true},
		{"office", "2026-01-05T12:00:00Z", false},
		{"nothing", "2026-01-05T12:00:00Z", false},
	} {
		cal, ok := s.Calendars[c.name]
		if !ok {
			t.Fatalf("there is no calendar %s", c.name)
		}
		if got := cal.IsExcluded(at(c.at)); got != c.excluded {
			t.Errorf("%s excludes %s: %v, want %v", c.name, c.at, got, c.excluded)
		}
	}
	if got, want := calendar.Why(s.Calendars["office"], at("2026-01-03T12:00:00Z")), "office/weekends"; got != want {
		t.Errorf("why: %q, want %q", got, want)
	}
}

// A schedule is written with its calendar; that the calendar is there is known before anything runs.
func TestACalendarOfABrokenFileIsNotMissed(t *testing.T) {
	_, err := Load(Sources{Files: []File{
		{Name: "a.yaml", Data: []byte("calendars: [")},
		{Name: "b.yaml", Data: []byte("jobs: [{name: a, plugin: p, schedule: every 1m calendar=in-the-other-file}]")},
	}})
	problems, ok := err.(Problems) //nolint:errorlint // Load's own type
	if !ok || len(problems) != 1 || problems[0].Pos.File != "a.yaml" {
		t.Errorf("problems %v, want only that of a.yaml", err)
	}
}
