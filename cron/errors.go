package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError says why an expression was refused. Errors of [Parse] are of this type.
type SyntaxError struct {
	Field   Field  // the field that Item stands in
	Item    string // the item of the field's list, as written; empty when the whole expression is meant
	Problem string // what is wrong and what is allowed
	Hint    string // what to write instead; may be empty
}

// Error returns field, item, problem and hint in one line.
func (e *SyntaxError) Error() string {
	s := e.Problem
	if e.Item != "" {
		s = fmt.Sprintf("%v %q: %s", e.Field, e.Item, s)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func bad(f Field, item, problem, hint string) *SyntaxError {
	return &SyntaxError{Field: f, Item: item, Problem: problem, Hint: hint}
}

func badCharacter(expr string, i int) *SyntaxError {
	what := fmt.Sprintf("character %q", []rune(expr[i:])[0])
	if expr[i] == '\n' || expr[i] == '\r' {
		what = "line break"
	}
	return &SyntaxError{Problem: fmt.Sprintf("%s at byte %d; want plain ASCII in one line", what, i)}
}

// macros are the nicknames of other crons and what to write instead.
var macros = map[string]string{
	"@yearly":   `write "0 0 1 1 *"`,
	"@annually": `write "0 0 1 1 *"`,
	"@monthly":  `write "0 0 1 * *"`,
	"@weekly":   `write "0 0 * * SUN"`,
	"@daily":    `write "0 0 * * *"`,
	"@midnight": `write "0 0 * * *"`,
	"@hourly":   `write "0 * * * *"`,
	"@every":    "an interval is not a cron expression",
	"@reboot":   "a start of the machine is not a cron expression",
}

// badShape refuses an expression with the wrong number of fields, or with a macro.
func badShape(expr string, n int) *SyntaxError {
	const want = "want 5 (minute hour day month weekday), 6 (second in front) or 7 (year at the end)"
	word, _, _ := strings.Cut(strings.TrimLeft(expr, " \t"), " ")
	switch {
	case n == 0:
		return &SyntaxError{Problem: "the expression is empty; " + want}
	case word[0] == '@':
		return &SyntaxError{Problem: fmt.Sprintf("the macro %q is not supported", word), Hint: macros[strings.ToLower(word)]}
	case n > 7:
		return &SyntaxError{Problem: fmt.Sprintf("%d fields; %s", n, want), Hint: "zone, user and command are not part of an expression"}
	}
	return &SyntaxError{Problem: fmt.Sprintf("%d fields; %s", n, want)}
}

// emptyItem refuses a list such as "1,,2".
func emptyItem(f Field, list string) *SyntaxError {
	return bad(f, list, "an item of the list is empty", "")
}

func outOfRange(f Field, text, whole string, v int) *SyntaxError {
	hint := ""
	switch {
	case f == Hour && v == 24:
		hint = "midnight is 0"
	case (f == Minute || f == Second) && v == 60:
		hint = "the full " + grammar[f+1].name + " is 0"
	case f == Weekday && v >= FirstYear && v <= LastYear:
		hint = "a six-field expression begins with the second; for a year write all seven fields"
	}
	return bad(f, whole, fmt.Sprintf("%s is out of range; want %s", text, grammar[f].want), hint)
}

// badValue refuses text that is neither a number nor a name.
func badValue(f Field, text, whole string) *SyntaxError {
	r := &grammar[f]
	problem := fmt.Sprintf("%q is not a value; want %s", text, r.want)
	if text == "" {
		problem = "a value is missing; want " + r.want
	}
	hint := ""
	switch {
	case strings.ContainsRune(whole, '?') && (f == Day || f == Weekday):
		hint = "? stands alone; write *"
	case strings.ContainsRune(whole, '?'):
		hint = "? is for day and weekday only; write *"
	case strings.ContainsRune(whole, '~'), strings.HasPrefix(whole, "H"):
		hint = "no value is drawn here; choose one"
	case strings.ContainsRune(whole, '#'):
		hint = "n#k is for the weekday only"
	case len(text) > 3 && r.valueOf(text[:3]) >= 0:
		hint = "names have three letters; write " + strings.ToUpper(text[:3])
	case len(text) > 1 && text[0] == '*' && text[1] != '*':
		hint = "write */" + text[1:] + " for every " + text[1:]
	case f == Weekday && strings.HasSuffix(strings.ToUpper(text), "W"):
		hint = "nW is for the day only"
	case f != Day && f != Weekday && strings.ContainsAny(text, "LlWw"):
		hint = "L and W are for the days only"
	}
	return bad(f, whole, problem, hint)
}

// badDay refuses an item of the day field with a letter.
func badDay(text string) *SyntaxError {
	hint := ""
	switch upper := strings.ToUpper(text); {
	case upper == "WL":
		hint = "write LW for the last weekday of the month"
	case strings.HasPrefix(upper, "L-") && strings.HasSuffix(upper, "W"):
		hint = "write LW for the last weekday of the month"
	case len(upper) > 1 && strings.HasSuffix(upper, "L"):
		hint = "nL is for the weekday only; the last day of the month is L"
	case strings.Contains(upper, "/"):
		hint = "L and W take no step"
	}
	return bad(Day, text, "not a day; want "+grammar[Day].want, hint)
}

// reversed refuses a range that would have to wrap around, and says how to write it.
func reversed(f Field, text string, from, to int) *SyntaxError {
	r := &grammar[f]
	name := func(v int) string {
		if n := r.nameOf(v); n != "" {
			return n
		}
		return strconv.Itoa(v)
	}
	part := func(a, b int) string {
		if a == b {
			return name(a)
		}
		return name(a) + "-" + name(b)
	}
	hint := ""
	if _, _, step := strings.Cut(text, "/"); !step && f != Year {
		hint = fmt.Sprintf("write %s,%s", part(from, r.open), part(r.min, to))
	}
	return bad(f, text, "the range ends before it starts", hint)
}
