package cron

import (
	"math/bits"
	"strings"
)

// Expression is a parsed cron expression: a set of wall-clock times. It belongs to no zone; [Expression.In] places it
// in one. It is an immutable value, and two are equal exactly when their texts are. The zero Expression matches nothing.
type Expression struct {
	text       string
	set        [Year]uint64 // a bit for each value, Second to Weekday
	years      [3]uint64    // a bit for each year from FirstYear; unused when anyYear is set
	nth        [5]uint8     // weekdays by their place in the month: FRI#2 is bit 5 of nth[1]
	fromLast   uint32       // days before the last day: L is bit 0, L-3 is bit 3
	nearest    uint32       // days n of nW
	last       uint8        // weekdays of which the last one of the month matches
	lastWork   bool         // LW
	anyDay     bool         // the day field is * or ?
	anyWeekday bool         // the weekday field is * or ?
	anyYear    bool         // there is no year field, or it is *
}

// Parse reads an expression of five, six or seven fields. Errors are of type [*SyntaxError]. It takes time in
// proportion to the length of the text, and allocates only when the fields are not separated by single spaces.
func Parse(expr string) (Expression, error) {
	var e Expression
	if err := e.parse(expr); err != nil {
		return Expression{}, err
	}
	return e, nil
}

// String returns the expression as it was given, with single spaces between the fields.
func (e Expression) String() string { return e.text }

// parse fills e. The fields are looked at in their written order, so the first problem is the one that is reported.
func (e *Expression) parse(expr string) *SyntaxError {
	var fields [7]string
	n, single, err := split(expr, &fields)
	if err != nil {
		return err
	}
	e.text = expr
	if !single {
		e.text = strings.Join(fields[:n], " ")
	}
	first := Second
	if n == 5 {
		first = Minute
		e.set[Second] = 1
	}
	e.anyYear = n < 7
	for i, text := range fields[:n] {
		if err := e.field(first+Field(i), text); err != nil {
			return err
		}
	}
	return nil
}

// split finds the fields and tells whether they are separated by single spaces and nothing else.
func split(expr string, fields *[7]string) (n int, single bool, err *SyntaxError) {
	single = true
	start := -1
	for i := range len(expr) {
		switch c := expr[i]; {
		case c == ' ' || c == '\t':
			if start < 0 || c == '\t' {
				single = false
			}
			if start >= 0 {
				if n < len(fields) {
					fields[n] = expr[start:i]
				}
				n++
				start = -1
			}
		case c < ' ' || c > '~':
			return 0, false, badCharacter(expr, i)
		case start < 0:
			start = i
		}
	}
	if start >= 0 {
		if n < len(fields) {
			fields[n] = expr[start:]
		}
		n++
	} else {
		single = false
	}
	if n < 5 || n > 7 || fields[0][0] == '@' {
		return 0, false, badShape(expr, n)
	}
	return n, single, nil
}

// field reads the list of one field into e.
func (e *Expression) field(f Field, text string) *SyntaxError {
	if text == "*" || text == "?" {
		return e.whole(f, text)
	}
	for list := text; ; {
		item, rest, more := strings.Cut(text, ",")
		if item == "" {
			return emptyItem(f, list)
		}
		it, err := scan(f, item)
		if err != nil {
			return err
		}
		e.add(f, it)
		if !more {
			return nil
		}
		text = rest
	}
}

// whole reads a field that is * or ? and nothing else.
func (e *Expression) whole(f Field, text string) *SyntaxError {
	switch f {
	case Day:
		e.anyDay = true
	case Weekday:
		e.anyWeekday = true
	case Year:
		e.anyYear = true
	case Second, Minute, Hour, Month:
	}
	if text == "?" && f != Day && f != Weekday {
		return bad(f, text, "? is for day and weekday only", "write *")
	}
	if f != Year {
		e.set[f] = between(grammar[f].min, grammar[f].open)
	}
	return nil
}

// add puts an item into the sets.
func (e *Expression) add(f Field, it item) {
	switch it.form {
	case span:
		if f == Year {
			for y := it.from; y <= it.to; y += it.step {
				e.years[(y-FirstYear)/64] |= 1 << ((y - FirstYear) % 64)
			}
			return
		}
		if it.step == 1 {
			e.set[f] |= between(it.from, it.to)
		} else {
			for v := it.from; v <= it.to; v += it.step {
				e.set[f] |= 1 << v
			}
		}
		if f == Weekday && e.set[f]&(1<<7) != 0 { // 7 is Sunday
			e.set[f] = e.set[f]&^(1<<7) | 1
		}
	case lastDay:
		e.fromLast |= 1 << it.from
	case nearestWorkday:
		e.nearest |= 1 << it.from
	case lastWorkday:
		e.lastWork = true
	case lastWeekday:
		e.last |= 1 << it.from
	case nthWeekday:
		e.nth[it.to-1] |= 1 << it.from
	}
}

// between has the bits from to to set, both included.
func between(from, to int) uint64 { return (1<<(to-from+1) - 1) << from }

// hasYear reports whether the year may match.
func (e *Expression) hasYear(y int) bool {
	if e.anyYear {
		return true
	}
	i := y - FirstYear
	return i >= 0 && i <= LastYear-FirstYear && e.years[i/64]>>(i%64)&1 != 0
}

// yearFrom returns the first year of the expression that is not before y.
func (e *Expression) yearFrom(y int) (int, bool) {
	if e.anyYear {
		return y, true
	}
	for i := max(y-FirstYear, 0); i <= LastYear-FirstYear; i = (i/64 + 1) * 64 {
		if rest := e.years[i/64] >> (i % 64); rest != 0 {
			return FirstYear + i + bits.TrailingZeros64(rest), true
		}
	}
	return 0, false
}
