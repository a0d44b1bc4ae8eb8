package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Chinese puts an outline into Chinese, such as "周一至周五 09:00".
func Chinese(o Outline) string {
	var parts []string
	if len(o.Year) > 0 {
		parts = append(parts, chineseList(o.Year, "%d 年"))
	}
	times, atClock := chineseTime(o)
	if days := chineseDays(o, atClock); days != "" {
		parts = append(parts, days)
	}
	s := strings.Join(append(parts, times), " ")
	if o.Zone != "" {
		s += "（" + o.Zone + "）"
	}
	return s
}

// chineseTime says the times of the day, and whether they are clock readings.
func chineseTime(o Outline) (text string, atClock bool) {
	if clocks := o.clocks(); clocks != nil {
		return join(clocks, "、", "、"), true
	}
	hours := chineseHours(o.Hour)
	if s, ok := single(o.Second); ok && s == 0 {
		if len(o.Minute) == 0 {
			return hours + "每分钟", false
		}
		if from, step, ok := stepped(o.Minute, 59); ok && from == 0 {
			return hours + chineseEvery(step, "分钟", "第 0 分", 60), false
		}
		return chineseEachHour(o.Hour) + chineseMinutes(o.Minute), false
	}
	seconds := "每秒"
	if from, step, ok := stepped(o.Second, 59); ok && from == 0 {
		seconds = chineseEvery(step, "秒", "第 0 秒", 60)
	} else if len(o.Second) > 0 {
		seconds = "第 " + chineseList(o.Second, "%d") + " 秒"
		if len(o.Minute) == 0 {
			seconds = "每分钟" + seconds
		}
	}
	if len(o.Minute) == 0 {
		return hours + seconds, false
	}
	return chineseEachHour(o.Hour) + chineseMinutes(o.Minute) + "内" + seconds, false
}

// chineseEvery says a step from 0, and that it begins anew when it does not divide the whole.
func chineseEvery(step int, unit, origin string, whole int) string {
	s := fmt.Sprintf("每 %d %s", step, unit)
	if whole%step != 0 {
		s = "从" + origin + "起" + s
	}
	return s
}

func chineseMinutes(minutes []Range) string { return "第 " + chineseList(minutes, "%d") + " 分" }

// chineseHours comes before words that cover whole hours.
func chineseHours(hours []Range) string {
	if len(hours) == 0 {
		return ""
	}
	if r := hours[0]; len(hours) == 1 && r.Step == 1 {
		return fmt.Sprintf("%02d:00 至 %02d:59 ", r.From, r.To)
	}
	units := chineseHourUnits(hours)
	if strings.HasSuffix(units, "的") {
		units += "那一小时"
	}
	return units + "内"
}

// chineseEachHour comes before minutes of an hour.
func chineseEachHour(hours []Range) string {
	if len(hours) == 0 {
		return "每小时"
	}
	return chineseHourUnits(hours)
}

func chineseHourUnits(hours []Range) string {
	hours = spelled(hours)
	if from, step, ok := stepped(hours, 23); ok {
		return fmt.Sprintf("从 %d 时起每 %d 小时的", from, step)
	}
	if r := hours[0]; r.Step > 1 {
		return fmt.Sprintf("%d 至 %d 时每 %d 小时的", r.From, r.To, r.Step)
	}
	return chineseList(hours, "%d") + " 时"
}

// chineseDays says days and months.
func chineseDays(o Outline, atClock bool) string {
	months := "每月"
	if len(o.Month) > 0 {
		months = chineseList(o.Month, "%d") + " 月"
	}
	switch {
	case o.AnyDay && o.AnyWeekday && len(o.Month) > 0:
		return months + "每天"
	case o.AnyDay && o.AnyWeekday && atClock:
		return "每天"
	case o.AnyDay && o.AnyWeekday:
		return ""
	case o.AnyWeekday:
		return months + chineseMonthDays(o)
	case o.AnyDay:
		return chineseWeekdays(o, months)
	}
	return months + chineseMonthDays(o) + "或" + chineseWeekdays(o, months) + "（满足其一即可）"
}

// chineseMonthDays says the day field.
func chineseMonthDays(o Outline) string {
	var parts []string
	if from, step, ok := stepped(o.Day, 31); ok {
		parts = append(parts, fmt.Sprintf("从 %d 日起每 %d 天", from, step))
	} else if len(o.Day) > 0 {
		parts = append(parts, " "+chineseList(o.Day, "%d")+" 日")
	}
	for _, r := range o.DayRule {
		parts = append(parts, chineseRule(r))
	}
	return strings.TrimSuffix(strings.Join(parts, "、"), " ")
}

// chineseWeekdays says the weekday field.
func chineseWeekdays(o Outline, months string) string {
	var parts []string
	if len(o.Weekday) > 0 {
		for _, r := range spelled(o.Weekday) {
			part := chineseWeekday(time.Weekday(r.From % 7))
			if r.To > r.From {
				part += "至" + chineseWeekday(time.Weekday(r.To%7))
			}
			parts = append(parts, part)
		}
	}
	for _, r := range o.WeekdayRule {
		rule := chineseRule(r)
		if len(o.Month) == 0 {
			rule = months + rule
		}
		parts = append(parts, rule)
	}
	s := strings.Join(parts, "、")
	if len(o.Month) > 0 {
		return months + "的" + s
	}
	return s
}

func chineseRule(r DayRule) string {
	switch r.Kind {
	case FromLast:
		if r.N == 0 {
			return "最后一天"
		}
		return fmt.Sprintf("倒数第 %d 天", r.N+1)
	case NearestWorkday:
		return fmt.Sprintf("离 %d 日最近的工作日（周一至周五）", r.N)
	case LastWorkday:
		return "最后一个工作日（周一至周五）"
	case Nth:
		return fmt.Sprintf("第 %d 个%s", r.N, chineseWeekday(r.Weekday))
	case LastWeekday:
		return "最后一个" + chineseWeekday(r.Weekday)
	}
	return ""
}

func chineseWeekday(w time.Weekday) string {
	return "周" + string([]rune("日一二三四五六")[w])
}

// chineseList says ranges; the format is for one value.
func chineseList(ranges []Range, format string) string {
	name := func(v int) string { return strings.ReplaceAll(format, "%d", strconv.Itoa(v)) }
	ranges = spelled(ranges)
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		switch {
		case r.From == r.To:
			parts[i] = name(r.From)
		case r.Step == 1:
			parts[i] = name(r.From) + " 至 " + name(r.To)
		default:
			parts[i] = fmt.Sprintf("%s 至 %s 每 %d 取一", name(r.From), name(r.To), r.Step)
		}
	}
	return strings.Join(parts, "、")
}
