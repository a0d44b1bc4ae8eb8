package cron

import (
	"fmt"
	"strings"
)

// form is the form of an item in a list.
type form uint8

const (
	span           form = iota // from, from-to, */step, from/step, from-to/step
	lastDay                    // L, and L-n with n in from
	nearestWorkday             // nW with n in from
	lastWorkday                // LW
	lastWeekday                // FRIL with the weekday in from
	nthWeekday                 // FRI#2 with the weekday in from and 2 in to
)

// item is one member of a field's list.
type item struct {
	form           form
	from, to, step int
}

// huge stands for every number that is too large for any field. Numbers are read up to it and never wrap.
const huge = 1 << 20

// scan reads one item of field f.
func scan(f Field, text string) (item, *SyntaxError) {
	switch {
	case text == "*":
		return item{form: span, from: grammar[f].min, to: grammar[f].open, step: 1}, nil
	case f == Day && strings.ContainsAny(text, "LlWw"):
		return scanDay(text)
	case f == Weekday && (strings.IndexByte(text, '#') >= 0 || text[len(text)-1]|0x20 == 'l'):
		return scanWeekday(text)
	}
	return scanSpan(f, text)
}

// scanSpan reads values, ranges and steps.
func scanSpan(f Field, text string) (item, *SyntaxError) {
	r := &grammar[f]
	it := item{form: span, step: 1}
	base, step, stepped := strings.Cut(text, "/")
	if stepped {
		n, ok := number(step)
		switch {
		case !ok:
			return it, bad(f, text, fmt.Sprintf("the step %q is not a number; want 1 or more", step), "")
		case n == 0:
			return it, bad(f, text, "the step is 0; want 1 or more", "")
		}
		it.step = n
	}
	if base == "*" {
		it.from, it.to = r.min, r.open
		return it, nil
	}
	first, last, ranged := strings.Cut(base, "-")
	from, err := value(f, first, text)
	if err != nil {
		return it, err
	}
	to := from
	switch {
	case ranged:
		if to, err = value(f, last, text); err != nil {
			return it, err
		}
	case stepped:
		to = max(from, r.open)
	}
	if to < from {
		return it, reversed(f, text, from, to)
	}
	it.from, it.to = from, to
	return it, nil
}

// scanDay reads the items of the day field that hold letters.
func scanDay(text string) (item, *SyntaxError) {
	switch {
	case strings.EqualFold(text, "L"):
		return item{form: lastDay}, nil
	case strings.EqualFold(text, "LW"):
		return item{form: lastWorkday}, nil
	case len(text) > 2 && text[0]|0x20 == 'l' && text[1] == '-':
		if n, ok := number(text[2:]); ok && n >= 1 && n <= 30 {
			return item{form: lastDay, from: n}, nil
		} else if ok {
			return item{}, bad(Day, text, text[2:]+" days before the last day is out of range; want 1-30", "")
		}
	case text[len(text)-1]|0x20 == 'w':
		if n, ok := number(text[:len(text)-1]); ok && n >= 1 && n <= 31 {
			return item{form: nearestWorkday, from: n}, nil
		} else if ok {
			return item{}, bad(Day, text, "the day before W is out of range; want 1-31", "")
		}
	}
	return item{}, badDay(text)
}

// scanWeekday reads nL and n#k.
func scanWeekday(text string) (item, *SyntaxError) {
	if text == "L" || text == "l" {
		return item{}, bad(Weekday, text, "L alone has no meaning here", "write SAT for Saturday, FRIL for the last Friday of the month")
	}
	if name, place, ok := strings.Cut(text, "#"); ok {
		day, err := value(Weekday, name, text)
		if err != nil {
			return item{}, err
		}
		k, ok := number(place)
		if !ok || k < 1 || k > 5 {
			return item{}, bad(Weekday, text, fmt.Sprintf("%q after # is out of range; want 1-5", place), "")
		}
		return item{form: nthWeekday, from: day % 7, to: k}, nil
	}
	day, err := value(Weekday, text[:len(text)-1], text)
	if err != nil {
		return item{}, err
	}
	return item{form: lastWeekday, from: day % 7}, nil
}

// value reads a number or a name of field f; whole is the item it is part of.
func value(f Field, text, whole string) (int, *SyntaxError) {
	r := &grammar[f]
	v, ok := number(text)
	if !ok {
		if v = r.valueOf(text); v < 0 {
			return 0, badValue(f, text, whole)
		}
		return v, nil
	}
	if v < r.min || v > r.max {
		return 0, outOfRange(f, text, whole, v)
	}
	return v, nil
}

// number reads decimal digits. A number above [huge] is huge.
func number(text string) (n int, ok bool) {
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = min(n*10+int(c), huge)
	}
	return n, text != ""
}
