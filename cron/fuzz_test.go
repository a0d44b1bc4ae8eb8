package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost/cron"
)

func FuzzParse(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "*/5 9-17 * * MON-FRI", "0 0 1W,L-3,LW * FRI#2,5L", "0 0 0 ? * 7/2 2026-2030/2", "  05\t* * * ? ",
		"@daily", "0 0 * * FRI-MON", "0 0 L/2 * *", "1,,2 * * * *", "0 ５ * * *", "* * * * * * * *", "0 18446744073709551617 * * *",
	} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		e, err := cron.Parse(expr)
		if err != nil {
			if e != (cron.Expression{}) || err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("Parse(%q) = %q, %q", expr, e, err)
			}
			return
		}
		if got := strings.Join(strings.Fields(expr), " "); e.String() != got {
			t.Fatalf("Parse(%q) is written %q, want %q", expr, e, got)
		}
		if again, err := cron.Parse(e.String()); err != nil || again != e {
			t.Fatalf("Parse(%q) read again: %v", e, err)
		}
		if e.Describe() == "" || cron.Chinese(e.Outline()) == "" {
			t.Fatalf("%q is described in no words", e)
		}
	})
}

func FuzzNext(f *testing.F) {
	f.Add("* * * * *", uint8(1), int64(1793500200), int64(0))
	f.Add("30 2 * * *", uint8(1), int64(1772884800), int64(1))
	f.Add("0 0 29 2 *", uint8(0), int64(3981916800), int64(0))
	f.Add("0 0 31W * ? 2099", uint8(4), int64(-1), int64(999_999_999))
	f.Add("*/7 * * L * 1#5", uint8(3), int64(4102444800), int64(0))
	f.Add("0 0 *,1 1 0", uint8(1), int64(1793500259), int64(84))
	f.Add("0 0 0 1 1 0 *", uint8(5), int64(4102445000), int64(0)) // after the last year that can be named
	f.Fuzz(func(t *testing.T, expr string, zone uint8, second, nanosecond int64) {
		e, err := cron.Parse(expr)
		if err != nil {
			return
		}
		loc, err := cron.LoadZone(someZones[int(zone)%len(someZones)])
		if err != nil {
			t.Fatal(err)
		}
		s := e.In(loc)
		after := time.Unix(second, nanosecond%1_000_000_000)
		next := s.Next(after)
		if next.IsZero() {
			return
		}
		switch limit := after.AddDate(5, 0, 2); {
		case !next.After(after):
			t.Fatalf("%q in %v: Next(%v) = %v is not later", expr, loc, after, next)
		case next.After(limit):
			t.Fatalf("%q in %v: Next(%v) = %v is more than five years later", expr, loc, after, next)
		case !s.Matches(next) || next.Nanosecond() != 0:
			t.Fatalf("%q in %v: Next(%v) = %v does not match", expr, loc, after, next)
		case !newOracle(expr).matches(next):
			t.Fatalf("%q in %v: Next(%v) = %v, the oracle says that it does not match", expr, loc, after, next)
		}
		if again := s.Next(next.Add(-1)); !again.Equal(next) {
			t.Fatalf("%q in %v: Next(%v) = %v, but from just before that %v", expr, loc, after, next, again)
		}
		if middle := after.Add(next.Sub(after) / 2); !s.Next(middle).Equal(next) {
			t.Fatalf("%q in %v: Next(%v) = %v, but from halfway %v", expr, loc, after, next, s.Next(middle))
		}
	})
}
