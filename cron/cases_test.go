package cron_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/cron"
)

const (
	newYork  = "America/New_York"
	shanghai = "Asia/Shanghai"
)

// none stands for the end of the matches in a table.
const none = ""

func TestNextOfTheSpecification(t *testing.T) {
	tests := []struct {
		name, expr, zone, from string
		next                   []string
	}{
		{"S-24 five fields have second 0", "30 4 * * ?", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T04:30:00Z"}},
		{"S-26 seven fields", "30 15 10 * * ? *", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T10:15:30Z"}},
		{"S-32 an open step of weekdays ends on Saturday", "0 0 12 ? * 1/2", "", "2026-02-01T00:00:00Z", []string{
			"2026-02-02T12:00:00Z", "2026-02-04T12:00:00Z", "2026-02-06T12:00:00Z", "2026-02-09T12:00:00Z",
		}},
		{"S-33 a range of weekdays may end on 7", "0 0 12 ? * 5-7", "", "2026-02-02T00:00:00Z", []string{
			"2026-02-06T12:00:00Z", "2026-02-07T12:00:00Z", "2026-02-08T12:00:00Z", "2026-02-13T12:00:00Z",
		}},
		{"S-34 an open step", "0 5/20 * * * ?", "", "2026-01-01T00:00:00Z", []string{
			"2026-01-01T00:05:00Z", "2026-01-01T00:25:00Z", "2026-01-01T00:45:00Z",
		}},
		{"S-34 a step in a range", "0 10-40/15 8 * * ?", "", "2026-01-01T00:00:00Z", []string{
			"2026-01-01T08:10:00Z", "2026-01-01T08:25:00Z", "2026-01-01T08:40:00Z",
		}},
		{"S-35 day or weekday", "0 0 13 * 5", "", "2026-04-09T00:00:00Z", []string{
			"2026-04-10T00:00:00Z", "2026-04-13T00:00:00Z", "2026-04-17T00:00:00Z",
		}},
		{"S-36 a stepped star restricts", "0 0 12 */1 * MON", "", "2026-02-03T00:00:00Z", []string{"2026-02-03T12:00:00Z"}},
		{"S-37 in the zone", "0 3 * * *", shanghai, "2026-01-01T00:00:00Z", []string{"2026-01-01T19:00:00Z"}},
		{"S-38 strictly later", "0 0 18 * * ?", "", "2026-01-01T18:00:00Z", []string{"2026-01-02T18:00:00Z"}},
		{"S-39 the last day", "0 0 22 L * ?", shanghai, "2026-02-01T00:00:00Z", []string{
			"2026-02-28T14:00:00Z", "2026-03-31T14:00:00Z", "2026-04-30T14:00:00Z",
		}},
		{"S-40 days before the last", "0 0 12 L-3 * ?", "", "2026-02-01T00:00:00Z", []string{
			"2026-02-25T12:00:00Z", "2026-03-28T12:00:00Z",
		}},
		{"S-41 L-30 needs a month of 31 days", "0 0 12 L-30 * ?", "", "2026-02-01T00:00:00Z", []string{
			"2026-03-01T12:00:00Z", "2026-05-01T12:00:00Z", "2026-07-01T12:00:00Z",
		}},
		{"S-42 1W stays in the month", "0 0 12 1W * ?", "", "2026-07-15T00:00:00Z", []string{"2026-08-03T12:00:00Z"}},
		{"S-43 31W needs a 31st", "0 0 12 31W * ?", "", "2026-01-15T00:00:00Z", []string{
			"2026-01-30T12:00:00Z", "2026-03-31T12:00:00Z", "2026-05-29T12:00:00Z", "2026-07-31T12:00:00Z",
		}},
		{"S-44 the last workday", "0 0 12 LW * ?", "", "2026-02-01T00:00:00Z", []string{
			"2026-02-27T12:00:00Z", "2026-03-31T12:00:00Z",
		}},
		{"S-45 FRIL", "0 0 12 ? * FRIL", "", "2026-02-01T00:00:00Z", []string{"2026-02-27T12:00:00Z"}},
		{"S-45 5L", "0 0 12 ? * 5L", "", "2026-02-01T00:00:00Z", []string{"2026-02-27T12:00:00Z"}},
		{"S-45 0L", "0 0 12 ? * 0L", "", "2026-02-01T00:00:00Z", []string{"2026-02-22T12:00:00Z"}},
		{"S-45 7L", "0 0 12 ? * 7L", "", "2026-02-01T00:00:00Z", []string{"2026-02-22T12:00:00Z"}},
		{"S-46 a fifth Friday", "0 0 12 ? * FRI#5", "", "2026-02-01T00:00:00Z", []string{
			"2026-05-29T12:00:00Z", "2026-07-31T12:00:00Z",
		}},
		{"S-47 a list of places", "0 0 8 ? * MON#1,FRI#3", "", "2026-02-01T00:00:00Z", []string{
			"2026-02-02T08:00:00Z", "2026-02-20T08:00:00Z",
		}},
		{"S-48 a skipped time has no substitute", "30 2 * * *", newYork, "2026-03-07T12:00:00Z", []string{"2026-03-09T06:30:00Z"}},
		{"S-49 across a gap", "*/30 * * * *", newYork, "2026-03-08T06:00:00Z", []string{
			"2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2026-03-08T08:00:00Z",
		}},
		{"S-50 a repeated time runs once", "30 1 * * *", newYork, "2026-10-31T12:00:00Z", []string{
			"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z",
		}},
		{"S-51 a pause of 90 minutes", "*/30 * * * *", newYork, "2026-11-01T04:00:00Z", []string{
			"2026-11-01T04:30:00Z", "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T07:00:00Z", "2026-11-01T07:30:00Z",
		}},
		{"S-52 from inside the second pass", "* * * * *", newYork, "2026-11-01T06:30:00Z", []string{"2026-11-01T07:00:00Z"}},
		{"S-53 the first pass in London", "30 1 * * *", "Europe/London", "2026-10-24T12:00:00Z", []string{
			"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z",
		}},
		{"S-54 a day without midnight", "0 0 * * *", "Africa/Cairo", "2026-04-22T23:00:00Z", []string{"2026-04-24T21:00:00Z"}},
		{"S-55 that day is not lost", "0 */2 * * *", "Africa/Cairo", "2026-04-23T19:00:00Z", []string{
			"2026-04-23T20:00:00Z", "2026-04-23T23:00:00Z", "2026-04-24T01:00:00Z",
		}},
		{"S-56 a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-02T18:00:00Z", []string{"2026-10-04T15:15:00Z"}},
		{"S-57 29 February", "0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"S-57 eight years away", "0 0 29 2 *", "", "2096-03-01T00:00:00Z", []string{none}},
		{"S-58 a valid year beyond the limit", "0 0 0 1 1 ? 2032", "", "2026-12-31T23:59:59Z", []string{none}},
		{"S-58 exactly at the limit", "0 0 0 1 1 ? 2032", "", "2027-01-01T00:00:00Z", []string{"2032-01-01T00:00:00Z"}},
		{"S-59 a past year", "0 15 10 * * ? 2005", "", "2026-01-01T00:00:00Z", []string{none}},
		{"S-59 an impossible date", "0 0 30 2 *", "", "2026-01-01T00:00:00Z", []string{none}},
		{"S-60 stepped years", "0 0 8 1 JAN ? 2026-2030/2", "", "2026-06-01T00:00:00Z", []string{
			"2028-01-01T08:00:00Z", "2030-01-01T08:00:00Z", none,
		}},
		{"FR-31 no 31st in a list of short months", "0 0 31 4,6 *", "", "2026-01-01T00:00:00Z", []string{none}},
		{"FR-30 day and weekday", "0 0 13 * 5", "", "2026-02-06T00:00:00Z", []string{"2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"}},
		{"a fraction of a second is later", "* * * * * *", "", "2026-01-01T00:00:00.999999999Z", []string{"2026-01-01T00:00:01Z"}},
		{"before 1970", "0 0 1 1 *", "", "1967-06-01T00:00:00.5Z", []string{"1968-01-01T00:00:00Z"}},
		{"a whole day is skipped in Apia", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", []string{
			"2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z",
		}},
		{"a rule for all years, 31 December of a leap year", "0 12 * * *", newYork, "2048-12-31T12:00:00Z", []string{
			"2048-12-31T17:00:00Z", "2049-01-01T17:00:00Z",
		}},
		{"29 February plus five years is the 28th", "0 0 0 28 2 ? 2033", "", "2028-02-29T00:00:00Z", []string{"2033-02-28T00:00:00Z"}},
		{"29 February plus five years is not later", "1 0 0 28 2 ? 2033", "", "2028-02-29T00:00:00Z", []string{none}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustIn(t, tt.expr, tt.zone)
			var got []string
			from := instant(t, tt.from)
			for range tt.next {
				next := s.Next(from)
				if next.IsZero() {
					got = append(got, none)
					break
				}
				got = append(got, next.UTC().Format(time.RFC3339))
				from = next
			}
			if diff := cmp.Diff(got, tt.next); diff != "" {
				t.Errorf("%q in %q after %s, -got +want:\n%s", tt.expr, tt.zone, tt.from, diff)
			}
		})
	}
}

func TestExpressionsThatMeanTheSame(t *testing.T) {
	tests := []struct {
		name  string
		exprs []string
	}{
		{"S-25 ? is *", []string{"0 15 10 ? * *", "0 15 10 * * ?", "0 15 10 ? * ?", "15 10 * * *"}},
		{"S-30 names in any case", []string{"0 0 8 1 jan ?", "0 0 8 1 JAN ?", "0 0 8 1 Jan ?", "0 0 8 1 1 ?"}},
		{"S-31 Sunday", []string{"0 0 8 ? * 0", "0 0 8 ? * 7", "0 0 8 ? * SUN", "0 0 8 ? * sun"}},
		{"S-31 Monday", []string{"0 0 8 ? * 1", "0 0 8 ? * MON"}},
		{"leading zeros", []string{"5 9 * * *", "05 009 * * *"}},
		{"letters in any case", []string{"0 0 8 L,lw,l-3,15w * fril", "0 0 8 l,LW,L-3,15W * FRIL"}},
		{"a range of names and numbers", []string{"0 8 * * MON-5", "0 8 * * 1-FRI", "0 8 * * 1-5"}},
		{"7/n is Sunday", []string{"0 8 * * 7/3", "0 8 * * SUN"}},
		{"a step larger than the field", []string{"0/99 8 * * *", "0/18446744073709551617 8 * * *", "0 8 * * *"}},
	}
	from := instant(t, "2026-01-01T00:00:00Z")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := slices.Collect(mustIn(t, tt.exprs[0], "").All(from, from.AddDate(1, 0, 0)))
			if len(want) < 1 {
				t.Fatalf("%q has no match in a year", tt.exprs[0])
			}
			for _, expr := range tt.exprs[1:] {
				got := slices.Collect(mustIn(t, expr, "").All(from, from.AddDate(1, 0, 0)))
				if diff := cmp.Diff(got, want); diff != "" {
					t.Errorf("%q differs from %q, -got +want:\n%s", expr, tt.exprs[0], diff)
				}
			}
		})
	}
}

