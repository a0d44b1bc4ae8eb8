package calendar_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

func TestWhatTheKindsExclude(t *testing.T) {
	weekends := calendar.Definition{Kind: "weekly"}
	weekendsInShanghai := calendar.Definition{Kind: "weekly", Zone: "Asia/Shanghai"}
	nights := calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}
	night := calendar.Definition{Kind: "daily", From: "01:00", To: "05:00:00"}
	firstOfMay := calendar.Definition{Kind: "holiday", Dates: []string{"2026-05-01"}, Zone: "America/New_York"}
	tests := []struct {
		name       string
		definition calendar.Definition
		at         string
		want       bool
	}{
		{"S-62 Saturday in UTC", weekends, "2026-01-03T00:00:00Z", true},
		{"S-62 Sunday in UTC", weekends, "2026-01-04T23:59:59.999Z", true},
		{"S-62 Monday in UTC", weekends, "2026-01-05T00:00:00Z", false},
		{"S-62 Friday in UTC is Saturday in Shanghai", weekends, "2026-01-02T22:00:00Z", false},
		{"S-62 with the zone", weekendsInShanghai, "2026-01-02T22:00:00Z", true},
		{"S-63 from is in", nights, "2026-01-01T22:00:00Z", true},
		{"S-63 midnight", nights, "2026-01-02T00:00:00Z", true},
		{"S-63 just before to", nights, "2026-01-02T05:59:59.9Z", true},
		{"S-63 to is out", nights, "2026-01-02T06:00:00Z", false},
		{"FR-32 from is in", night, "2026-01-01T01:00:00Z", true},
		{"FR-32 just before it", night, "2026-01-01T00:59:59.9Z", false},
		{"FR-32 just before to", night, "2026-01-01T04:59:59.9Z", true},
		{"FR-32 to is out", night, "2026-01-01T05:00:00Z", false},
		{"S-65 the last second", calendar.Definition{Kind: "cron", Expression: "* * 0-7 * * *"}, "2026-01-01T07:59:59Z", true},
		{"S-65 the first second after", calendar.Definition{Kind: "cron", Expression: "* * 0-7 * * *"}, "2026-01-01T08:00:00Z", false},
		{"S-65 five fields", calendar.Definition{Kind: "cron", Expression: "* 0-7 * * *"}, "2026-01-01T07:59:00.9Z", true},
		{"S-65 five fields, the next second", calendar.Definition{Kind: "cron", Expression: "* 0-7 * * *"}, "2026-01-01T07:59:01Z", false},
		{"a cron calendar has both passes", calendar.Definition{Kind: "cron", Expression: "* * 1 * * *", Zone: "America/New_York"}, "2026-11-01T06:30:00Z", true},
		{"S-66 an empty composite", calendar.Definition{Kind: "composite"}, "2026-01-03T00:00:00Z", false},
		{"S-66 a composite, the first member", both(weekends, nights), "2026-01-03T12:00:00Z", true},
		{"S-66 a composite, the second member", both(weekends, nights), "2026-01-05T23:00:00Z", true},
		{"S-66 a composite, neither", both(weekends, nights), "2026-01-05T12:00:00Z", false},
		{"a holiday begins in its zone", firstOfMay, "2026-05-01T04:00:00Z", true},
		{"a holiday has not begun", firstOfMay, "2026-05-01T03:59:59Z", false},
		{"a holiday ends in its zone", firstOfMay, "2026-05-02T03:59:59Z", true},
		{"a holiday is over", firstOfMay, "2026-05-02T04:00:00Z", false},
		{"holiday without dates", calendar.Definition{Kind: "holiday"}, "2026-05-01T00:00:00Z", false},
		{"a day before 1970", calendar.Definition{Kind: "weekly", Days: []string{"wed"}}, "1969-12-31T12:00:00.5Z", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := compile(t, tt.definition).IsExcluded(instant(t, tt.at)); got != tt.want {
				t.Errorf("IsExcluded(%s) = %v, want %v", tt.at, got, tt.want)
			}
		})
	}
}

func TestS61WorkdaysAfterHolidays(t *testing.T) {
	t.Run("S-61 workdays 06:00 in Shanghai", func(t *testing.T) {
		zone, err := cron.LoadZone("Asia/Shanghai")
		if err != nil {
			t.Fatal(err)
		}
		holidays, err := calendar.Holiday([]string{"2026-10-02", "2026-10-01"}, zone)
		if err != nil {
			t.Fatal(err)
		}
		e, err := cron.Parse("0 6 * * MON-FRI")
		if err != nil {
			t.Fatal(err)
		}
		at := instant(t, "2026-09-30T00:00:00Z")
		for at = e.In(zone).Next(at); holidays.IsExcluded(at); {
			at = e.In(zone).Next(at)
		}
		if want := instant(t, "2026-10-04T22:00:00Z"); !at.Equal(want) {
			t.Errorf("first run is %v, want %v", at, want)
		}
	})
}

