package jobhost_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

// textVector is a line of kind text of schedule.jsonl.
type textVector struct {
	Kind      string
	Text      string
	Fields    textFields
	Canonical string
	Error     bool
	Why       string
	Choice    string
}

type textFields struct {
	Kind            string
	IntervalSeconds float64 `json:"interval_seconds"`
	Repeat          int
	Expr            string
	TZ              string
	At              time.Time
	Start           time.Time
	End             time.Time
	Calendar        string
}

func fieldsOf(s jobhost.Schedule) textFields {
	f := textFields{
		Kind: s.Kind.String(), IntervalSeconds: s.Interval.Seconds(), Repeat: s.Times,
		Expr: s.Expr, At: s.At, Start: s.Start, End: s.End, Calendar: s.Calendar,
	}
	if s.Kind == jobhost.Cron {
		f.TZ = s.Zone
		if f.TZ == "" {
			f.TZ = "UTC"
		}
	}
	return f
}

func TestScheduleTextVectors(t *testing.T) {
	n := 0
	for _, v := range textVectors(t) {
		n++
		t.Run(v.Text, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(v.Text)
			switch {
			case v.Error && err == nil:
				t.Fatalf("ParseSchedule(%q) succeeds; want an error: %s", v.Text, v.Why)
			case v.Error:
				return
			case err != nil:
				t.Fatalf("ParseSchedule(%q): %v (%s)", v.Text, err, v.Choice)
			}
			if diff := cmp.Diff(fieldsOf(s), v.Fields); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if v.Canonical != "" && s.String() != v.Canonical {
				t.Errorf("written as %q, want %q", s, v.Canonical)
			}
			if again, err := jobhost.ParseSchedule(s.String()); err != nil || again != s {
				t.Errorf("read again: %+v, %v; want %+v", again, err, s)
			}
		})
	}
	if n < 70 {
		t.Errorf("%d vectors of kind text, want 70 or more", n)
	}
}

func TestScheduleTextOfTheSpecification(t *testing.T) {
	tests := []struct{ name, text, canonical string }{
		{"S-16 clock value", "every 00:10:00 x5", "every 00:10:00 x5"},
		{"S-16 Go duration", "every 10m x5", "every 00:10:00 x5"},
		{"S-16 more than a day", "every 26h", "every 1.02:00:00"},
		{"S-17 cron in a zone", "cron 0 0 9 * * MON-FRI tz=Asia/Shanghai", "cron 0 0 9 * * MON-FRI tz=Asia/Shanghai"},
		{"S-19 an offset", "once 2026-01-05T08:00:00+08:00", "once 2026-01-05T00:00:00Z"},
		{"S-21 a Windows zone id", `cron 0 3 * * * tz="China Standard Time"`, "cron 0 3 * * * tz=Asia/Shanghai"},
		{"S-21 a Windows zone id among options", `cron 0 3 * * * calendar=c tz="w. europe standard time" end=2027-01-01T00:00:00Z`, "cron 0 3 * * * tz=Europe/Berlin end=2027-01-01T00:00:00Z calendar=c"},
		{"S-21 UTC in quotes", `cron 0 3 * * * tz="UTC"`, "cron 0 3 * * *"},
		{"UTC is not written", "cron 0 3 * * * tz=UTC", "cron 0 3 * * *"},
		{"kinds and keys in any case", "CRON 0 3 * * mon TZ=Asia/Shanghai Calendar=c", "cron 0 3 * * mon tz=Asia/Shanghai calendar=c"},
		{"a count in capitals", "Every 1m X3", "every 00:01:00 x3"},
		{"nanoseconds", "every 1ns", "every 00:00:00.000000001"},
		{"the longest interval", "every 106751.23:47:16.854775807", "every 106751.23:47:16.854775807"},
		{"zeros of a fraction", "every 1.00:00:00.2500", "every 1.00:00:00.25"},
		{"blanks", "\t every   10m\tend=2027-01-01T00:00:00Z ", "every 00:10:00 end=2027-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.String(); got != tt.canonical {
				t.Errorf("%q is written %q, want %q", tt.text, got, tt.canonical)
			}
			again, err := jobhost.ParseSchedule(s.String())
			if err != nil || again != s {
				t.Errorf("%q read again is %+v, %v; want %+v", s, again, err, s)
			}
		})
	}
}

