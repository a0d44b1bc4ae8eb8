package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/calendar"
)

func TestPreviewSaysWhyASlotIsSkipped(t *testing.T) {
	set, err := calendar.Compile(
		calendar.Definition{Name: "weekends", Kind: "weekly"},
		calendar.Definition{Name: "free", Kind: "composite", Members: []calendar.Member{{Name: "weekends"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, schedule, from string
		n                    int
		want                 []string
	}{
		{"FR-32 a calendar and its member", "cron 0 9 * * * calendar=free", "2026-01-02T00:00:00Z", 2, []string{
			"2026-01-02T09:00:00Z",
			`2026-01-03T09:00:00Z calendar "free" excludes it: free/weekends`,
			`2026-01-04T09:00:00Z calendar "free" excludes it: free/weekends`,
			"2026-01-05T09:00:00Z",
		}},
		{"FR-23 a clock that is set forward", "cron 30 2 * * * tz=America/New_York", "2026-03-07T12:00:00Z", 1, []string{
			"2026-03-08T07:00:00Z 2026-03-08 02:30:00 America/New_York: the clock is set forward past it",
			"2026-03-09T06:30:00Z",
		}},
		{"FR-23 a clock that is set back", "cron */30 * * * * tz=America/New_York", "2026-11-01T06:00:00Z", 1, []string{
			"2026-11-01T05:30:00Z 2026-11-01 01:30:00 America/New_York: the clock was set back, and a wall time fires only the first time",
			"2026-11-01T07:00:00Z",
		}},
		{"an interval has a total", "every 10m x2", "2026-01-01T00:00:00Z", 5, []string{"2026-01-01T00:10:00Z", "2026-01-01T00:20:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPlan(c.schedule, set)
			if err != nil {
				t.Fatal(err)
			}
			from, err := time.Parse(time.RFC3339, c.from)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range p.slots(from, c.n) {
				line := s.At.Format(time.RFC3339)
				if s.Skipped != "" {
					line += " " + s.Skipped
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}