func TestMatchesHasBothPassesOfARepeatedTime(t *testing.T) {
	s := mustIn(t, "30 1 * * *", newYork)
	for _, at := range []string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-01T05:30:00.9Z"} {
		if !s.Matches(instant(t, at)) {
			t.Errorf("Matches(%s) = false, want true", at)
		}
	}
	for _, at := range []string{"2026-11-01T05:30:01Z", "2026-11-01T07:30:00Z"} {
		if s.Matches(instant(t, at)) {
			t.Errorf("Matches(%s) = true, want false", at)
		}
	}
}

func TestNextUnmatched(t *testing.T) {
	tests := []struct{ name, expr, zone, from, want string }{
		{"is from itself when that does not match", "0 * * * *", "", "2026-01-01T00:30:00.5Z", "2026-01-01T00:30:00.5Z"},
		{"second by second", "0-29 * * * * *", "", "2026-01-01T00:00:10.5Z", "2026-01-01T00:00:30Z"},
		{"around the minute", "50-59,0-9 * * * * *", "", "2026-01-01T00:00:55Z", "2026-01-01T00:01:10Z"},
		{"a minute", "* 0-9 * * * *", "", "2026-01-01T00:03:10Z", "2026-01-01T00:10:00Z"},
		{"a night", "* * 22-23,0-5 * * *", "", "2026-01-01T22:30:10Z", "2026-01-02T06:00:00Z"},
		{"days", "* * * * * SAT,SUN", "", "2026-01-03T10:00:00Z", "2026-01-05T00:00:00Z"},
		{"a month", "* * * * 2 *", "", "2028-02-03T10:00:00Z", "2028-03-01T00:00:00Z"},
		{"a repeated hour is longer", "* * 1 * * *", newYork, "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"},
		{"a skipped hour ends at once", "* * 0-2 * * *", newYork, "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"},
		{"never", "* * * * * *", "", "2026-01-01T00:00:00Z", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := mustIn(t, tt.expr, tt.zone).NextUnmatched(instant(t, tt.from))
			if ok != (tt.want != none) || ok && !got.Equal(instant(t, tt.want)) {
				t.Errorf("NextUnmatched(%s) = %v, %v; want %s", tt.from, got, ok, tt.want)
			}
		})
	}
}

