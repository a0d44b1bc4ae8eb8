package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Warning is something about a schedule that its author may not have meant. It is no error. Members that its kind does
// not name are zero.
type Warning struct {
	Kind  WarningKind
	Text  string        // the warning in English
	At    time.Time     // NeverFires: the first match, if there is one; Ends: the last match; ClockForward, ClockBack: when the clock is set
	Wall  string        // ClockForward: the first wall time that is skipped; ClockBack: the first that is repeated; as 2006-01-02T15:04:05
	Runs  int           // ClockForward, ClockBack: how many wall times that match are skipped or repeated
	Pause time.Duration // ClockBack: the time between the matches around it
	Item  string        // QuartzWeekday, LargeStep: the item
}

// WarningKind is a kind of warning.
type WarningKind uint8

// The kinds of warning.
const (
	NeverFires    WarningKind = iota + 1 // no match within five years
	Ends                                 // there is a last match
	ClockForward                         // a run is lost when the clock is set forward
	ClockBack                            // there is a Pause when the clock is set back
	EitherDay                            // day and weekday are both restricted, and either is enough
	EverySecond                          // the second is * and a later field is not
	QuartzWeekday                        // a weekday number means another day in Quartz
	LargeStep                            // a step leads out of its field, so that only its first value is left
)

var warningKinds = [...]string{"", "never_fires", "ends", "clock_forward", "clock_back", "either_day", "every_second", "quartz_weekday", "large_step"}

// String returns the kind's name, such as "never_fires".
func (k WarningKind) String() string {
	if int(k) < len(warningKinds) {
		return warningKinds[k]
	}
	return "unknown(" + strconv.Itoa(int(k)) + ")"
}

// String returns the warning in English.
func (w Warning) String() string { return w.Text }

// Warnings looks at a schedule as it would run from now on, and for the setting of clocks one year ahead. It takes some
// microseconds for most expressions, and milliseconds for one that matches each second.
func (s *Schedule) Warnings(now time.Time) []Warning {
	var ws []Warning
	first := s.Next(now)
	if first.IsZero() {
		ws = append(ws, s.neverFires(now))
	} else {
		ws = s.ends(ws, now, first)
		ws = s.clockChanges(ws, now)
	}
	return s.expr.shapes(ws)
}

func (s *Schedule) neverFires(now time.Time) Warning {
	w := Warning{Kind: NeverFires, Text: "never fires: no date matches"}
	shown := now.Unix() + s.offsetAt(now.Unix())
	y, _, _ := civil(floorDiv(shown, daySeconds))
	if wall, ok := s.expr.next(shown+1, y+400); ok { // the Gregorian calendar repeats after 400 years
		first, _ := s.place(wall, s.period(wall))
		if w.Text = "never fires: the clock skips the time that matches"; first > now.Unix() {
			w.At = time.Unix(first, 0).In(s.loc)
			w.Text = fmt.Sprintf("never fires: the first match, %s, is more than five years away", w.At.Format(time.DateOnly))
		}
	} else if !s.expr.anyYear {
		w.Text = "never fires: no date in its years matches, or they are past"
	}
	return w
}

// ends warns of a last match. Without a year field it looks ten years ahead, for a 29 February that is too far away.
func (s *Schedule) ends(ws []Warning, now, first time.Time) []Warning {
	last := LastYear
	if s.expr.anyYear {
		last = now.In(s.loc).Year() + 10
	}
	for t := first; t.In(s.loc).Year() <= last; {
		end := s.lastOfYear(t)
		next := s.Next(end)
		if next.IsZero() {
			return append(ws, Warning{Kind: Ends, At: end, Text: "ends: the last match is " + end.Format(time.RFC3339)})
		}
		t = next
	}
	return ws
}

// lastOfYear returns the last match in the year of the match t.
func (s *Schedule) lastOfYear(t time.Time) time.Time {
	wall, _ := s.expr.lastIn(t.In(s.loc).Year())
	p := s.period(wall)
	last, _ := s.place(wall, p)
	if last < t.Unix() { // wall is skipped
		last, _ = s.lastBefore(wall - p.offset + maxOverlap)
	}
	return time.Unix(max(last, t.Unix()), 0).In(s.loc)
}

// clockChanges looks at each setting of the clock in the year after now.
func (s *Schedule) clockChanges(ws []Warning, now time.Time) []Warning {
	end := now.AddDate(1, 0, 0).Unix()
	for p := s.period(now.Unix()); p.end <= end; {
		next := s.period(p.end)
		switch {
		case next.offset > p.offset:
			ws = s.forward(ws, p.end, p.offset, next.offset)
		case next.offset < p.offset:
			ws = s.back(ws, p.end, p.offset, next.offset)
		}
		p = next
	}
	return ws
}

