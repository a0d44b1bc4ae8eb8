package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// writeJSON writes v for programs, indented for those who look.
func (c *cli) writeJSON(v any) error {
	enc := c.encoder()
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// encoder writes JSON, a value a line.
func (c *cli) encoder() *json.Encoder {
	enc := json.NewEncoder(harmless{c.out})
	enc.SetEscapeHTML(false)
	return enc
}

// writeList writes items as a JSON array, also when there are none, or as a table with a head.
func writeList[T any](c *cli, form string, items []T, head string, row func(T) []string) error {
	if form == asJSON {
		if items == nil {
			items = []T{}
		}
		return c.writeJSON(items)
	}
	t := c.newTable()
	t.row(strings.Fields(head)...)
	for _, item := range items {
		t.row(row(item)...)
	}
	return t.flush()
}

// clock writes an instant in the local zone with its offset.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 -07:00")
}

// length is how long a run took, or has taken so far.
func length(r jobhost.Run, now time.Time) string {
	if r.StartedAt.IsZero() {
		return ""
	}
	end := r.EndedAt
	if end.IsZero() {
		end = now
	}
	d := end.Sub(r.StartedAt)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// scheduleText is a schedule as people write it: an interval as 30s or 1h30m instead of a clock value.
func scheduleText(text string) string {
	s, err := jobhost.ParseSchedule(text)
	if err != nil || s.Kind != jobhost.Every {
		return text
	}
	_, rest, _ := strings.Cut(s.String(), " ")
	_, options, more := strings.Cut(rest, " ")
	out := "every " + durationText(s.Interval)
	if more {
		out += " " + options
	}
	return out
}

// durationText is a duration without units that are zero at its end.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
