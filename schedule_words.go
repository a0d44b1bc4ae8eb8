package jobhost

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// Language holds the words that a schedule is described with. [English] and [Chinese] are languages; a further one is
// another value of this type.
type Language struct {
	Manual string
	Every  func(interval time.Duration, times int) string // times 0: no limit
	Cron   cron.Language
	Once   func(at string) string

	// What follows the above when the schedule has it. Instants are RFC 3339 in UTC.
	Start, End, Calendar func(value string) string
}

// Describe says in English what the schedule means, such as "At 09:00, Monday to Friday (Asia/Shanghai)".
func (s Schedule) Describe() string { return s.DescribeIn(English()) }

// DescribeIn says in a language what the schedule means. For a schedule that is not valid it returns the text.
func (s Schedule) DescribeIn(l Language) string {
	var b strings.Builder
	switch s.Kind {
	case Manual:
		b.WriteString(l.Manual)
	case Every:
		b.WriteString(l.Every(s.Interval, s.Times))
	case Cron:
		c, err := s.Cron()
		if err != nil {
			return s.String()
		}
		b.WriteString(l.Cron(c.Outline()))
	case Once:
		b.WriteString(l.Once(instantText(s.At)))
	}
	if !s.Start.IsZero() {
		b.WriteString(l.Start(instantText(s.Start)))
	}
	if !s.End.IsZero() {
		b.WriteString(l.End(instantText(s.End)))
	}
	if s.Calendar != "" {
		b.WriteString(l.Calendar(s.Calendar))
	}
	return b.String()
}

// English returns the English words.
func English() Language {
	plural := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	return Language{
		Manual: "Only on request",
		Every: func(interval time.Duration, times int) string {
			text := durationWords(interval, " ", plural) + " after the end of the run before"
			if times > 0 {
				text += ", " + plural(int64(times), "run") + " in all"
			}
			return text
		},
		Cron:     cron.English,
		Once:     func(at string) string { return "Once, at " + at },
		Start:    func(start string) string { return ", not before " + start },
		End:      func(end string) string { return ", not after " + end },
		Calendar: func(name string) string { return ", except when the calendar " + name + " excludes it" },
	}
}

// Chinese returns the Chinese words.
func Chinese() Language {
	units := map[string]string{"day": "天", "hour": "小时", "minute": "分钟", "second": "秒", "millisecond": "毫秒", "microsecond": "微秒", "nanosecond": "纳秒"}
	return Language{
		Manual: "仅按请求运行",
		Every: func(interval time.Duration, times int) string {
			text := "上次运行结束 " + durationWords(interval, " ", func(n int64, unit string) string { return fmt.Sprintf("%d %s", n, units[unit]) }) + "后"
			if times > 0 {
				text += fmt.Sprintf("，共 %d 次", times)
			}
			return text
		},
		Cron:     cron.Chinese,
		Once:     func(at string) string { return "仅一次，于 " + at },
		Start:    func(start string) string { return "，不早于 " + start },
		End:      func(end string) string { return "，不晚于 " + end },
		Calendar: func(name string) string { return "，日历 " + name + " 排除的时刻除外" },
	}
}

// durationWords says a duration in its units, largest first, without those that are 0.
func durationWords(d time.Duration, separator string, unit func(n int64, name string) string) string {
	var parts []string
	for _, u := range []struct {
		size time.Duration
		name string
	}{
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
		{time.Second, "second"},
		{time.Millisecond, "millisecond"},
		{time.Microsecond, "microsecond"},
		{time.Nanosecond, "nanosecond"},
	} {
		if n := d / u.size; n > 0 {
			parts = append(parts, unit(int64(n), u.name))
			d %= u.size
		}
	}
	return strings.Join(parts, separator)
}

// Warnings says what about the schedule its author may not have meant, as it would run from now on: that it never fires,
// that a clock change in the year to come removes a run, and what else [cron.Schedule.Warnings] finds. Warnings about
// what lies outside the window are left out. It does not know calendars.
func (s Schedule) Warnings(now time.Time) []cron.Warning {
	switch s.Kind {
	case Manual:
		return nil
	case Every:
		return s.neverAfterEnd(later(now, s.Start).Add(s.Interval), nil)
	case Once:
		if s.At.Before(s.Start) {
			return []cron.Warning{{Kind: cron.NeverFires, At: s.At, Text: "never fires: the instant is before the start"}}
		}
		return s.neverAfterEnd(s.At, nil)
	case Cron:
	}
	c, err := s.Cron()
	if err != nil {
		return nil
	}
	from := now
	if !s.Start.IsZero() {
		from = later(now, s.Start.Add(-1)) // a match exactly at start counts
	}
	warnings := c.Warnings(from)
	first := c.Next(from)
	if first.IsZero() || s.End.IsZero() {
		return warnings
	}
	kept := warnings[:0]
	for _, w := range warnings {
		if !w.At.After(s.End) {
			kept = append(kept, w)
		}
	}
	return s.neverAfterEnd(first, kept)
}

// neverAfterEnd puts a warning in front when the first firing is after the end.
func (s Schedule) neverAfterEnd(first time.Time, others []cron.Warning) []cron.Warning {
	if s.End.IsZero() || !first.After(s.End) {
		return others
	}
	text := fmt.Sprintf("never fires: the first time, %s, is after the end", instantText(first))
	return append([]cron.Warning{{Kind: cron.NeverFires, At: first.UTC(), Text: text}}, others...)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