func TestEveryKindWithEveryOptionInAnyOrder(t *testing.T) {
	t.Run("S-18 round trip", func(t *testing.T) {
		tail := []string{"start=2026-01-01T08:00:00+08:00", "end=2026-02-01T00:00:00.5Z", "calendar=a.b_c-9"}
		const canonical = " start=2026-01-01T00:00:00Z end=2026-02-01T00:00:00.5Z calendar=a.b_c-9"
		for _, kind := range []string{"manual", "every 00:10:00 x5", "cron 0 9 * * *", "once 2026-01-05T00:00:00Z"} {
			for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				text := strings.Join([]string{kind, tail[order[0]], tail[order[1]], tail[order[2]]}, " ")
				s, err := jobhost.ParseSchedule(text)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				if got := s.String(); got != kind+canonical {
					t.Errorf("%q is written %q, want %q", text, got, kind+canonical)
				}
				if again, err := jobhost.ParseSchedule(s.String()); err != nil || again != s {
					t.Errorf("%q read again is %+v, %v; want %+v", s, again, err, s)
				}
			}
		}
	})
}

func TestScheduleTextThatIsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"S-20 interval of zero", "every 0s", `every: interval "0s" is not positive; want more than 0`},
		{"S-20 negative interval", "every -1m", `every: interval "-1m" is not positive; want more than 0`},
		{"S-20 no run at all", "every 1m x0", `every: number of runs "x0" is not valid; want x1 or more`},
		{"S-20 no interval", "every", "every: the interval is missing; want a duration such as 10m or 00:10:00"},
		{"S-20 three fields", "cron * * *", "cron: 3 fields; want 5 (minute hour day month weekday), 6 (second in front) or 7 (year at the end)"},
		{"S-20 no instant", "once", "once: found 0 words; want one instant such as 2026-03-01T08:00:00Z"},
		{"S-20 a count for manual", "manual x2", `manual: unexpected "x2"; want nothing or an option such as end=2027-01-01T00:00:00Z`},
		{"S-20 an unknown key", "every 1m foo=1", `option "foo=1" is unknown; want tz, start, end or calendar`},
		{"S-20 a key twice", "cron 0 3 * * * tz=Asia/Shanghai TZ=UTC", `option "tz" is there twice`},
		{"S-21 an unknown zone", "cron 0 3 * * * tz=Mars/Base", `tz: zone "Mars/Base" is unknown; want an IANA name such as Europe/Berlin, or UTC`},
		{"S-21 local", "cron 0 3 * * * tz=Local", `tz: zone "Local" means something different on each machine; want an IANA name such as Europe/Berlin, or UTC`},
		{"S-21 an empty zone", `cron 0 3 * * * tz=""`, "tz: the zone is empty; want an IANA name, or no tz for UTC"},
		{"S-21 a Windows zone id without quotes", "cron 0 3 * * * tz=China Standard Time", `unexpected "Standard" after the option "tz=China"; want options last; quote a zone with blanks, as in tz="China Standard Time"`},
		{"S-22 end before start", "every 1m start=2026-02-01T00:00:00Z end=2026-01-01T00:00:00Z", "end 2026-01-01T00:00:00Z is before start 2026-02-01T00:00:00Z"},
		{"empty", " \t", "schedule is empty; want manual, every, cron or once"},
		{"an unknown kind", "daily 10:00", `schedule begins with "daily"; want manual, every, cron or once`},
		{"a cron expression without its word", "0 9 * * *", `schedule begins with "0"; want manual, every, cron or once; a cron expression follows the word cron`},
		{"a macro", "@daily", `schedule begins with "@daily"; want manual, every, cron or once; a cron expression follows the word cron`},
		{"a zone for an interval", "every 1m tz=UTC", "tz: a zone belongs to cron, not to every"},
		{"an open quote", `cron 0 3 * * * tz="China`, `schedule has a quote without an end in "tz=\"China"`},
		{"a line break", "manual\nend=2027-01-01T00:00:00Z", "schedule has a line break at byte 6; want one line"},
		{"not ASCII", "manual\u00a0", `schedule has '\u00a0' at byte 6; want plain ASCII`},
		{"a date only", "once 2026-03-01", `once: "2026-03-01" is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z`},
		{"one digit of an hour", "once 2026-03-01T8:00:00Z", `once: "2026-03-01T8:00:00Z" is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z`},
		{"a fraction after a comma", "once 2026-03-01T08:00:00,5Z", `once: "2026-03-01T08:00:00,5Z" is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z`},
		{"an offset of a day", "once 2026-03-01T08:00:00+24:00", `once: "2026-03-01T08:00:00+24:00" is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z`},
		{"a word after options", "every 1m calendar=c x5", `unexpected "x5" after the option "calendar=c"; want options last`},
		{"the zero time", "once 0001-01-01T00:00:00Z", `once: "0001-01-01T00:00:00Z" is the zero time; want a later one`},
		{"a year before 1", "once 0000-12-31T00:00:00Z", "instant is in year 0; want 1 to 9999"},
		{"a year after 9999", "manual end=9999-12-31T23:00:00-08:00", "end is in year 10000; want 1 to 9999"},
		{"a calendar in capitals", "every 1m calendar=Weekends", `calendar: name "Weekends" has the capital 'W'; want lower case only`},
		{"a calendar in quotes", `every 1m calendar="c"`, `calendar: name "\"c\"" has '"' at character 1; want a-z, 0-9, '.', '_', '-'`},
		{"no unit", "every 10", `every: interval "10" is not valid; want a duration such as 10m or 1h30m, or a clock value such as 00:10:00`},
		{"days have no unit", "every 1d", `every: interval "1d" is not valid: there is no unit of days; want 24h`},
		{"days and hours", "every 1d2h", `every: interval "1d2h" is not valid; want a duration such as 10m or 1h30m, or a clock value such as 00:10:00`},
		{"hours above 23", "every 26:00:00", `every: interval "26:00:00" is not valid; want [d.]hh:mm:ss[.fraction] with hours to 23 and at most 106751 days`},
		{"too long", "every 106751.23:47:16.854775808", `every: interval "106751.23:47:16.854775808" is not valid; want [d.]hh:mm:ss[.fraction] with hours to 23 and at most 106751 days`},
		{"an empty fraction", "every 00:00:01.", `every: interval "00:00:01." is not valid; want [d.]hh:mm:ss[.fraction] with hours to 23 and at most 106751 days`},
		{"a long fraction", "every 00:00:01.1234567890", `every: interval "00:00:01.1234567890" is not valid; want [d.]hh:mm:ss[.fraction] with hours to 23 and at most 106751 days`},
		{"a count with a sign", "every 1m x+5", `every: number of runs "x+5" is not valid; want x1 or more`},
		{"two counts", "every 1m x5 x6", `every: unexpected "x6"; want an option such as end=2027-01-01T00:00:00Z`},
		{"two intervals", "every 1m 2m", `every: unexpected "2m"; want a number of runs such as x5, or an option`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(tt.text)
			if err == nil || s != (jobhost.Schedule{}) {
				t.Fatalf("ParseSchedule(%q) = %+v, %v; want an error", tt.text, s, err)
			}
			if diff := cmp.Diff(err.Error(), tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestConstructorsGiveWhatTextGives(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.FixedZone("", 3600))
	for text, build := range map[string]func() (jobhost.Schedule, error){
		"every 00:10:00":                    func() (jobhost.Schedule, error) { return jobhost.EveryInterval(10 * time.Minute) },
		"cron 0 9 * * MON tz=Asia/Shanghai": func() (jobhost.Schedule, error) { return jobhost.CronIn(" 0  9 * * MON", "China Standard Time") },
		"cron 0 9 * * *":                    func() (jobhost.Schedule, error) { return jobhost.CronIn("0 9 * * *", "") },
		"once 2026-03-01T07:00:00Z":         func() (jobhost.Schedule, error) { return jobhost.OnceAt(at) },
	} {
		got, err := build()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want, err := jobhost.ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		if got != want || got.String() != text {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for name, build := range map[string]func() (jobhost.Schedule, error){
		"interval 0":      func() (jobhost.Schedule, error) { return jobhost.EveryInterval(0) },
		"bad expression":  func() (jobhost.Schedule, error) { return jobhost.CronIn("* * *", "") },
		"bad zone":        func() (jobhost.Schedule, error) { return jobhost.CronIn("* * * * *", "Local") },
		"no instant":      func() (jobhost.Schedule, error) { return jobhost.OnceAt(time.Time{}) },
		"far-off instant": func() (jobhost.Schedule, error) { return jobhost.OnceAt(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) },
	} {
		if s, err := build(); err == nil || s != (jobhost.Schedule{}) {
			t.Errorf("%s: %+v, %v; want an error", name, s, err)
		}
	}
}

func TestCheckOfSchedulesMadeByHand(t *testing.T) {
	utc := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	local := utc.In(time.FixedZone("", 3600))
	tests := []struct {
		name     string
		schedule jobhost.Schedule
		want     string
	}{
		{"the zero schedule is manual", jobhost.Schedule{}, ""},
		{"all of cron", jobhost.Schedule{Kind: jobhost.Cron, Expr: "0 9 * * *", Zone: "Asia/Shanghai", Start: utc, End: utc, Calendar: "c"}, ""},
		{"an unknown kind", jobhost.Schedule{Kind: 9}, `schedule kind is unknown(9); want one of ["manual" "every" "cron" "once"]`},
		{"what belongs to others", jobhost.Schedule{Interval: 1, Times: 1, Expr: "x", Zone: "y", At: utc}, "an interval belongs to every, not to manual\na number of runs belongs to every, not to manual\nan expression belongs to cron, not to manual\ntz belongs to cron, not to manual\nan instant belongs to once, not to manual"},
		{"negative count", jobhost.Schedule{Kind: jobhost.Every, Interval: 1, Times: -1}, "number of runs is -1; want 1 or more, or 0 for no limit"},
		{"negative interval", jobhost.Schedule{Kind: jobhost.Every, Interval: -1}, "interval is -1ns; want more than 0"},
		{"blanks in an expression", jobhost.Schedule{Kind: jobhost.Cron, Expr: "0  9 * * *", Zone: "UTC"}, `expression "0  9 * * *" in zone "UTC" is not in canonical form; want "0 9 * * *" in ""`},
		{"no expression", jobhost.Schedule{Kind: jobhost.Cron}, "the expression is empty; want 5 (minute hour day month weekday), 6 (second in front) or 7 (year at the end)"},
		{"not in UTC", jobhost.Schedule{Kind: jobhost.Once, At: local}, "instant 2026-03-01 09:00:00 +0100 +0100 is not in UTC or has a monotonic reading; use Round(0).UTC()"},
		{"a bad calendar", jobhost.Schedule{Calendar: "a b"}, "calendar: name \"a b\" has ' ' at character 2; want a-z, 0-9, '.', '_', '-'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.schedule.Check(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestCronOfASchedule(t *testing.T) {
	s, err := jobhost.ParseSchedule("cron 0 9 * * * tz=Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Cron()
	if err != nil {
		t.Fatal(err)
	}
	got := c.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if want := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	for _, s := range []jobhost.Schedule{{}, {Kind: jobhost.Cron, Expr: "* * *"}, {Kind: jobhost.Cron, Expr: "* * * * *", Zone: "Mars/Base"}} {
		if c, err := s.Cron(); err == nil {
			t.Errorf("Cron of %+v = %v, want an error", s, c)
		}
	}
}

// aSchedule draws a valid schedule with any of its parts.
func aSchedule() *rapid.Generator[jobhost.Schedule] {
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "second"), rapid.SampledFrom([]int64{0, 1, 500_000_000}).Draw(t, "nanosecond")).UTC()
	})
	return rapid.Custom(func(t *rapid.T) jobhost.Schedule {
		s := jobhost.Schedule{Kind: rapid.SampledFrom([]jobhost.ScheduleKind{jobhost.Manual, jobhost.Every, jobhost.Cron, jobhost.Once}).Draw(t, "kind")}
		switch s.Kind {
		case jobhost.Manual:
		case jobhost.Every:
			s.Interval = time.Duration(rapid.Int64Range(1, 1<<63-1).Draw(t, "interval"))
			s.Times = rapid.IntRange(0, 1<<31-1).Draw(t, "times")
		case jobhost.Cron:
			s.Expr = rapid.SampledFrom([]string{"* * * * *", "0 0 9 ? * MON-FRI", "0 0 8 1w,L-3 jan ? 2026-2030/2"}).Draw(t, "expr")
			s.Zone = rapid.SampledFrom([]string{"", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT+8"}).Draw(t, "zone")
		case jobhost.Once:
			s.At = instant.Draw(t, "at")
		}
		if rapid.Bool().Draw(t, "has start") {
			s.Start = instant.Draw(t, "start")
		}
		if rapid.Bool().Draw(t, "has end") {
			if s.End = instant.Draw(t, "end"); s.End.Before(s.Start) {
				s.Start, s.End = s.End, s.Start
			}
		}
		s.Calendar = rapid.SampledFrom([]string{"", "holidays", "0.a_b-c"}).Draw(t, "calendar")
		return s
	})
}

func TestEveryScheduleSurvivesItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := aSchedule().Draw(t, "schedule")
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		got, err := jobhost.ParseSchedule(s.String())
		if err != nil {
			t.Fatalf("ParseSchedule(%q): %v", s, err)
		}
		if got != s {
			t.Fatalf("%q is read as %+v, want %+v", s, got, s)
		}
		if s.Describe() == "" || s.DescribeIn(jobhost.Chinese()) == "" {
			t.Fatalf("%q is described in no words", s)
		}
	})
}

func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{
		"manual", "every 00:10:00 x5", "every 1h30m end=2026-02-01T00:00:00Z", "every 1.02:00:00.5",
		"cron 0 0 9 * * MON-FRI tz=Asia/Shanghai calendar=holidays", `cron 0 3 * * * tz="China Standard Time"`,
		"once 2026-01-05T08:00:00+08:00 start=2026-01-01T00:00:00Z", "every x5", `cron "`, "once 9999-12-31T23:59:59-23:59", "every 1m =",
	} {
		f.Add(text)
	}
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := jobhost.ParseSchedule(text)
		if err != nil {
			if s != (jobhost.Schedule{}) || err.Error() == "" {
				t.Fatalf("ParseSchedule(%q) = %+v, %q", text, s, err)
			}
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("ParseSchedule(%q) is not valid: %v", text, err)
		}
		if again, err := jobhost.ParseSchedule(s.String()); err != nil || again != s || again.String() != s.String() {
			t.Fatalf("ParseSchedule(%q) is written %q and read as %+v, %v; want %+v", text, s, again, err, s)
		}
		for _, w := range s.Warnings(now) {
			if w.Text == "" {
				t.Fatalf("%q has a warning without words: %+v", text, w)
			}
		}
	})
}

func BenchmarkParseSchedule(b *testing.B) {
	for _, text := range []string{"every 00:10:00 x5", "cron 0 0 9 * * MON-FRI tz=Asia/Shanghai calendar=holidays"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jobhost.ParseSchedule(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// textVectors reads schedule.jsonl from testdata, or from the directory that JOBHOST_VECTORS names.
func textVectors(t *testing.T) []textVector {
	t.Helper()
	dir := os.Getenv("JOBHOST_VECTORS")
	if dir == "" {
		dir = "testdata"
	}
	f, err := os.Open(filepath.Join(dir, "schedule.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var vs []textVector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v textVector
		if err := json.Unmarshal(lines.Bytes(), &struct{ Kind *string }{&v.Kind}); err != nil {
			t.Fatal(err)
		}
		if v.Kind != "text" {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vs
}
