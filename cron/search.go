package cron

import "math/bits"

// A wall time is a reading of a clock, counted in seconds as if the clock had shown 1970-01-01T00:00:00 at 0 and never
// been set since. A day is counted in the same way. Both are zone-free: zones come in with Schedule.

const daySeconds = 24 * 60 * 60

// The sets and wall times are searched in jumps: from a date to the next month that is in the set, from a month to the
// day in a mask of matching days, from a time of day to the next second, minute or hour in the set.

// next returns the first wall time at or after from that matches and is not in a year above last.
func (e *Expression) next(from int64, last int) (int64, bool) {
	day := floorDiv(from, daySeconds)
	y, m, d := civil(day)
	if e.hasYear(y) && e.set[Month]>>m&1 != 0 && e.days(y, m, day-int64(d-1))>>d&1 != 0 {
		if t, ok := e.timeFrom(int(from - day*daySeconds)); ok {
			return day*daySeconds + int64(t), y <= last
		}
	}
	t, ok := e.timeFrom(0)
	if !ok {
		return 0, false
	}
	after := uint32(2)<<d - 1 // this day and those before it are done
	for {
		ny, ok := e.yearFrom(y)
		if !ok || ny > last {
			return 0, false
		}
		if ny > y {
			y, m, after = ny, 1, 0
		}
		rest := e.set[Month] >> m
		if rest == 0 {
			y, m, after = y+1, 1, 0
			continue
		}
		if skip := bits.TrailingZeros64(rest); skip > 0 {
			m, after = m+skip, 0
		}
		first := dayOf(y, m, 1)
		if days := e.days(y, m, first) &^ after; days != 0 {
			return (first+int64(bits.TrailingZeros32(days))-1)*daySeconds + int64(t), true
		}
		m, after = m+1, 0
	}
}

// timeFrom returns the first matching second of the day at or after s.
func (e *Expression) timeFrom(s int) (int, bool) {
	hour, minute, second := s/3600, s/60%60, s%60
	if e.set[Hour]>>hour&1 != 0 {
		if e.set[Minute]>>minute&1 != 0 {
			if rest := e.set[Second] >> second; rest != 0 {
				return s + bits.TrailingZeros64(rest), true
			}
		}
		if rest := e.set[Minute] >> (minute + 1); rest != 0 {
			return (hour*60+minute+1+bits.TrailingZeros64(rest))*60 + bits.TrailingZeros64(e.set[Second]), true
		}
	}
	if rest := e.set[Hour] >> (hour + 1); rest != 0 {
		return ((hour+1+bits.TrailingZeros64(rest))*60+bits.TrailingZeros64(e.set[Minute]))*60 + bits.TrailingZeros64(e.set[Second]), true
	}
	return 0, false
}

// days returns the matching days of a month, bit 1 for the first. The month begins on the given day.
func (e *Expression) days(y, m int, first int64) uint32 {
	n := monthDays(y, m)
	all := uint32(2)<<n - 2
	if e.anyDay && e.anyWeekday {
		return all
	}
	var days uint32
	if !e.anyDay {
		days = uint32(e.set[Day]) | e.specialDays(first, n) //nolint:gosec // bits 1 to 31
	}
	if !e.anyWeekday {
		days |= e.weekdays(first, n)
	}
	return days & all
}

// specialDays returns the days that L, L-n, nW and LW mean in a month of n days.
func (e *Expression) specialDays(first int64, n int) uint32 {
	var days uint32
	if e.fromLast != 0 {
		days = bits.Reverse32(e.fromLast) >> (31 - n) // bit k becomes bit n-k
	}
	if e.lastWork {
		days |= 1 << nearestWork(first, n, n)
	}
	for rest := e.nearest; rest != 0; rest &= rest - 1 {
		if d := bits.TrailingZeros32(rest); d <= n {
			days |= 1 << nearestWork(first, d, n)
		}
	}
	return days
}

