package cron

import "strings"

// Field is one of the fields of an expression, in the order in which they are written.
type Field uint8

// The fields. A five-field expression has Minute to Weekday, a six-field one Second to Weekday.
const (
	Second Field = iota
	Minute
	Hour
	Day // of the month
	Month
	Weekday
	Year
)

// String returns the field's name in lower case.
func (f Field) String() string {
	if int(f) < len(grammar) {
		return grammar[f].name
	}
	return "unknown field"
}

// FirstYear and LastYear bound the year field. An expression without one has no such bound.
const (
	FirstYear = 1970
	LastYear  = 2099
)

// rule is what the grammar allows in a field. The end of "*" and "a/n" is open, which differs from max for weekdays
// only: 7 is a second number for Sunday.
type rule struct {
	name           string
	min, max, open int
	names          string // three letters each, the first one is min
	want           string // for error messages
}

var grammar = [...]rule{
	Second:  {name: "second", min: 0, max: 59, open: 59, want: "0-59"},
	Minute:  {name: "minute", min: 0, max: 59, open: 59, want: "0-59"},
	Hour:    {name: "hour", min: 0, max: 23, open: 23, want: "0-23"},
	Day:     {name: "day", min: 1, max: 31, open: 31, want: "1-31, L, L-n, nW or LW"},
	Month:   {name: "month", min: 1, max: 12, open: 12, names: "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", want: "1-12 or JAN-DEC"},
	Weekday: {name: "weekday", min: 0, max: 7, open: 6, names: "SUNMONTUEWEDTHUFRISAT", want: "0-7, SUN-SAT, FRIL or FRI#2"},
	Year:    {name: "year", min: FirstYear, max: LastYear, open: LastYear, want: "1970-2099"},
}

// nameOf returns the three-letter name of a value, or "" when the field has none for it.
func (r *rule) nameOf(v int) string {
	i := (v - r.min) * 3
	if i < 0 || i+3 > len(r.names) {
		return ""
	}
	return r.names[i : i+3]
}

// valueOf returns the value of a three-letter name in any case, or -1.
func (r *rule) valueOf(name string) int {
	if len(name) != 3 {
		return -1
	}
	for i := 0; i < len(r.names); i += 3 {
		if strings.EqualFold(r.names[i:i+3], name) {
			return r.min + i/3
		}
	}
	return -1
}
