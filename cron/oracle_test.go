package cron_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost/cron"
)

// oracle is a slow and separate reading of an expression: each field is a list of values, and days are tried one by one.
type oracle struct {
	fields [7][]string // items, from the second to the year; nil: not given
	clock  [3][60]bool // what has says of second, minute and hour
}

func newOracle(expr string) *oracle {
	words := strings.Fields(expr)
	o := &oracle{}
	first := 0
	if len(words) == 5 {
		first = 1
		o.fields[0] = []string{"0"}
	}
	for i, w := range words {
		o.fields[first+i] = strings.Split(strings.ToUpper(w), ",")
	}
	for f := range o.clock {
		for v := range o.clock[f] {
			o.clock[f][v] = o.has(f, v)
		}
	}
	return o
}

var (
	oracleLow  = [7]int{0, 0, 0, 1, 1, 0, 1970}
	oracleHigh = [7]int{59, 59, 23, 31, 12, 6, 2099}
)

// number reads a value of field f.
func (o *oracle) number(f int, s string) int {
	names := map[int]string{4: "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 5: "SUNMONTUEWEDTHUFRISAT"}
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return strings.Index(names[f], s)/3 + oracleLow[f]
}

// whole reports whether text is all there is in field f.
func (o *oracle) whole(f int, text string) bool { return slices.Equal(o.fields[f], []string{text}) }

// has reports whether a plain item of field f holds v.
func (o *oracle) has(f, v int) bool {
	if o.fields[f] == nil || f == 6 && o.whole(f, "*") {
		return true // a year that is not restricted has no bound
	}
	for _, item := range o.fields[f] {
		base, step, stepped := strings.Cut(item, "/")
		n := 1
		if stepped {
			n, _ = strconv.Atoi(step)
		}
		low, high := oracleLow[f], oracleHigh[f]
		if base != "*" && base != "?" {
			from, to, ranged := strings.Cut(base, "-")
			low = o.number(f, from)
			switch {
			case ranged:
				high = o.number(f, to)
			case !stepped:
				high = low
			case low > high:
				high = low // 7/n
			}
		}
		for x := low; x <= high; x += n {
			if x == v || f == 5 && x == 7 && v == 0 {
				return true
			}
		}
	}
	return false
}

func workday(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }

// day reports whether the day field holds the date.
func (o *oracle) day(date time.Time) bool {
	y, m, d := date.Date()
	last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	on := func(d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	for _, item := range o.fields[3] {
		switch {
		case item == "L" && d == last:
			return true
		case item == "LW":
			w := last
			for !workday(on(w)) {
				w--
			}
			if d == w {
				return true
			}
		case strings.HasPrefix(item, "L-"):
			if n, _ := strconv.Atoi(item[2:]); d == last-n {
				return true
			}
		case strings.HasSuffix(item, "W"):
			n, _ := strconv.Atoi(item[:len(item)-1])
			if n > last {
				continue
			}
			for _, try := range []int{n, n - 1, n + 1, n - 2, n + 2} { // the nearest first
				if try >= 1 && try <= last && workday(on(try)) {
					if d == try {
						return true
					}
					break
				}
			}
		case item != "L":
			one := oracle{}
			one.fields[3] = []string{item}
			if one.has(3, d) {
				return true
			}
		}
	}
	return false
}

// weekday reports whether the weekday field holds the date.
func (o *oracle) weekday(date time.Time) bool {
	w, d := int(date.Weekday()), date.Day()
	last := time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	for _, item := range o.fields[5] {
		if day, k, ok := strings.Cut(item, "#"); ok {
			if n, _ := strconv.Atoi(k); o.number(5, day)%7 == w && (d+6)/7 == n {
				return true
			}
		} else if day, ok := strings.CutSuffix(item, "L"); ok {
			if o.number(5, day)%7 == w && d+7 > last {
				return true
			}
		} else {
			one := oracle{}
			one.fields[5] = []string{item}
			if one.has(5, w) {
				return true
			}
		}
	}
	return false
}

func (o *oracle) date(t time.Time) bool {
	if !o.has(6, t.Year()) || !o.has(4, int(t.Month())) {
		return false
	}
	open := func(f int) bool { return o.whole(f, "*") || o.whole(f, "?") }
	switch {
	case open(3) && open(5):
		return true
	case open(5):
		return o.day(t)
	case open(3):
		return o.weekday(t)
	}
	return o.day(t) || o.weekday(t)
}

// matches compares the clock of t's zone.
func (o *oracle) matches(t time.Time) bool {
	return o.clock[0][t.Second()] && o.clock[1][t.Minute()] && o.clock[2][t.Hour()] && o.date(t)
}

// shownBefore reports whether the zone's clock showed the same wall time earlier, looking at the offsets that the zone
// had in the day before.
func shownBefore(t time.Time) bool {
	_, offset := t.Zone()
	for back := 30 * time.Minute; back <= 25*time.Hour; back += 30 * time.Minute {
		_, old := t.Add(-back).Zone()
		earlier := t.Add(time.Duration(offset-old) * time.Second)
		if _, o := earlier.Zone(); o == old && old > offset {
			return true
		}
	}
	return false
}

// next walks from second to second, to before the limit.
func (o *oracle) next(after, limit time.Time, loc *time.Location) (time.Time, bool) {
	for t := after.Truncate(time.Second).Add(time.Second).In(loc); t.Before(limit); t = t.Add(time.Second) {
		if o.matches(t) && !shownBefore(t) {
			return t, true
		}
	}
	return time.Time{}, false
}

// anItem draws an item of a field that has values from low to high.
func anItem(low, high int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		a := rapid.IntRange(low, high).Draw(t, "a")
		b := rapid.IntRange(a, high).Draw(t, "b")
		step := strconv.Itoa(rapid.IntRange(1, max(2, (high-low)/2)).Draw(t, "step"))
		from, to := strconv.Itoa(a), strconv.Itoa(b)
		return rapid.SampledFrom([]string{"*", from, from + "-" + to, "*/" + step, from + "/" + step, from + "-" + to + "/" + step}).Draw(t, "item")
	})
}