// nearestWork returns the day from Monday to Friday that is nearest to day d in a month of n days.
func nearestWork(first int64, d, n int) int {
	switch weekdayOf(first + int64(d) - 1) {
	case 6: // Saturday
		if d == 1 {
			return 3
		}
		return d - 1
	case 0: // Sunday
		if d == n {
			return d - 2
		}
		return d + 1
	}
	return d
}

// weekdays returns the days of a month of n days that match the weekday field.
func (e *Expression) weekdays(first int64, n int) uint32 {
	w := weekdayOf(first)
	const weeks = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28
	days := turn(uint8(e.set[Weekday]), w) * weeks << 1 //nolint:gosec // bits 0 to 6
	for k, set := range e.nth {
		if set != 0 {
			days |= turn(set, w) << (7*k + 1)
		}
	}
	if e.last != 0 {
		days |= turn(e.last, weekdayOf(first+int64(n)-7)) << (n - 6)
	}
	return uint32(days) //nolint:gosec // the caller cuts what lies behind the month
}

// turn returns a set of weekdays as a set of days from a day that is weekday w.
func turn(set uint8, w int) uint64 {
	return uint64(set)>>w | uint64(set)<<(7-w)&(1<<7-1)
}

// civil returns the date of a day. It counts in years that begin in March, so that the leap day comes last.
func civil(day int64) (y, m, d int) {
	day += 719468 // from 0000-03-01
	era := floorDiv(day, 146097)
	doe := uint32(day - era*146097) //nolint:gosec // 0 to 146096
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy-(153*mp+2)/5) + 1
	m = int(mp) + 3
	y = int(yoe) + int(era)*400
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

// dayOf returns the day of a date.
func dayOf(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(int64(y), 400)
	yoe := int64(y) - era*400
	doy := int64((153*(m-3)+2)/5 + d - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func weekdayOf(day int64) int { return int(day + 4 - floorDiv(day+4, 7)*7) }

func monthDays(y, m int) int {
	if m == 2 {
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (m+m>>3)&1
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// lastIn returns the last wall time of a year that matches.
func (e *Expression) lastIn(y int) (int64, bool) {
	if !e.hasYear(y) {
		return 0, false
	}
	for m := 12; m >= 1; m-- {
		if e.set[Month]>>m&1 == 0 {
			continue
		}
		first := dayOf(y, m, 1)
		if days := e.days(y, m, first); days != 0 {
			day := first + int64(bits.Len32(days)) - 2
			h, minute, s := bits.Len64(e.set[Hour])-1, bits.Len64(e.set[Minute])-1, bits.Len64(e.set[Second])-1
			return day*daySeconds + int64((h*60+minute)*60+s), true
		}
	}
	return 0, false
}

// within returns the first wall time from from to before to that matches, and how many do.
func (e *Expression) within(from, to int64) (first int64, n int) {
	last, _, _ := civil(floorDiv(to, daySeconds))
	for wall, ok := e.next(from, last); ok && wall < to; wall, ok = e.next(wall+1, last) {
		if n == 0 {
			first = wall
		}
		n++
	}
	return first, n
}

// free returns the first wall time from wall to last that does not match.
func (e *Expression) free(wall, last int64) (int64, bool) {
	all := between(0, 59)
	for wall <= last {
		if !e.matches(wall) {
			return wall, true
		}
		day := floorDiv(wall, daySeconds)
		s := int(wall - day*daySeconds)
		switch {
		case e.set[Second] != all:
			wall += int64(min(bits.TrailingZeros64(^e.set[Second]>>(s%60)), 60-s%60))
		case e.set[Minute] != all:
			m := s / 60 % 60
			wall += int64(min(bits.TrailingZeros64(^e.set[Minute]>>m), 60-m)*60 - s%60)
		case e.set[Hour] != between(0, 23):
			h := s / 3600
			wall += int64(min(bits.TrailingZeros64(^e.set[Hour]>>h), 24-h)*3600 - s%3600)
		default:
			wall = (day + 1) * daySeconds
		}
	}
	return 0, false
}
