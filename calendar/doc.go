// Package calendar says which instants are excluded from a schedule: holidays, weekends, nights. It imports the standard
// library and package cron.
//
//	holidays, err := calendar.Holiday([]string{"2026-10-01", "2026-10-02"}, shanghai)
//	nights, err := calendar.Daily("22:00", "06:00", shanghai)
//	both := calendar.Composite(holidays, nights)
//	both.IsExcluded(at)
//
// The things to know:
//
//   - [Calendar] is the interface, with one method. [Holiday], [Weekly], [Daily], [Cron] and [Composite] make the five
//     kinds; a program may have its own.
//   - [Resume] names the first instant that is not excluded, [Why] the calendar or member that excludes one.
//   - [Compile] makes calendars of [Definition] values, which is what a configuration file holds: it finds members by
//     name and refuses cycles.
//
// What bites:
//
//   - A calendar has its own zone, UTC when none is given, and not the zone of the schedule that uses it. Weekends in
//     UTC begin at 08:00 on Saturday in Shanghai.
//   - Intervals are half open: a daily calendar from 01:00 to 05:00 excludes 01:00 and not 05:00.
//   - A cron calendar excludes the seconds that match: "* * 0-7 * * *" the night, "* 0-7 * * *" only the first second of
//     each minute of it.
//   - The fraction of a second is dropped first, so a second is excluded as a whole.
//
// A question to a calendar takes some 100 ns for each of its members and does not allocate. All calendars are immutable
// and safe for use by many goroutines.
package calendar
