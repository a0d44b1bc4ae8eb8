package jobhost

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// ParseSchedule reads schedule text (SPEC 6.2):
//
//	manual [options]
//	every INTERVAL [xCOUNT] [options]
//	cron EXPRESSION [tz=ZONE] [options]
//	once INSTANT [options]
//	options: start=INSTANT end=INSTANT calendar=NAME
//
// INTERVAL is a clock value [d.]hh:mm:ss[.fraction] or a Go duration, COUNT the total number of runs, INSTANT RFC 3339
// with an offset. ZONE is an IANA name, or a Windows zone id in double quotes. Words are separated by spaces and tabs.
// Options may stand in any order, each once; kinds and option names may be in any case.
func ParseSchedule(text string) (Schedule, error) {
	words, err := scheduleWords(text)
	if err != nil {
		return Schedule{}, err
	}
	if len(words) == 0 {
		return Schedule{}, errors.New("schedule is empty; want manual, every, cron or once")
	}
	n := 1
	for n < len(words) && !strings.Contains(words[n], "=") {
		n++
	}
	var s Schedule
	switch args := words[1:n]; strings.ToLower(words[0]) {
	case "manual":
		if len(args) > 0 {
			return Schedule{}, fmt.Errorf("manual: unexpected %q; want nothing or an option such as end=2027-01-01T00:00:00Z", args[0])
		}
	case "every":
		s, err = parseEvery(args)
	case "cron":
		if s, err = CronIn(strings.Join(args, " "), ""); err != nil {
			err = fmt.Errorf("cron: %w", err)
		}
	case "once":
		s, err = parseOnce(args)
	default:
		err = unknownKind(words[0])
	}
	if err != nil {
		return Schedule{}, err
	}
	if err := s.parseOptions(words[n:]); err != nil {
		return Schedule{}, err
	}
	return checked(s)
}

