package jobhost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseInterval reads a clock value or a Go duration.
func parseInterval(text string) (time.Duration, error) {
	if !strings.Contains(text, ":") {
		d, err := time.ParseDuration(text)
		if days, is := strings.CutSuffix(text, "d"); is && err != nil {
			if n, ok := digits(days, 0, 106751); ok {
				return 0, fmt.Errorf("interval %q is not valid: there is no unit of days; want %dh", text, 24*n)
			}
		}
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
	seconds := int64(days)*86400 + int64((h*60+m)*60+sec)
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
