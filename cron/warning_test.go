package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/cron"
)

func TestWarnings(t *testing.T) {
	berlin := "Europe/Berlin"
	tests := []struct {
		name, expr, zone string
		want             []string
	}{
		{"FR-23 a daily run in a gap", "30 2 * * *", newYork, []string{
			"clock_forward: loses a run: on 2026-03-08 the clock goes from 02:00:00 to 03:00:00 and skips 02:30:00",
		}},
		{"FR-23 runs of a whole hour in a gap", "*/5 2 * * *", berlin, []string{
			"clock_forward: loses a run: on 2026-03-29 the clock goes from 02:00:00 to 03:00:00 and skips 02:00:00 and 11 more",
		}},
		{"FR-23 every other hour", "0 */2 * * *", newYork, []string{
			"clock_forward: loses a run: on 2026-03-08 the clock goes from 02:00:00 to 03:00:00 and skips 02:00:00",
		}},
		{"FR-23 a day without midnight", "0 0 * * *", "Africa/Cairo", []string{
			"clock_forward: loses a run: on 2026-04-24 the clock goes from 00:00:00 to 01:00:00 and skips 00:00:00",
		}},
		{"an hourly run loses nothing but pauses", "0 * * * *", newYork, []string{
			"clock_back: pauses for 2h0m0s: on 2026-11-01 the clock goes back from 02:00:00 to 01:00:00, and what comes twice runs the first time only",
		}},
		{"a pause of 90 minutes", "*/30 * * * *", newYork, []string{
			"clock_back: pauses for 1h30m0s: on 2026-11-01 the clock goes back from 02:00:00 to 01:00:00, and what comes twice runs the first time only",
		}},
		{"a daily run in a repeated hour has no pause", "30 1 * * *", newYork, nil},
		{"a daily run elsewhere", "0 9 * * *", newYork, nil},
		{"no clock is set", "*/30 * * * *", shanghai, nil},
		{"FR-31 an impossible date", "0 0 30 2 *", "", []string{"never_fires: never fires: no date matches"}},
		{"FR-31 in a list of months", "0 0 31 4,6 *", newYork, []string{"never_fires: never fires: no date matches"}},
		{"a past year", "0 0 9 * * ? 2005", "", []string{"never_fires: never fires: no date in its years matches, or they are past"}},
		{"a far year", "0 0 0 1 1 ? 2040", "", []string{"never_fires: never fires: the first match, 2040-01-01, is more than five years away"}},
		{"a single time in a gap", "0 30 2 8 3 ? 2026", newYork, []string{"never_fires: never fires: the clock skips the time that matches"}},
		{"the last year", "0 0 8 1 JAN ? 2026-2030/2", "", []string{"ends: ends: the last match is 2030-01-01T08:00:00Z"}},
		{"a year too far after the others", "0 0 8 1 6 ? 2027,2040", "", []string{"ends: ends: the last match is 2027-06-01T08:00:00Z"}},
		{"the last time of a year is in a gap", "0 30 2 7,8 3 ? 2026", newYork, []string{
			"ends: ends: the last match is 2026-03-07T02:30:00-05:00",
			"clock_forward: loses a run: on 2026-03-08 the clock goes from 02:00:00 to 03:00:00 and skips 02:30:00",
		}},
		{"a run each year in a gap", "0 0 30 12 *", "Pacific/Apia", nil},
		{"a step beyond its field", "*/61 * * * *", "", []string{"large_step: minute is */61, a step that leads out of the field: only 0 matches"}},
		{"a step beyond its range, in a list", "0 0 5,8-10/3 * * *", "", []string{"large_step: hour is 8-10/3, a step that leads out of 8-10: only 8 matches"}},
		{"a step beyond what is left", "0 0 0 20/15 * *", "", []string{"large_step: day is 20/15, a step that leads out of the field: only 20 matches"}},
		{"a step that just fits", "*/59 * * * *", "", nil},
		{"FR-30 both day fields", "0 0 13 * 5", "", []string{
			"either_day: day and weekday are both restricted: a day that matches either one is enough",
		}},
		{"FR-29 the sixty runs of a minute", "* */15 * * * *", "", []string{
			"every_second: fires every second while minute is */15; write 0 as the second to fire once a minute",
		}},
		{"FR-29 the sixty runs of a minute, of an hour", "* * 9 * * *", "", []string{
			"every_second: fires every second while hour is 9; write 0 as the second to fire once a minute",
		}},
		{"FR-29 every second is meant", "* * * * * *", "", nil},
		{"FR-29 the other form", "0 */15 * * * *", "", nil},
		{"weekday numbers of Quartz", "0 0 12 ? * 1-5", "", []string{
			`quartz_weekday: weekday 1-5 is "Monday to Friday" here and "Monday to Thursday and Sunday" in Quartz; write names`,
		}},
		{"each item of a list", "0 0 12 ? * 5L,2#1,7", "", []string{
			`quartz_weekday: weekday 5L is "the last Friday of the month" here and "the last Thursday of the month" in Quartz; write names`,
			`quartz_weekday: weekday 2#1 is "the 1st Tuesday of the month" here and "the 1st Monday of the month" in Quartz; write names`,
			`quartz_weekday: weekday 7 is "Sunday" here and "Saturday" in Quartz; write names`,
		}},
		{"an open step of weekdays", "0 0 12 ? * 1/2", "", []string{
			`quartz_weekday: weekday 1/2 is "Monday, Wednesday and Friday" here and "Tuesday, Thursday, Saturday and Sunday" in Quartz; write names`,
		}},
		{"numbers of a crontab are what they were", "0 12 * * 1-5", "", nil},
		{"numbers that Quartz does not have", "0 0 12 ? * 0,0L,0#1", "", nil},
		{"numbers that mean the same", "0 0 12 ? * 1-7,*/2", "", nil},
		{"names", "0 0 12 ? * MON-FRI,SUN#1,FRIL", "", nil},
	}
	now := instant(t, "2026-01-05T00:00:00Z")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, w := range mustIn(t, tt.expr, tt.zone).Warnings(now) {
				got = append(got, w.Kind.String()+": "+w.String())
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("%q in %q, -got +want:\n%s", tt.expr, tt.zone, diff)
			}
		})
	}
}

