package calendar

import "time"

// Calendar is a set of excluded instants. Whether one is in it depends on nothing but the instant.
type Calendar interface {
	IsExcluded(at time.Time) bool
}

// Resumer is the ability of a calendar to find an end of what it excludes. The calendars of this package have it; a
// composite has it when all its members do.
type Resumer interface {
	// Resume returns the first instant at or after at that is not excluded, or false when there is none or when it
	// cannot be told cheaply.
	Resume(at time.Time) (time.Time, bool)
}

// Reasoner is the ability of a calendar to say why an instant is excluded. The calendars of this package have it.
type Reasoner interface {
	// Why names the calendar and the member that exclude at, or returns "" when at is not excluded.
	Why(at time.Time) string
}

// Resume returns the first instant at or after at that c does not exclude: at itself, or a whole second. It is false
// when there is none, when it is years away, or when c is no [Resumer]. It takes a few microseconds.
func Resume(c Calendar, at time.Time) (time.Time, bool) {
	if !c.IsExcluded(at) {
		return at, true
	}
	if r, ok := c.(Resumer); ok {
		return r.Resume(at)
	}
	return time.Time{}, false
}

// Why says which calendar excludes an instant: its name, and for a composite the member after a slash, such as
// "office/weekends". A member or calendar without a name says what it is, such as "daily 22:00:00-06:00:00 (UTC)". It
// returns "" when c does not exclude the instant.
func Why(c Calendar, at time.Time) string {
	if !c.IsExcluded(at) {
		return ""
	}
	if r, ok := c.(Reasoner); ok {
		return r.Why(at)
	}
	return "calendar"
}

// named is a calendar of a set.
type named struct {
	Calendar

	name string
}

func (n named) Resume(at time.Time) (time.Time, bool) { return Resume(n.Calendar, at) }

func (n named) Why(at time.Time) string {
	if !n.IsExcluded(at) {
		return ""
	}
	if c, ok := n.Calendar.(composite); ok {
		return n.name + "/" + c.Why(at)
	}
	return n.name
}

// composite excludes what any member excludes.
type composite []Calendar

// Composite returns a calendar that excludes an instant when any member does. Without members it excludes nothing.
func Composite(members ...Calendar) Calendar { return composite(members) }

// IsExcluded asks the members in order.
func (c composite) IsExcluded(at time.Time) bool {
	for _, m := range c {
		if m.IsExcluded(at) {
			return true
		}
	}
	return false
}

// Resume goes from member to member until all of them agree.
func (c composite) Resume(at time.Time) (time.Time, bool) {
	const patience = 1000
	for range patience {
		start := at
		for _, m := range c {
			next, ok := Resume(m, at)
			if !ok {
				return time.Time{}, false
			}
			at = next
		}
		if at.Equal(start) {
			return at, true
		}
	}
	return time.Time{}, false
}

// Why names the first member that excludes at.
func (c composite) Why(at time.Time) string {
	for _, m := range c {
		if why := Why(m, at); why != "" {
			return why
		}
	}
	return ""
}
