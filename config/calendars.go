package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// calendarDraft is a calendar while it is read.
type calendarDraft struct {
	calendar.Definition

	at     value
	given  map[string]value
	inline []calendarDraft // members that stand in place
	names  []wanted        // members by name
}

func calendarKeys() table[calendarDraft] {
	return append(table[calendarDraft]{
		{name: "name", kind: aName, required: true, help: "unique over all files", read: func(c *calendarDraft, v value) { c.Name, _ = v.name() }},
	}, inlineKeys()...)
}

// inlineKeys are the keys of a member that stands in place.
func inlineKeys() table[calendarDraft] {
	return table[calendarDraft]{
		{
			name: "kind", kind: aChoice, required: true, limits: "holiday, weekly, daily, cron or composite", help: "what it excludes, and which of the keys below it has",
			read: func(c *calendarDraft, v value) { c.Kind, _ = v.text() },
		},
		{name: "dates", kind: aList, limits: "of dates", help: "of `holiday`: the days that are excluded", read: readDates},
		{name: "days", kind: aList, def: "[SAT, SUN]", limits: "of MON, TUE, WED, THU, FRI, SAT, SUN", help: "of `weekly`: the days that are excluded", read: func(c *calendarDraft, v value) { c.Days = append([]string{}, v.texts()...) }},
		{name: "from", kind: aClock, help: "of `daily`: begin of what is excluded", read: func(c *calendarDraft, v value) { c.From, _ = v.filled() }},
		{name: "to", kind: aClock, help: "of `daily`: end of what is excluded, not included; before `from`: on the next day", read: func(c *calendarDraft, v value) { c.To, _ = v.filled() }},
		{name: "expression", kind: anExpression, help: "of `cron`: each second that matches is excluded", read: func(c *calendarDraft, v value) { c.Expression, _ = v.filled() }},
		{name: "tz", kind: aZone, def: "UTC", help: "its own zone; not that of the schedules that name it; not of `composite`", read: func(c *calendarDraft, v value) { c.Zone, _ = v.filled() }},
		{name: "members", kind: aList, limits: "of names and of calendars without a name", help: "of `composite`: what any of them excludes is excluded", read: readMembers},
	}
}

// readCalendars reads the calendars of all files.
func (d *draft) readCalendars(r *reader) {
	before := len(r.problems)
	d.calendars = map[jobhost.Name]Position{}
	var drafts []calendarDraft
	for _, list := range d.lists.calendars {
		for _, v := range list.items() {
			c := readCalendar(v, calendarKeys())
			if first, twice := d.calendars[c.Name]; twice {
				v.bad("a calendar of this name is defined already, at %v; want each name once", first)
				continue
			}
			if c.Name != "" {
				d.calendars[c.Name] = v.pos
			}
			drafts = append(drafts, c)
		}
	}
	var definitions []calendar.Definition
	for _, c := range drafts {
		d.checkMembers(c)
		definitions = append(definitions, c.Definition)
	}
	if len(r.problems) > before || len(drafts) == 0 {
		return
	}
	var err error
	if d.Calendars, err = calendar.Compile(definitions...); err == nil {
		return
	}
	for _, c := range drafts {
		c.blame(c.Name, err)
	}
}

// readCalendar reads a calendar and checks its own parameters.
func readCalendar(v value, keys table[calendarDraft]) calendarDraft {
	c := calendarDraft{at: v}
	c.given = keys.read(&c, v)
	if c.Kind == "" {
		return c // which is reported, and nothing else can be told without it
	}
	for _, part := range c.parts() {
		part.Name = "part"
		if _, err := calendar.Compile(part); err != nil {
			c.blame(part.Name, err)
		}
	}
	return c
}

// parts are definitions that together have every parameter: package calendar stops at the first that the kind does not
// have. Members are left out; they are read for themselves.
func (c calendarDraft) parts() []calendar.Definition {
	whole := c.Definition
	whole.Zone = ""
	zone := calendar.Definition{Kind: "weekly", Zone: c.Zone}
	if c.Kind == "composite" {
		zone.Kind = c.Kind
	}
	parts := []calendar.Definition{zone}
	if whole.Members != nil {
		whole.Members = []calendar.Member{}
		parts = append(parts, calendar.Definition{Kind: c.Kind, Members: whole.Members})
	}
	parts = append(parts, whole)
	for _, day := range c.Days {
		parts = append(parts, calendar.Definition{Kind: c.Kind, Days: []string{day}})
	}
	if c.Kind != "daily" && c.From != "" {
		parts = append(parts, calendar.Definition{Kind: c.Kind, From: c.From})
	}
	if c.Kind != "daily" && c.To != "" {
		parts = append(parts, calendar.Definition{Kind: c.Kind, To: c.To})
	}
	return parts
}

// blame reports what package calendar says of a calendar of this name, each line at the key that it begins with.
func (c calendarDraft) blame(name jobhost.Name, err error) {
	for _, e := range unjoin(err) {
		text, ours := strings.CutPrefix(e.Error(), fmt.Sprintf("calendar %q: ", name))
		if !ours {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			c.place(line).badOnce(line)
		}
	}
}

// place is the value that a message of package calendar is about.
func (c calendarDraft) place(line string) value {
	word, _, _ := strings.Cut(line, " ")
	key, ok := map[string]string{"date": "dates", "day": "days", "zone": "tz", "its": "members"}[word]
	if !ok {
		key = word
	}
	at, ok := c.given[key]
	if !ok {
		return c.at.child(keyText(key), c.at.node)
	}
	if at.node.Kind == yaml.SequenceNode {
		for _, item := range at.items() {
			if strings.Contains(line, quote(item.node.Value)) {
				return item
			}
		}
	}
	return at
}

// unjoin takes apart what errors.Join has joined.
func unjoin(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// readDates reads dates, which YAML knows as such and so need no quotes.
func readDates(c *calendarDraft, v value) {
	c.Dates = []string{}
	for _, item := range v.items() {
		item.want = aDate.want
		text, loose, ok := item.scalar()
		switch {
		case !ok:
		case !loose && item.tag() != timeTag && item.tag() != strTag:
			item.wrong("is %s", item.show())
		default:
			c.Dates = append(c.Dates, text)
		}
	}
}

func readMembers(c *calendarDraft, v value) {
	c.Members = []calendar.Member{}
	for _, item := range v.items() {
		if item.node.Kind == yaml.MappingNode {
			member := readCalendar(item, inlineKeys())
			c.inline = append(c.inline, member)
			c.Members = append(c.Members, calendar.Member{Inline: &member.Definition})
			continue
		}
		item.want = "the name of a calendar, or a calendar without a name"
		if name, ok := item.name(); ok {
			c.names = append(c.names, wanted{name, item})
			c.Members = append(c.Members, calendar.Member{Name: name})
		}
	}
}

// checkMembers reports members that are not defined.
func (d *draft) checkMembers(c calendarDraft) {
	for _, name := range c.names {
		d.checkCalendar(name)
	}
	for _, member := range c.inline {
		d.checkMembers(member)
	}
}

// checkCalendar reports a name that no calendar has.
func (d *draft) checkCalendar(c wanted) {
	if d.calendars == nil {
		return // another host has them
	}
	if _, ok := d.calendars[c.name]; !ok && !c.at.broken {
		c.at.bad("the calendar %q is not defined; define it in the section calendars%s", c.name, didYouMean(c.name, keysOf(d.calendars)))
	}
}