func TestWarningsCarryValues(t *testing.T) {
	now := instant(t, "2026-01-05T00:00:00Z")
	got := mustIn(t, "*/20 1,2 * * *", newYork).Warnings(now)
	for i := range got {
		got[i].Text = ""
	}
	want := []cron.Warning{
		{Kind: cron.ClockForward, At: instant(t, "2026-03-08T07:00:00Z"), Wall: "2026-03-08T02:00:00", Runs: 3},
		{Kind: cron.ClockBack, At: instant(t, "2026-11-01T06:00:00Z"), Wall: "2026-11-01T01:00:00", Runs: 3, Pause: 80 * time.Minute},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestALeapDayEndsBeforeTheYear2100(t *testing.T) {
	s := mustIn(t, "0 0 29 2 *", "")
	if got := s.Warnings(instant(t, "2026-01-05T00:00:00Z")); got != nil {
		t.Errorf("in 2026: %v, want none", got)
	}
	got := s.Warnings(instant(t, "2091-01-05T00:00:00Z"))
	if len(got) != 1 || got[0].Kind != cron.Ends || !got[0].At.Equal(instant(t, "2096-02-29T00:00:00Z")) {
		t.Errorf("in 2091: %v, want an end in 2096", got)
	}
}

func TestTheEndIsWhereTheMatchesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join([]string{
			"0 30", rapid.SampledFrom([]string{"2", "0", "9"}).Draw(t, "hour"),
			rapid.SampledFrom([]string{"8", "29", "L", "30,31", "8,14", "*"}).Draw(t, "day"),
			rapid.SampledFrom([]string{"3", "2", "12", "*/3", "MAR-APR", "*"}).Draw(t, "month"), "?",
			rapid.SampledFrom([]string{"2026", "2026-2029", "2027,2040", "2028-2090/6", "2026-2098/4", "2010-2012"}).Draw(t, "year"),
		}, " ")
		zone := rapid.SampledFrom([]string{"UTC", newYork, "Pacific/Apia", "Africa/Cairo"}).Draw(t, "zone")
		now := time.Date(rapid.IntRange(2008, 2030).Draw(t, "now"), 1, 5, 0, 0, 0, 0, time.UTC)
		e, err := cron.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := cron.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		s := e.In(loc)
		var last time.Time
		for at := s.Next(now); !at.IsZero(); at = s.Next(at) {
			last = at
		}
		ws := s.Warnings(now)
		switch {
		case len(ws) == 0:
			t.Fatalf("%q in %s has no warning; the last match is %v", expr, zone, last)
		case last.IsZero() != (ws[0].Kind == cron.NeverFires):
			t.Fatalf("%q in %s: %v; the last match is %v", expr, zone, ws[0], last)
		case !last.IsZero() && (ws[0].Kind != cron.Ends || !ws[0].At.Equal(last)):
			t.Fatalf("%q in %s: %v; the last match is %v", expr, zone, ws[0], last)
		}
	})
}

func BenchmarkWarnings(b *testing.B) {
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{"0 0 30 2 *", "* * * * * *", "30 2 * * *", "0 0 0 1 1 ? 2026-2099"} {
		b.Run(expr, func(b *testing.B) {
			s := mustIn(b, expr, newYork)
			for b.Loop() {
				s.Warnings(now)
			}
		})
	}
}