func aList(item *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "every") {
			return "*"
		}
		items := rapid.SliceOfN(item, 1, 3).Draw(t, "items")
		if len(items) > 1 { // a star makes a list dull
			items = slices.DeleteFunc(items, func(s string) bool { return s == "*" })
		}
		if len(items) == 0 {
			return "*"
		}
		return strings.Join(items, ",")
	})
}

// anExpression draws one that matches often enough for an oracle that walks.
func anExpression() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		special := func(plain *rapid.Generator[string], more ...string) *rapid.Generator[string] {
			return rapid.OneOf(plain, plain, rapid.SampledFrom(more))
		}
		day := aList(special(anItem(1, 31), "L", "LW", "L-3", "15W", "1W", "31W", "l-30", "lw"))
		weekday := aList(special(anItem(0, 7), "FRIL", "5L", "mon#1", "0#3", "7#5", "SAT,SUN", "MON-FRI", "6-7"))
		fields := []string{
			aList(anItem(0, 59)).Draw(t, "minute"),
			aList(anItem(0, 23)).Draw(t, "hour"),
			rapid.OneOf(day, rapid.Just("?")).Draw(t, "day"),
			aList(special(anItem(1, 12), "JAN", "mar-nov", "OCT")).Draw(t, "month"),
			rapid.OneOf(weekday, rapid.Just("?")).Draw(t, "weekday"),
		}
		if rapid.Bool().Draw(t, "second first") {
			fields = append([]string{aList(anItem(0, 59)).Draw(t, "second")}, fields...)
			if rapid.Bool().Draw(t, "year last") {
				fields = append(fields, rapid.SampledFrom([]string{"*", "2024-2037", "*/2", "2025,2028"}).Draw(t, "year"))
			}
		}
		return strings.Join(fields, " ")
	})
}

// someZones have clocks that are set by an hour, half an hour, two hours, at midnight, around Ramadan, or not at all.
var someZones = []string{
	"", newYork, "Europe/London", "Africa/Cairo", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca",
	"America/Havana", "Asia/Beirut", "America/Scoresbysund", "Asia/Kolkata", "Pacific/Chatham", "America/St_Johns",
}

