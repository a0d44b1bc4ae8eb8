package cron

import (
	"math/bits"
	"strings"
	"time"
)

// Language puts an expression into words. [English] and [Chinese] are languages; another one is a function that reads an
// [Outline].
type Language func(Outline) string

// Outline is what an expression means, for putting it into words. It holds values and not the text: */15 and 0,15,30,45
// have the same outline.
type Outline struct {
	Second, Minute, Hour []Range // empty: every one
	Day                  []Range // of the month; empty when none is given as a number
	DayRule              []DayRule
	Weekday              []Range // Monday is 1, Sunday is 7; empty when none is given without a place in the month
	WeekdayRule          []DayRule
	AnyDay, AnyWeekday   bool    // the field says nothing; when neither does, a day that matches either one counts
	Month, Year          []Range // empty: every one
	Zone                 string  // IANA name; empty when the expression is in no zone
}

// Range stands for the values From, From+Step, … up to To, which is one of them. A single value is a range too.
type Range struct{ From, To, Step int }

// DayRule is a day that depends on the month.
type DayRule struct {
	Kind    DayRuleKind
	N       int          // of FromLast, NearestWorkday and Nth
	Weekday time.Weekday // of Nth and LastWeekday
}

// DayRuleKind is a way to find a day in a month. A workday is a day from Monday to Friday.
type DayRuleKind uint8

// The ways to find a day.
const (
	FromLast       DayRuleKind = iota // L-n: N days before the last day; 0 is the last day
	NearestWorkday                    // nW: the workday nearest to day N
	LastWorkday                       // LW
	Nth                               // n#k: the N-th Weekday
	LastWeekday                       // nL
)

// Outline returns what the expression means.
func (e Expression) Outline() Outline {
	o := Outline{
		Second: e.ranges(Second), Minute: e.ranges(Minute), Hour: e.ranges(Hour), Month: e.ranges(Month),
		AnyDay: e.anyDay, AnyWeekday: e.anyWeekday,
	}
	if !e.anyDay {
		o.Day = rangesOf(e.set[Day])
		for n := range 31 {
			if e.fromLast>>n&1 != 0 {
				o.DayRule = append(o.DayRule, DayRule{Kind: FromLast, N: n})
			}
		}
		for n := range 32 {
			if e.nearest>>n&1 != 0 {
				o.DayRule = append(o.DayRule, DayRule{Kind: NearestWorkday, N: n})
			}
		}
		if e.lastWork {
			o.DayRule = append(o.DayRule, DayRule{Kind: LastWorkday})
		}
	}
	if !e.anyWeekday {
		sunday := e.set[Weekday] & 1
		o.Weekday = rangesOf(e.set[Weekday]&^1 | sunday<<7)
		for k, set := range e.nth {
			for _, w := range weekdaysIn(set) {
				o.WeekdayRule = append(o.WeekdayRule, DayRule{Kind: Nth, N: k + 1, Weekday: w})
			}
		}
		for _, w := range weekdaysIn(e.last) {
			o.WeekdayRule = append(o.WeekdayRule, DayRule{Kind: LastWeekday, Weekday: w})
		}
	}
	if !e.anyYear {
		var years []int
		for y, ok := e.yearFrom(FirstYear); ok; y, ok = e.yearFrom(y + 1) {
			years = append(years, y)
		}
		o.Year = group(years)
	}
	return o
}

// Describe says in English what the expression means.
func (e Expression) Describe() string { return English(e.Outline()) }

// Outline returns what the schedule means, with its zone.
func (s *Schedule) Outline() Outline {
	o := s.expr.Outline()
	o.Zone = s.loc.String()
	return o
}

// Describe says in English what the schedule means, with its zone.
func (s *Schedule) Describe() string { return English(s.Outline()) }

// weekdaysIn lists a set of weekdays from Monday to Sunday.
func weekdaysIn(set uint8) []time.Weekday {
	var days []time.Weekday
	for i := range 7 {
		if w := time.Weekday((i + 1) % 7); set>>w&1 != 0 {
			days = append(days, w)
		}
	}
	return days
}

// ranges returns the values of a field, or nothing when it holds all of them.
func (e *Expression) ranges(f Field) []Range {
	if e.set[f] == between(grammar[f].min, grammar[f].open) {
		return nil
	}
	return rangesOf(e.set[f])
}

func rangesOf(set uint64) []Range {
	var values []int
	for ; set != 0; set &= set - 1 {
		values = append(values, bits.TrailingZeros64(set))
	}
	return group(values)
}

// group turns sorted values into ranges: one with a step when that covers three values or more, else runs of three or
// more neighbours and single values.
func group(values []int) []Range {
	if n := len(values); n > 2 {
		step := values[1] - values[0]
		even := true
		for i := 2; i < n; i++ {
			even = even && values[i]-values[i-1] == step
		}
		if even {
			return []Range{{values[0], values[n-1], step}}
		}
	}
	var ranges []Range
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j-i >= 2 {
			ranges = append(ranges, Range{values[i], values[j], 1})
			i = j + 1
		} else {
			ranges = append(ranges, Range{values[i], values[i], 1})
			i++
		}
	}
	return ranges
}

// single returns the value when ranges hold just one.
func single(ranges []Range) (int, bool) {
	if len(ranges) == 1 && ranges[0].From == ranges[0].To {
		return ranges[0].From, true
	}
	return 0, false
}

// stepped returns first value and step when ranges hold every step-th value up to the largest one.
func stepped(ranges []Range, largest int) (from, step int, ok bool) {
	if len(ranges) == 1 && ranges[0].Step > 1 && ranges[0].To+ranges[0].Step > largest {
		return ranges[0].From, ranges[0].Step, true
	}
	return 0, 0, false
}

// few is how many values are listed rather than summed up.
const few = 6

// values lists what ranges hold, or tells that they are not few.
func values(ranges []Range) ([]int, bool) {
	var vs []int
	for _, r := range ranges {
		for v := r.From; v <= r.To; v += r.Step {
			if len(vs) == few {
				return nil, false
			}
			vs = append(vs, v)
		}
	}
	return vs, len(vs) > 0
}

// spelled returns ranges with those that have a step replaced by their values, where these are few.
func spelled(ranges []Range) []Range {
	vs, ok := values(ranges)
	if !ok || ranges[0].Step == 1 {
		return ranges
	}
	singles := make([]Range, len(vs))
	for i, v := range vs {
		singles[i] = Range{v, v, 1}
	}
	return singles
}

// clocks returns the times of day when they are few and all of them are given: 09:00, or 09:00:30 when any has seconds.
func (o Outline) clocks() []string {
	hours, ok1 := values(o.Hour)
	minutes, ok2 := values(o.Minute)
	seconds, ok3 := values(o.Second)
	if !ok1 || !ok2 || !ok3 || len(hours)*len(minutes)*len(seconds) > few {
		return nil
	}
	layout := "15:04"
	if s, ok := single(o.Second); !ok || s != 0 {
		layout = "15:04:05"
	}
	var clocks []string
	for _, h := range hours {
		for _, m := range minutes {
			for _, s := range seconds {
				clocks = append(clocks, time.Date(2000, 1, 1, h, m, s, 0, time.UTC).Format(layout))
			}
		}
	}
	return clocks
}

// join writes a list with a word before its last member.
func join(parts []string, comma, last string) string {
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], comma) + last + parts[n-1]
	}
	return strings.Join(parts, "")
}
