// Package cron reads cron expressions and names the next instant at which one matches in a time zone. It does not run
// anything. It imports only the standard library.
//
//	expr, err := cron.Parse("30 9 * * MON-FRI")
//	zone, err := cron.LoadZone("Europe/Berlin")
//	next := expr.In(zone).Next(time.Now())
//
// The types to know:
//
//   - [Expression] is a parsed expression, a set of wall-clock times. It is a value; equal texts are equal.
//   - [Schedule] is an expression in a zone. [Schedule.Next] names the next instant, [Schedule.All] a row of them.
//   - [Warning] is something that the author may not have meant: a run that a clock change removes, a date that never
//     comes.
//   - [SyntaxError] says which item of which field is wrong, and what to write instead.
//
// # Grammar
//
// An expression has five, six or seven fields, separated by spaces and tabs:
//
//	minute hour day month weekday              the second is 0
//	second minute hour day month weekday
//	second minute hour day month weekday year
//
//	field            values      names      also
//	second, minute   0-59
//	hour             0-23
//	day              1-31                   ? L L-n nW LW
//	month            1-12        JAN-DEC
//	weekday          0-7         SUN-SAT    ? nL n#k       0 and 7 are Sunday, 1 is Monday
//	year             1970-2099
//
// Each field is a list of items with commas between them:
//
//	item             what it stands for
//	*                every value
//	5, FRI           one value; names have three letters, in any case
//	1-5, MON-FRI     a range; it never wraps around, so FRI-MON is an error
//	*/15             every 15th value from the smallest
//	5/20             every 20th value from 5 to the largest, in the weekday field to Saturday
//	10-40/15         every 15th value of a range
//	?                the same as *, standing alone, in the day and weekday fields only
//	L                the last day of the month
//	L-3              three days before the last day; a month without that day has no match
//	15W              the day from Monday to Friday that is nearest to day 15 and in the same month
//	LW               the last day of the month from Monday to Friday
//	FRIL, 5L         the last Friday of the month
//	FRI#2, 5#2       the second Friday of the month
//
// When both day and weekday are restricted, a day that matches either one is enough. A field is restricted unless it is
// * or ? and nothing else: with */1 as the day and MON as the weekday every day matches.
//
// # Zones
//
// An expression is compared with the wall clock of the zone. A wall time that the zone skips, when the clock is set
// forward, does not run, nor is it moved. A wall time that comes twice, when the clock is set back, runs the first time
// only. So "*/30 * * * *" pauses for 90 minutes where an hour is repeated, and "30 2 * * *" misses a day in New York.
// [Schedule.Warnings] names the dates. Use UTC where that matters.
//
// [LoadZone] reads IANA names and Windows zone ids. The zone database is compiled in; one that the system has comes
// first.
//
// # Limits
//
// Next looks five calendar years ahead: "0 0 30 2 *" has no next, and neither has "0 0 29 2 *" in March 2096. Without a
// year field there is no end of time. Instants lie in the years 0 to 9999.
//
// Parse takes 30 to 400 ns, in proportion to the length of the text, and does not allocate if the fields are separated by
// single spaces. Next takes 30 to 200 ns, up to a microsecond for a date that never comes, and does not allocate. Reading
// a zone for the first time takes some 0.1 ms.
//
// # Not Quartz, not every crontab
//
// Weekday numbers follow Unix. In Quartz 1 is Sunday: a copied expression with weekday numbers is one day off and gives
// no error, only a warning of [Schedule.Warnings]. Write names. Refused are macros such as @daily, a lone L as the
// weekday, ranges that wrap around, and values that are drawn, such as H and ~.
package cron