// anInstant draws one that is often close to a setting of the zone's clock.
func anInstant(loc *time.Location) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(1704067200, 2145916800).Draw(t, "second"), 0)
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && rapid.IntRange(0, 3).Draw(t, "close") > 0 {
			at = end.Add(time.Duration(rapid.Int64Range(-10800, 10800).Draw(t, "seconds from the change")) * time.Second)
		}
		return at.Add(time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 999_999_999}).Draw(t, "nanoseconds")))
	})
}

func TestNextEqualsTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := anExpression().Draw(t, "expr")
		zone := rapid.SampledFrom(someZones).Draw(t, "zone")
		loc, err := cron.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		e, err := cron.Parse(expr)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		after := anInstant(loc).Draw(t, "after")
		got := e.In(loc).Next(after)
		if !got.IsZero() && !got.After(after) {
			t.Fatalf("Next = %v is not after %v", got, after)
		}
		limit := after.Add(3 * time.Hour)
		want, found := newOracle(expr).next(after, limit, loc)
		switch {
		case found && !got.Equal(want):
			t.Fatalf("%q in %q after %v: %v, the oracle says %v", expr, zone, after, got, want)
		case !found && !got.IsZero() && got.Before(limit):
			t.Fatalf("%q in %q after %v: %v, the oracle says none before %v", expr, zone, after, got, limit)
		}
	})
}

// The walk above ends after hours; this one goes on for years, over the dates only.
func TestDatesEqualTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := strings.Fields(anExpression().Draw(t, "expr"))
		if len(fields) > 5 {
			fields = fields[1:6]
		}
		fields[0], fields[1] = "30", "12"
		expr := strings.Join(fields, " ")
		e, err := cron.Parse(expr)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		s, o := e.In(time.UTC), newOracle(expr)
		at := time.Date(rapid.IntRange(1970, 2098).Draw(t, "year"), 1, 1, 12, 30, 0, 0, time.UTC)
		for end := at.AddDate(2, 0, 0); at.Before(end); at = at.AddDate(0, 0, 1) {
			if got, want := s.Next(at.Add(-time.Second)).Equal(at), o.matches(at); got != want {
				t.Fatalf("%q matches on %v: %v, the oracle says %v", expr, at, got, want)
			}
		}
	})
}

func TestParsedTextParsesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := anExpression().Draw(t, "expr")
		blank := rapid.SampledFrom([]string{" ", "\t", "  ", " \t "}).Draw(t, "blank")
		e, err := cron.Parse(blank + strings.ReplaceAll(expr, " ", blank) + blank)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		if e.String() != expr {
			t.Fatalf("String = %q, want %q", e, expr)
		}
		if again, err := cron.Parse(e.String()); err != nil || again != e {
			t.Fatalf("Parse(%q) differs: %v", e, err)
		}
	})
}

func TestUnmatchedEqualsTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := anExpression().Draw(t, "expr")
		loc, err := cron.LoadZone(rapid.SampledFrom(someZones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := cron.Parse(expr)
		if err != nil {
			t.Fatalf("Parse(%q): %v", expr, err)
		}
		s, o := e.In(loc), newOracle(expr)
		from := anInstant(loc).Draw(t, "from")
		if o.matches(from.In(loc)) != s.Matches(from) {
			t.Fatalf("%q matches %v: %v, the oracle disagrees", expr, from.In(loc), s.Matches(from))
		}
		got, ok := s.NextUnmatched(from)
		want := from
		for end := from.Add(3 * time.Hour); o.matches(want.In(loc)) && want.Before(end); {
			want = want.Truncate(time.Second).Add(time.Second)
		}
		if !o.matches(want.In(loc)) && (!ok || !got.Equal(want)) || o.matches(want.In(loc)) && ok && got.Before(want) {
			t.Fatalf("%q from %v: %v, %v; the oracle says %v", expr, from, got, ok, want)
		}
	})
}
