package calendar_test

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

func BenchmarkIsExcluded(b *testing.B) {
	at := time.Date(2026, 6, 15, 12, 34, 56, 0, time.UTC)
	for _, d := range []calendar.Definition{
		{Kind: "holiday", Dates: []string{"2026-06-15", "2026-12-25"}, Zone: "America/New_York"},
		{Kind: "weekly", Zone: "America/New_York"},
		{Kind: "daily", From: "22:00", To: "06:00", Zone: "America/New_York"},
		{Kind: "cron", Expression: "* * 0-7 * * *", Zone: "America/New_York"},
		both(calendar.Definition{Kind: "weekly"}, calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}),
	} {
		b.Run(d.Kind, func(b *testing.B) {
			c := compile(b, d)
			b.ReportAllocs()
			for b.Loop() {
				c.IsExcluded(at)
			}
		})
	}
}

func BenchmarkResume(b *testing.B) {
	c := compile(b, both(calendar.Definition{Kind: "weekly", Zone: "America/New_York"}, calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}))
	saturday := time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := calendar.Resume(c, saturday); !ok {
			b.Fatal("no end")
		}
	}
}

// BenchmarkWeekendOfSeconds is what a planner does until it gives up after 10,000 excluded candidates (SPEC 9). The
// budget is 5 ms.
func BenchmarkWeekendOfSeconds(b *testing.B) {
	zone, err := cron.LoadZone("America/New_York")
	if err != nil {
		b.Fatal(err)
	}
	e, err := cron.Parse("* * * * * *")
	if err != nil {
		b.Fatal(err)
	}
	s := e.In(zone)
	c := compile(b, calendar.Definition{Kind: "weekly", Zone: "America/New_York"})
	friday := time.Date(2026, 1, 2, 23, 59, 59, 0, zone)
	b.Run("asking for each", func(b *testing.B) {
		for b.Loop() {
			at := friday
			for range 10_000 {
				if at = s.Next(at); !c.IsExcluded(at) {
					b.Fatal("not excluded")
				}
			}
		}
	})
	b.Run("with Resume", func(b *testing.B) {
		for b.Loop() {
			at := s.Next(friday)
			end, ok := calendar.Resume(c, at)
			for n := 1; ok && n < 10_000; n++ {
				if at = s.Next(at); !at.Before(end) {
					b.Fatal("not excluded")
				}
			}
		}
	})
}
