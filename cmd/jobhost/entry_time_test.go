package main

import (
	"testing"
	"time"
)

func TestALogOfAnotherDayHasDateAndZone(t *testing.T) {
	now := time.Date(2026, 10, 2, 12, 0, 0, 0, time.Local)
	if got, want := entryTime(now.Add(-time.Hour), now), "11:00:00.000"; got != want {
		t.Errorf("of today: %q, want %q", got, want)
	}
	yesterday := now.AddDate(0, 0, -1)
	if got, want := entryTime(yesterday, now), yesterday.Format("2006-01-02 15:04:05.000 -07:00"); got != want {
		t.Errorf("of yesterday: %q, want %q", got, want)
	}
	if got, want := entryTime(now.AddDate(-1, 0, 0), now), now.AddDate(-1, 0, 0).Format("2006-01-02 15:04:05.000 -07:00"); got != want {
		t.Errorf("of the same day a year ago: %q, want %q", got, want)
	}
}