func TestAllYieldsBothEnds(t *testing.T) {
	from, to := instant(t, "2026-01-01T09:00:00Z"), instant(t, "2026-01-03T09:00:00Z")
	var got []int
	for at := range mustIn(t, "0 9 * * *", "").All(from, to) {
		got = append(got, at.Day())
	}
	if diff := cmp.Diff(got, []int{1, 2, 3}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	for range mustIn(t, "0 9 * * *", "").All(from, to) {
		break // a consumer may stop
	}
}

func TestNextIsInTheZoneOfTheSchedule(t *testing.T) {
	next := mustIn(t, "0 9 * * *", shanghai).Next(instant(t, "2026-01-01T00:00:00Z"))
	if got, want := next.Format(time.RFC3339), "2026-01-01T09:00:00+08:00"; got != want {
		t.Errorf("Next = %s, want %s", got, want)
	}
}

func TestScheduleRemembersWhatItWasMadeOf(t *testing.T) {
	s := mustIn(t, "0 9 * * *", shanghai)
	if got := s.Expression().String() + " " + s.Location().String(); got != "0 9 * * * Asia/Shanghai" {
		t.Errorf("expression and location are %q", got)
	}
	for f, want := range map[cron.Field]string{cron.Second: "second", cron.Year: "year", 99: "unknown field"} {
		if f.String() != want {
			t.Errorf("field %d is %q, want %q", f, f, want)
		}
	}
}

func TestFarInstantsHaveNoNext(t *testing.T) {
	s := mustIn(t, "* * * * * *", newYork)
	for _, sec := range []int64{-1 << 63, -1 << 60, -62167219201, 253402300800, 1 << 60, 1<<63 - 1} {
		if got := s.Next(time.Unix(sec, 0)); !got.IsZero() {
			t.Errorf("Next(second %d) = %v, want none", sec, got)
		}
	}
	if got := s.Next(time.Time{}); got.Unix() != (time.Time{}).Unix()+1 {
		t.Errorf("Next(zero time) = %v, want a second later", got)
	}
}

func TestTheZeroExpressionMatchesNothing(t *testing.T) {
	var e cron.Expression
	if got := e.In(nil).Next(instant(t, "2026-01-01T00:00:00Z")); !got.IsZero() {
		t.Errorf("Next = %v, want none", got)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	from := instant(t, "2026-10-30T12:34:56Z")
	for _, zone := range []string{"", newYork, "Africa/Cairo"} {
		for _, expr := range append(benchExpressions, "0 0 30 2 *", "30 1 * * SUN", "0 0 1W,L-3 * MON#1,FRIL") {
			s := mustIn(t, expr, zone)
			if n := testing.AllocsPerRun(10, func() { s.Next(from) }); n != 0 {
				t.Errorf("Next of %q in %q allocates %v times", expr, zone, n)
			}
		}
	}
}

func TestParseAllocatesForOddBlanksOnly(t *testing.T) {
	for expr, most := range map[string]float64{"*/5 9-17 * * MON-FRI": 0, "  */5\t9-17 *  * MON-FRI ": 1} {
		if n := testing.AllocsPerRun(10, func() { _, _ = cron.Parse(expr) }); n > most {
			t.Errorf("Parse(%q) allocates %v times, want at most %v", expr, n, most)
		}
	}
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}