// scheduleWords splits text at spaces and tabs that are not inside double quotes.
func scheduleWords(text string) ([]string, error) {
	var words []string
	start, quoted := -1, false
	for i, c := range text {
		switch {
		case c == '\n' || c == '\r':
			return nil, fmt.Errorf("schedule has a line break at byte %d; want one line", i)
		case (c < ' ' && c != '\t') || c > '~':
			return nil, fmt.Errorf("schedule has %q at byte %d; want plain ASCII", c, i)
		case (c == ' ' || c == '\t') && !quoted:
			if start >= 0 {
				words = append(words, text[start:i])
			}
			start = -1
			continue
		case c == '"':
			quoted = !quoted
		}
		if start < 0 {
			start = i
		}
	}
	if quoted {
		return nil, fmt.Errorf("schedule has a quote without an end in %q", text[start:])
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return words, nil
}

func unknownKind(word string) error {
	hint := ""
	if strings.ContainsAny(word[:1], "*@0123456789") {
		hint = "; a cron expression follows the word cron"
	}
	return fmt.Errorf("schedule begins with %q; want manual, every, cron or once%s", word, hint)
}

func parseEvery(args []string) (Schedule, error) {
	if len(args) == 0 {
		return Schedule{}, errors.New("every: the interval is missing; want a duration such as 10m or 00:10:00")
	}
	d, err := parseInterval(args[0])
	if err != nil {
		return Schedule{}, fmt.Errorf("every: %w", err)
	}
	s := Schedule{Kind: Every, Interval: d}
	if len(args) > 1 {
		count := args[1]
		if count[0]|0x20 != 'x' {
			return Schedule{}, fmt.Errorf("every: unexpected %q; want a number of runs such as x5, or an option", count)
		}
		if s.Times, err = strconv.Atoi(count[1:]); err != nil || s.Times < 1 || count[1] == '+' {
			return Schedule{}, fmt.Errorf("every: number of runs %q is not valid; want x1 or more", count)
		}
	}
	if len(args) > 2 {
		return Schedule{}, fmt.Errorf("every: unexpected %q; want an option such as end=2027-01-01T00:00:00Z", args[2])
	}
	return s, nil
}

func parseOnce(args []string) (Schedule, error) {
	if len(args) != 1 {
		return Schedule{}, fmt.Errorf("once: found %d words; want one instant such as 2026-03-01T08:00:00Z", len(args))
	}
	at, err := parseInstant(args[0])
	if err != nil {
		return Schedule{}, fmt.Errorf("once: %w", err)
	}
	return Schedule{Kind: Once, At: at}, nil
}

// parseOptions reads words of the form key=value.
func (s *Schedule) parseOptions(words []string) error {
	for i, w := range words {
		if strings.Contains(w, "=") {
			continue
		}
		hint := ""
		if before := strings.ToLower(words[i-1]); strings.HasPrefix(before, "tz=") {
			hint = `; quote a zone with blanks, as in tz="China Standard Time"`
		}
		return fmt.Errorf("unexpected %q after the option %q; want options last%s", w, words[i-1], hint)
	}
	seen := map[string]bool{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		key = strings.ToLower(key)
		if seen[key] {
			return fmt.Errorf("option %q is there twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "tz":
			err = s.parseZone(value)
		case "start":
			s.Start, err = parseInstant(value)
		case "end":
			s.End, err = parseInstant(value)
		case "calendar":
			s.Calendar, err = ParseName(value)
		default:
			return fmt.Errorf("option %q is unknown; want tz, start, end or calendar", w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (s *Schedule) parseZone(value string) error {
	if s.Kind != Cron {
		return fmt.Errorf("a zone belongs to cron, not to %v", s.Kind)
	}
	name := value
	if len(name) > 1 && name[0] == '"' && name[len(name)-1] == '"' {
		name = name[1 : len(name)-1]
	}
	if name == "" {
		return errors.New("the zone is empty; want an IANA name, or no tz for UTC")
	}
	zone, err := cron.CanonicalZone(name)
	if err != nil {
		return err
	}
	if zone != "UTC" {
		s.Zone = zone
	}
	return nil
}

// parseInstant reads RFC 3339 as it is written there, with T, seconds and an offset. The time package is less strict.
func parseInstant(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339(text) {
		return time.Time{}, fmt.Errorf("%q is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z", text)
	}
	if t = t.UTC(); t.IsZero() {
		return time.Time{}, fmt.Errorf("%q is the zero time; want a later one", text)
	}
	return t, nil
}

// rfc3339 reports whether text has the form of RFC 3339, but for the ranges of its numbers.
func rfc3339(text string) bool {
	const local = "0000-00-00T00:00:00"
	if len(text) <= len(local) {
		return false
	}
	rest := text[len(local):]
	if strings.HasPrefix(rest, ".") {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	return shaped(text[:len(local)], local) && (rest == "Z" ||
		len(rest) == len("+00:00") && (rest[0] == '+' || rest[0] == '-') && shaped(rest[1:], "00:00") && rest[1:] < "24:00" && rest[4] < '6')
}

// shaped reports whether text is the shape with digits in place of its zeros.
func shaped(text, shape string) bool {
	for i := range len(shape) {
		if c := text[i]; c != shape[i] && (shape[i] != '0' || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// String returns the canonical text: options in the order tz, start, end, calendar, the interval as a clock value,
// instants in UTC. For every valid schedule [ParseSchedule] gives the same schedule again.
func (s Schedule) String() string {
	b := []byte(s.Kind.String())
	switch s.Kind {
	case Manual:
	case Every:
		b = appendInterval(append(b, ' '), s.Interval)
		if s.Times != 0 {
			b = strconv.AppendInt(append(b, " x"...), int64(s.Times), 10)
		}
	case Cron:
		b = append(append(b, ' '), s.Expr...)
		if s.Zone != "" && s.Zone != "UTC" {
			b = append(append(b, " tz="...), s.Zone...)
		}
	case Once:
		b = append(append(b, ' '), instantText(s.At)...)
	}
	if !s.Start.IsZero() {
		b = append(append(b, " start="...), instantText(s.Start)...)
	}
	if !s.End.IsZero() {
		b = append(append(b, " end="...), instantText(s.End)...)
	}
	if s.Calendar != "" {
		b = append(append(b, " calendar="...), s.Calendar...)
	}
	return string(b)
}
