package jobhost

import (
	"errors"
	"fmt"
	"math"
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
	if err := s.Check(); err != nil {
		return Schedule{}, err
	}
	return s, nil
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

func unknownKind(w string) error {
	switch f := strings.Count(w, "*"); {
	case strings.HasPrefix(w, "@"), f > 0, w[0] >= '0' && w[0] <= '9':
		return fmt.Errorf("schedule begins with %q; want manual, every, cron or once; a cron expression follows the word cron", w)
	}
	return fmt.Errorf("schedule begins with %q; want manual, every, cron or once", w)
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
	seen := map[string]bool{}
	for _, w := range words {
		name, value, isOption := strings.Cut(w, "=")
		key := strings.ToLower(name)
		var err error
		switch {
		case !isOption:
			return fmt.Errorf("unexpected %q after an option; want options last", w)
		case seen[key]:
			return fmt.Errorf("option %q is there twice", key)
		}
		seen[key] = true
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

// parseInstant reads RFC 3339 as it is written there: with T, seconds and an offset.
func parseInstant(text string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, fmt.Errorf("%q is not an instant; want RFC 3339 with seconds and an offset, such as 2026-03-01T08:00:00Z", text)
	}
	if t = t.UTC(); t.IsZero() {
		return time.Time{}, fmt.Errorf("%q is the zero time; want a later one", text)
	}
	return t, nil
}

func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// parseInterval reads a clock value or a Go duration.
func parseInterval(text string) (time.Duration, error) {
	if !strings.Contains(text, ":") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("interval %q is not valid; want a duration such as 10m or 1h30m, or a clock value such as 00:10:00", text)
		}
		return d, positive(text, d)
	}
	d, ok := clockValue(text)
	if !ok {
		return 0, fmt.Errorf("interval %q is not valid; want [d.]hh:mm:ss[.fraction] with hours to 23 and at most 106751 days", text)
	}
	return d, positive(text, d)
}

func positive(text string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("interval %q is not positive; want more than 0", text)
	}
	return nil
}

// clockValue reads [d.]hh:mm:ss[.fraction]. A leading minus is read, so that the caller can say what is wrong with it.
func clockValue(text string) (time.Duration, bool) {
	text, negative := strings.CutPrefix(text, "-")
	days := 0
	colon := strings.IndexByte(text, ':')
	if dot := strings.IndexByte(text, '.'); dot >= 0 && dot < colon {
		var ok bool
		if days, ok = digits(text[:dot], 0, 106751); !ok {
			return 0, false
		}
		text = text[dot+1:]
	}
	text, fraction, hasFraction := strings.Cut(text, ".")
	if len(text) != len("hh:mm:ss") || text[2] != ':' || text[5] != ':' {
		return 0, false
	}
	h, ok1 := digits(text[:2], 2, 23)
	m, ok2 := digits(text[3:5], 2, 59)
	sec, ok3 := digits(text[6:], 2, 59)
	nanos, ok4 := 0, true
	if hasFraction {
		nanos, ok4 = digits((fraction + "000000000")[:max(9, len(fraction))], 9, 999_999_999)
		ok4 = ok4 && fraction != ""
	}
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return 0, false
	}
	seconds := int64(((days*24+h)*60+m)*60 + sec)
	if seconds > (math.MaxInt64-int64(nanos))/int64(time.Second) {
		return 0, false
	}
	d := time.Duration(seconds)*time.Second + time.Duration(nanos)
	if negative {
		d = -d
	}
	return d, true
}

// digits reads a number of n digits, or of any number of them when n is 0.
func digits(text string, n, largest int) (int, bool) {
	if n != 0 && len(text) != n {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	v, err := strconv.Atoi(text)
	return v, err == nil && v <= largest
}

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

// appendInterval writes [d.]hh:mm:ss[.fraction].
func appendInterval(b []byte, d time.Duration) []byte {
	if d < 0 { // not valid; shown as it is
		return append(b, d.String()...)
	}
	const day = 24 * time.Hour
	if d >= day {
		b = append(strconv.AppendInt(b, int64(d/day), 10), '.')
	}
	d %= day
	b = fmt.Appendf(b, "%02d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
	if f := d % time.Second; f != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%09d", f), "0")...)
	}
	return b
}
