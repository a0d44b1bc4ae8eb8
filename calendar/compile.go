package calendar

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// Definition is a calendar as it is written in a configuration. Which members have a meaning depends on the kind; the
// others must be empty.
type Definition struct {
	Name       string   `json:"name,omitempty"` // of a calendar that is no inline member
	Kind       string   `json:"kind"`           // holiday, weekly, daily, cron or composite
	Dates      []string `json:"dates,omitempty"`
	Days       []string `json:"days,omitempty"`       // of weekly: MON-SUN by their three letters; empty: Saturday and Sunday
	From       string   `json:"from,omitempty"`       // of daily: HH:MM or HH:MM:SS
	To         string   `json:"to,omitempty"`         // of daily, not included
	Expression string   `json:"expression,omitempty"` // of cron
	Zone       string   `json:"tz,omitempty"`         // as cron.LoadZone reads it; empty is UTC
	Members    []Member `json:"members,omitempty"`    // of composite
}

// Member is a member of a composite: the name of another calendar, or a calendar that stands there itself.
type Member struct {
	Name   string
	Inline *Definition
}

// MarshalJSON writes a name as a string and an inline calendar as an object.
func (m Member) MarshalJSON() ([]byte, error) {
	if m.Inline != nil {
		return json.Marshal(m.Inline)
	}
	return json.Marshal(m.Name)
}

// UnmarshalJSON reads a string as a name and an object as an inline calendar.
func (m *Member) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*m = Member{Inline: &Definition{}}
		return json.Unmarshal(b, m.Inline)
	}
	*m = Member{}
	return json.Unmarshal(b, &m.Name)
}

// Set holds calendars by their names.
type Set map[string]Calendar

// Compile makes a set of calendars. It reports all problems, joined, each with the calendar's name: invalid parameters,
// a name that is missing or there twice, a member that is not defined, and members that form a cycle.
func Compile(definitions ...Definition) (Set, error) {
	c := compiler{byName: map[string]*Definition{}, done: Set{}}
	for i := range definitions {
		d := &definitions[i]
		switch {
		case !validName(d.Name):
			c.bad(d.Name, fmt.Errorf("name %q is not valid; want 1 to 128 of a-z, 0-9, '.', '_', '-', beginning with a letter or digit", d.Name))
		case c.byName[d.Name] != nil:
			c.bad(d.Name, errors.New("there are two calendars of this name"))
		default:
			c.byName[d.Name] = d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		c.compile(name)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return c.done, nil
}

// compiler goes through the definitions depth first.
type compiler struct {
	byName map[string]*Definition
	done   Set
	path   []string // the calendars that are being compiled, each a member of the one before
	errs   []error
}

func (c *compiler) bad(name string, err error) {
	c.errs = append(c.errs, fmt.Errorf("calendar %q: %w", name, err))
}

// compile makes the calendar of a name. After an error it is one that excludes nothing, so that the others are checked.
func (c *compiler) compile(name string) Calendar {
	if cal, ok := c.done[name]; ok {
		return cal
	}
	if i := slices.Index(c.path, name); i >= 0 {
		c.bad(name, fmt.Errorf("its members form a cycle: %s", strings.Join(append(slices.Clone(c.path[i:]), name), " → ")))
		return Composite()
	}
	c.path = append(c.path, name)
	cal, err := c.define(c.byName[name])
	c.path = c.path[:len(c.path)-1]
	if err != nil {
		c.bad(name, err)
		cal = Composite()
	}
	c.done[name] = named{cal, name}
	return c.done[name]
}

// define makes one calendar, inline or not.
func (c *compiler) define(d *Definition) (Calendar, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	zone, err := cron.LoadZone(d.Zone)
	if err != nil {
		return nil, err
	}
	switch d.Kind {
	case "holiday":
		return Holiday(d.Dates, zone)
	case "weekly":
		days, err := weekdays(d.Days)
		if err != nil {
			return nil, err
		}
		return Weekly(days, zone)
	case "daily":
		return Daily(d.From, d.To, zone)
	case "cron":
		e, err := cron.Parse(d.Expression)
		if err != nil {
			return nil, fmt.Errorf("expression %q: %w", d.Expression, err)
		}
		return Cron(e.In(zone)), nil
	}
	return c.members(d)
}

func (c *compiler) members(d *Definition) (Calendar, error) {
	members := make([]Calendar, len(d.Members))
	var errs []error
	for i, m := range d.Members {
		var err error
		switch {
		case m.Inline == nil && c.byName[m.Name] == nil:
			err = fmt.Errorf("member %q is not defined", m.Name)
		case m.Inline == nil:
			members[i] = c.compile(m.Name)
		case m.Inline.Name != "":
			err = fmt.Errorf("the inline member %d has the name %q; want none, or a calendar of its own", i+1, m.Inline.Name)
		default:
			if members[i], err = c.define(m.Inline); err != nil {
				err = fmt.Errorf("member %d: %w", i+1, err)
			}
		}
		errs = append(errs, err)
	}
	return composite(members), errors.Join(errs...)
}

// kinds lists for each kind the parameters that it has.
var kinds = map[string]string{
	"holiday":   "dates tz",
	"weekly":    "days tz",
	"daily":     "from to tz",
	"cron":      "expression tz",
	"composite": "members",
}

// check reports an unknown kind and parameters that the kind does not have.
func (d *Definition) check() error {
	has, ok := kinds[d.Kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown; want one of %q", d.Kind, slices.Sorted(maps.Keys(kinds)))
	}
	for _, p := range []struct {
		name string
		set  bool
	}{
		{"dates", d.Dates != nil},
		{"days", d.Days != nil},
		{"from", d.From != ""},
		{"to", d.To != ""},
		{"expression", d.Expression != ""},
		{"members", d.Members != nil},
		{"tz", d.Zone != ""},
	} {
		if p.set && !slices.Contains(strings.Fields(has), p.name) {
			return fmt.Errorf("%s is not for the kind %s, which has %s", p.name, d.Kind, strings.ReplaceAll(has, " ", ", "))
		}
	}
	return nil
}

// weekdays reads three-letter names in any case.
func weekdays(names []string) ([]time.Weekday, error) {
	const all = "SUNMONTUEWEDTHUFRISAT"
	days := make([]time.Weekday, len(names))
	for i, name := range names {
		at := strings.Index(all, strings.ToUpper(name))
		if len(name) != 3 || at < 0 || at%3 != 0 {
			return nil, fmt.Errorf("day %q is not valid; want MON, TUE, WED, THU, FRI, SAT or SUN", name)
		}
		days[i] = time.Weekday(at / 3)
	}
	return days, nil
}

// validName checks the grammar of names, SPEC 2.
func validName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}