// forward warns when a run is lost: when the time between the matches around the change is longer than it would be
// without it. An hourly schedule loses nothing.
func (s *Schedule) forward(ws []Warning, at, before, after int64) []Warning {
	skipped, n := s.expr.within(at+before, at+after)
	if n == 0 {
		return ws
	}
	last, ok := s.lastBefore(at)
	next := s.Next(time.Unix(at-1, 0))
	if ok && !next.IsZero() && next.Unix()-last <= skipped-(last+before) {
		return ws
	}
	w := Warning{Kind: ClockForward, At: time.Unix(at, 0).In(s.loc), Wall: wallText(skipped), Runs: n}
	w.Text = fmt.Sprintf("loses a run: on %s the clock goes from %s to %s and skips %s",
		w.At.Format(time.DateOnly), clockText(at+before), clockText(at+after), clockText(skipped))
	if n > 1 {
		w.Text += fmt.Sprintf(" and %d more", n-1)
	}
	return append(ws, w)
}

// back warns of a pause: when the time between the matches around the repeated stretch is half as long again as it would
// be without it. A daily schedule has none.
func (s *Schedule) back(ws []Warning, at, before, after int64) []Warning {
	repeated, n := s.expr.within(at+after, at+before)
	if n == 0 {
		return ws
	}
	last, ok := s.lastBefore(at)
	next := s.Next(time.Unix(at-1, 0))
	if !ok || next.IsZero() {
		return ws
	}
	pause := next.Unix() - last
	if usual := (next.Unix() + s.offsetAt(next.Unix())) - (last + before); 2*pause < 3*usual {
		return ws
	}
	w := Warning{Kind: ClockBack, At: time.Unix(at, 0).In(s.loc), Wall: wallText(repeated), Runs: n, Pause: time.Duration(pause) * time.Second}
	w.Text = fmt.Sprintf("pauses for %v: on %s the clock goes back from %s to %s, and what comes twice runs the first time only",
		w.Pause, w.At.Format(time.DateOnly), clockText(at+before), clockText(at+after))
	return append(ws, w)
}

// lastBefore returns the last match before at, if it is not more than six years earlier.
func (s *Schedule) lastBefore(at int64) (last int64, ok bool) {
	for window := int64(60); !ok && window < 6*366*daySeconds; window *= 2 {
		for t := s.Next(time.Unix(at-window, 0)); !t.IsZero() && t.Unix() < at; t = s.Next(t) {
			last, ok = t.Unix(), true
		}
	}
	return last, ok
}

func wallText(wall int64) string  { return time.Unix(wall, 0).UTC().Format("2006-01-02T15:04:05") }
func clockText(wall int64) string { return time.Unix(wall, 0).UTC().Format(time.TimeOnly) }

// shapes warns of what can be seen without a clock.
func (e *Expression) shapes(ws []Warning) []Warning {
	if !e.anyDay && !e.anyWeekday {
		ws = append(ws, Warning{Kind: EitherDay, Text: "day and weekday are both restricted: a day that matches either one is enough"})
	}
	fields := strings.Fields(e.text)
	f := Second
	if len(fields) < 6 {
		f = Minute
	}
	for _, text := range fields {
		for item := range strings.SplitSeq(text, ",") {
			ws = largeStep(ws, f, item)
		}
		f++
	}
	if len(fields) < 6 {
		return ws
	}
	if fields[0] == "*" {
		for i, text := range fields[1:] {
			if text != "*" && text != "?" {
				ws = append(ws, Warning{Kind: EverySecond, Text: fmt.Sprintf(
					"fires every second while %v is %s; write 0 as the second to fire once a minute", Minute+Field(i), text)})
				break
			}
		}
	}
	for item := range strings.SplitSeq(fields[5], ",") {
		ws = quartz(ws, item)
	}
	return ws
}

// largeStep warns of a step that has only one value.
func largeStep(ws []Warning, f Field, text string) []Warning {
	base, _, stepped := strings.Cut(text, "/")
	it, err := scan(f, text)
	if !stepped || err != nil || it.form != span || it.step <= it.to-it.from || it.from == it.to {
		return ws
	}
	if !strings.Contains(base, "-") {
		base = "the field"
	}
	return append(ws, Warning{Kind: LargeStep, Item: text, Text: fmt.Sprintf(
		"%v is %s, a step that leads out of %s: only %d matches", f, text, base, it.from)})
}

// quartz warns of an item with weekday numbers that Quartz, where Sunday is 1, would read as other days. An item that
// Quartz would refuse was not written for it.
func quartz(ws []Warning, text string) []Warning {
	days, rest := text, ""
	if i := strings.IndexAny(text, "#/"); i >= 0 {
		days, rest = text[:i], text[i:]
	}
	shifted := []byte(days)
	for i, c := range shifted {
		switch {
		case c == '0':
			return ws
		case c >= '1' && c <= '9':
			shifted[i] = c - 1
		}
	}
	var here, there Expression
	it, err := scan(Weekday, text)
	if err != nil {
		return ws
	}
	here.add(Weekday, it)
	if it, err = scan(Weekday, string(shifted)+rest); err != nil {
		return ws
	}
	there.add(Weekday, it)
	if here == there {
		return ws
	}
	names := func(e Expression) string {
		return strings.TrimPrefix(strings.TrimLeft(englishWeekdays(e.Outline(), "the month"), ", "), "on ")
	}
	return append(ws, Warning{Kind: QuartzWeekday, Item: text, Text: fmt.Sprintf(
		"weekday %s is %q here and %q in Quartz; write names", text, names(here), names(there))})
}