func TestResume(t *testing.T) {
	newYork := "America/New_York"
	tests := []struct {
		name       string
		definition calendar.Definition
		from, want string // empty: cannot be told
	}{
		{"not excluded", calendar.Definition{Kind: "weekly"}, "2026-01-02T12:00:00.5Z", "2026-01-02T12:00:00.5Z"},
		{"a weekend", calendar.Definition{Kind: "weekly"}, "2026-01-03T12:00:00.5Z", "2026-01-05T00:00:00Z"},
		{"every day", calendar.Definition{Kind: "weekly", Days: []string{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}}, "2026-01-03T12:00:00Z", ""},
		{"holidays in a row", calendar.Definition{Kind: "holiday", Dates: []string{"2026-10-03", "2026-10-01", "2026-10-02", "2026-10-02", "2026-10-05"}}, "2026-10-01T05:00:00Z", "2026-10-04T00:00:00Z"},
		{"a night", calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}, "2026-01-01T23:00:00Z", "2026-01-02T06:00:00Z"},
		{"a night after midnight", calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}, "2026-01-02T03:00:00Z", "2026-01-02T06:00:00Z"},
		{"a night ends at midnight", calendar.Definition{Kind: "daily", From: "22:00", To: "00:00"}, "2026-01-01T23:00:00Z", "2026-01-02T00:00:00Z"},
		{"a cron calendar", calendar.Definition{Kind: "cron", Expression: "* * 0-7 * * *"}, "2026-01-01T05:00:00Z", "2026-01-01T08:00:00Z"},
		{"a cron calendar of everything", calendar.Definition{Kind: "cron", Expression: "* * * * * *"}, "2026-01-01T05:00:00Z", ""},
		{"a weekend and a night", both(calendar.Definition{Kind: "weekly"}, calendar.Definition{Kind: "daily", From: "22:00", To: "06:00"}), "2026-01-02T23:00:00Z", "2026-01-05T06:00:00Z"},
		{"the clock jumps over the end", calendar.Definition{Kind: "daily", From: "01:00", To: "02:30", Zone: newYork}, "2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z"},
		{"the clock goes back before the start", calendar.Definition{Kind: "daily", From: "01:30", To: "03:00", Zone: newYork}, "2026-11-01T05:40:00Z", "2026-11-01T06:00:00Z"},
		{"a day without midnight", calendar.Definition{Kind: "holiday", Dates: []string{"2026-04-23"}, Zone: "Africa/Cairo"}, "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"},
		{"a day that the zone skips", calendar.Definition{Kind: "holiday", Dates: []string{"2011-12-29"}, Zone: "Pacific/Apia"}, "2011-12-29T12:00:00Z", "2011-12-30T10:00:00Z"},
		{"the last day of a leap year", calendar.Definition{Kind: "daily", From: "00:00", To: "12:00", Zone: newYork}, "2048-12-31T15:00:00Z", "2048-12-31T17:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := calendar.Resume(compile(t, tt.definition), instant(t, tt.from))
			if ok != (tt.want != "") || ok && !got.Equal(instant(t, tt.want)) {
				t.Errorf("Resume(%s) = %v, %v; want %q", tt.from, got, ok, tt.want)
			}
		})
	}
}

// odd is a calendar of somebody else, without further abilities.
type odd struct{}

func (odd) IsExcluded(at time.Time) bool { return at.Unix()%2 != 0 }

func TestACalendarOfSomebodyElse(t *testing.T) {
	c := calendar.Composite(odd{})
	if at, ok := calendar.Resume(c, time.Unix(2, 0)); !ok || at.Unix() != 2 {
		t.Errorf("Resume of an instant that is not excluded = %v, %v", at, ok)
	}
	if at, ok := calendar.Resume(c, time.Unix(3, 0)); ok {
		t.Errorf("Resume = %v, want none", at)
	}
	if got := calendar.Why(c, time.Unix(3, 0)); got != "calendar" {
		t.Errorf("Why = %q, want %q", got, "calendar")
	}
	if got := calendar.Why(c, time.Unix(2, 0)); got != "" {
		t.Errorf("Why = %q, want nothing", got)
	}
}

// Two calendars that take turns make an end that cannot be told cheaply.
func TestResumeGivesUp(t *testing.T) {
	even := compile(t, calendar.Definition{Kind: "cron", Expression: "*/2 * * * * *"})
	if at, ok := calendar.Resume(calendar.Composite(even, compile(t, calendar.Definition{Kind: "cron", Expression: "1/2 * * * * *"})), time.Unix(0, 0)); ok {
		t.Errorf("Resume = %v, want none", at)
	}
}

func TestResumeEqualsAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "America/St_Johns", "Asia/Shanghai"})
		clock := rapid.Custom(func(t *rapid.T) string {
			at := time.Unix(rapid.Int64Range(0, 86399).Draw(t, "second of the day")/900*900, 0).UTC()
			return at.Format(time.TimeOnly)
		})
		one := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) calendar.Definition {
				return calendar.Definition{Kind: "daily", From: clock.Draw(t, "from"), To: clock.Draw(t, "to"), Zone: zone.Draw(t, "zone")}
			}),
			rapid.Custom(func(t *rapid.T) calendar.Definition {
				days := rapid.SliceOfN(rapid.SampledFrom([]string{"MON", "TUE", "SAT", "SUN"}), 0, 3).Draw(t, "days")
				return calendar.Definition{Kind: "weekly", Days: days, Zone: zone.Draw(t, "zone")}
			}),
			rapid.Custom(func(t *rapid.T) calendar.Definition {
				return calendar.Definition{Kind: "holiday", Dates: []string{"2026-03-08", "2026-11-01", "2026-10-31", "2010-11-07"}, Zone: zone.Draw(t, "zone")}
			}),
			rapid.Custom(func(t *rapid.T) calendar.Definition {
				expr := rapid.SampledFrom([]string{"* * 0-7 * * *", "* 0-29 12 * * MON-FRI", "* * * L * FRIL", "* * 1 * * SUN"}).Draw(t, "expression")
				return calendar.Definition{Kind: "cron", Expression: expr, Zone: zone.Draw(t, "zone")}
			}),
		).Filter(func(d calendar.Definition) bool { return d.Kind != "daily" || d.From != d.To })
		members := rapid.SliceOfN(one, 1, 3).Draw(t, "members")
		set, err := calendar.Compile(withName(both(members...)))
		if err != nil {
			t.Fatal(err)
		}
		c := set["c"]
		from := time.Unix(rapid.SampledFrom([]int64{
			1772949600, 1793509200, 1777010400, 1775311200, 1770000000, 1289100600, // settings of clocks in these zones, and none
		}).Draw(t, "around")+rapid.Int64Range(-100, 100).Draw(t, "quarters")*900, 0)
		got, ok := calendar.Resume(c, from)
		want := from // a quarter of an hour is the unit of all these calendars and zones, but for a minute in St. John's
		for end := from.AddDate(0, 0, 12); c.IsExcluded(want) && want.Before(end); {
			want = want.Add(time.Minute)
		}
		if !c.IsExcluded(want) && (!ok || !got.Equal(want)) {
			t.Fatalf("Resume(%v) = %v, %v; a walk says %v", from, got, ok, want)
		}
		if ok && c.IsExcluded(got) {
			t.Fatalf("Resume(%v) = %v, which is excluded", from, got)
		}
	})
}

func FuzzResume(f *testing.F) {
	f.Add("22:00", "06:00", uint8(127), int64(1793509200))
	f.Add("01:30:00", "03:00", uint8(0), int64(1772949600))
	f.Add("23:59:59", "00:00", uint8(65), int64(-1))
	f.Fuzz(func(t *testing.T, from, to string, days uint8, second int64) {
		zone, err := cron.LoadZone("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		members := make([]calendar.Calendar, 0, 2)
		if c, err := calendar.Daily(from, to, zone); err == nil {
			members = append(members, c)
		}
		var excluded []time.Weekday
		for d := range time.Weekday(7) {
			if days>>d&1 != 0 {
				excluded = append(excluded, d)
			}
		}
		c, err := calendar.Weekly(excluded, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := calendar.Composite(append(members, c)...)
		at := time.Unix(second, 0)
		next, ok := calendar.Resume(all, at)
		switch {
		case ok && (next.Before(at) || all.IsExcluded(next)):
			t.Fatalf("Resume(%v) = %v", at, next)
		case ok && next.After(at) && !all.IsExcluded(next.Add(-time.Second)):
			t.Fatalf("Resume(%v) = %v is not the first", at, next)
		case all.IsExcluded(at) == (calendar.Why(all, at) == ""):
			t.Fatalf("Why(%v) = %q, but excluded is %v", at, calendar.Why(all, at), all.IsExcluded(at))
		}
	})
}

func both(members ...calendar.Definition) calendar.Definition {
	d := calendar.Definition{Kind: "composite"}
	for _, m := range members {
		d.Members = append(d.Members, calendar.Member{Inline: &m})
	}
	return d
}

func withName(d calendar.Definition) calendar.Definition {
	d.Name = "c"
	return d
}

func compile(tb testing.TB, d calendar.Definition) calendar.Calendar {
	tb.Helper()
	set, err := calendar.Compile(withName(d))
	if err != nil {
		tb.Fatal(err)
	}
	return set["c"]
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}
