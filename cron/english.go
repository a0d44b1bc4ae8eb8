package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// English puts an outline into an English sentence without a full stop, such as "At 09:00, Monday to Friday".
func English(o Outline) string {
	time, atClock := englishTime(o)
	s := strings.ToUpper(time[:1]) + time[1:] + englishDays(o, atClock)
	if len(o.Year) > 0 {
		s += " in " + englishList(o.Year, strconv.Itoa)
	}
	if o.Zone != "" {
		s += " (" + o.Zone + ")"
	}
	return s
}

// englishTime says the times of the day, and whether they are clock readings, which the days must follow.
func englishTime(o Outline) (text string, atClock bool) {
	if clocks := o.clocks(); clocks != nil {
		return "at " + join(clocks, ", ", " and "), true
	}
	hour := englishHours(o.Hour)
	if s, ok := single(o.Second); ok && s == 0 {
		if len(o.Minute) == 0 {
			return "every minute" + hour, false
		}
		if from, step, ok := stepped(o.Minute, 59); ok && from == 0 {
			return englishEvery(step, "minute", 60) + hour, false
		}
		return "at " + englishUnits("minute", o.Minute) + englishOfHours(o.Hour), false
	}
	seconds := "every second"
	if from, step, ok := stepped(o.Second, 59); ok && from == 0 {
		seconds = englishEvery(step, "second", 60)
	} else if len(o.Second) > 0 {
		seconds = "at " + englishUnits("second", o.Second)
		if len(o.Minute) == 0 {
			seconds += " of every minute"
		}
	}
	if len(o.Minute) == 0 {
		return seconds + hour, false
	}
	return seconds + " of " + englishUnits("minute", o.Minute) + englishOfHours(o.Hour), false
}

// englishEvery says a step from 0, and that it begins anew when it does not divide the whole.
func englishEvery(step int, unit string, whole int) string {
	s := fmt.Sprintf("every %d %ss", step, unit)
	if whole%step != 0 {
		s += fmt.Sprintf(" from %s 0", unit)
	}
	return s
}

// englishHours follows words that already cover whole hours.
func englishHours(hours []Range) string {
	if len(hours) == 0 {
		return ""
	}
	if r := hours[0]; len(hours) == 1 && r.Step == 1 {
		return fmt.Sprintf(" from %02d:00 to %02d:59", r.From, r.To)
	}
	return " in " + englishHourUnits(hours)
}

// englishOfHours follows minutes of an hour.
func englishOfHours(hours []Range) string {
	if len(hours) == 0 {
		return " of every hour"
	}
	return " of " + englishHourUnits(hours)
}

func englishHourUnits(hours []Range) string {
	hours = spelled(hours)
	r := hours[0]
	if r.Step == 1 {
		return englishUnits("hour", hours)
	}
	s := "every " + ordinal(r.Step) + " hour"
	if _, _, toTheEnd := stepped(hours, 23); !toTheEnd {
		return fmt.Sprintf("%s from hour %d to %d", s, r.From, r.To)
	}
	if r.From != 0 || 24%r.Step != 0 {
		s += fmt.Sprintf(" from hour %d", r.From)
	}
	return s
}

// englishUnits says values with their unit, such as "minutes 0, 15 and 30".
func englishUnits(unit string, ranges []Range) string {
	if _, ok := single(ranges); !ok {
		unit += "s"
	}
	return unit + " " + englishList(ranges, strconv.Itoa)
}

// englishDays says days and months.
func englishDays(o Outline, atClock bool) string {
	months := englishMonths(o.Month)
	switch {
	case o.AnyDay && o.AnyWeekday && len(o.Month) > 0:
		return " on every day of " + months
	case o.AnyDay && o.AnyWeekday && atClock:
		return " every day"
	case o.AnyDay && o.AnyWeekday:
		return ""
	case o.AnyWeekday:
		return englishMonthDays(o, months)
	case o.AnyDay:
		return englishWeekdays(o, months)
	}
	return englishMonthDays(o, months) + ", or" + strings.TrimPrefix(englishWeekdays(o, months), ",") + " (either is enough)"
}

func englishMonths(months []Range) string {
	if len(months) == 0 {
		return "the month"
	}
	return englishList(months, func(m int) string { return time.Month(m).String() })
}

// englishMonthDays says the day field.
func englishMonthDays(o Outline, months string) string {
	var parts []string
	_, oneMonth := single(o.Month)
	if day, ok := single(o.Day); ok && oneMonth && len(o.DayRule) == 0 {
		return fmt.Sprintf(" on %d %s", day, months)
	}
	if from, step, ok := stepped(o.Day, 31); ok {
		parts = append(parts, fmt.Sprintf("every %s day from day %d", ordinal(step), from))
	} else if len(o.Day) > 0 {
		parts = append(parts, englishUnits("day", o.Day))
	}
	for _, r := range o.DayRule {
		parts = append(parts, englishRule(r))
	}
	return " on " + join(parts, ", ", " and ") + " of " + months
}

// englishWeekdays says the weekday field.
func englishWeekdays(o Outline, months string) string {
	s := ""
	if len(o.Weekday) > 0 {
		name := func(d int) string { return time.Weekday(d % 7).String() }
		if r := o.Weekday[0]; len(o.Weekday) == 1 && r.Step == 1 && r.From != r.To {
			s = ", " + name(r.From) + " to " + name(r.To)
		} else {
			s = " on " + englishList(o.Weekday, name)
		}
		if len(o.WeekdayRule) == 0 {
			if len(o.Month) > 0 {
				s += " in " + months
			}
			return s
		}
		s += " and"
	}
	var parts []string
	for _, r := range o.WeekdayRule {
		parts = append(parts, englishRule(r))
	}
	return s + " on " + join(parts, ", ", " and ") + " of " + months
}

func englishRule(r DayRule) string {
	switch r.Kind {
	case FromLast:
		switch r.N {
		case 0:
			return "the last day"
		case 1:
			return "the day before the last day"
		}
		return fmt.Sprintf("the %s day before the last day", ordinal(r.N))
	case NearestWorkday:
		return fmt.Sprintf("the weekday (Monday to Friday) nearest to day %d", r.N)
	case LastWorkday:
		return "the last weekday (Monday to Friday)"
	case Nth:
		return "the " + ordinal(r.N) + " " + r.Weekday.String()
	case LastWeekday:
		return "the last " + r.Weekday.String()
	}
	return ""
}

// englishList says ranges, such as "1, 5 to 7 and 12" or "every 2nd from 1 to 19".
func englishList(ranges []Range, name func(int) string) string {
	ranges = spelled(ranges)
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		switch {
		case r.From == r.To:
			parts[i] = name(r.From)
		case r.Step == 1:
			parts[i] = name(r.From) + " to " + name(r.To)
		default:
			parts[i] = "every " + ordinal(r.Step) + " from " + name(r.From) + " to " + name(r.To)
		}
	}
	return join(parts, ", ", " and ")
}

// ordinal writes 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
