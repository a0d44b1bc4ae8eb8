package cron_test

import (
	"fmt"
	"time"

	"github.com/jobhost/jobhost/cron"
)

func Example() {
	expr, err := cron.Parse("30 9 * * MON-FRI")
	if err != nil {
		fmt.Println(err)
		return
	}
	zone, err := cron.LoadZone("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	friday := time.Date(2026, 1, 2, 12, 0, 0, 0, zone)
	fmt.Println(expr.In(zone).Next(friday))
	// Output: 2026-01-05 09:30:00 +0100 CET
}

func ExampleParse() {
	_, err := cron.Parse("0 22-2 * * *")
	fmt.Println(err)
	// Output: hour "22-2": the range ends before it starts; write 22-23,0-2
}

func ExampleExpression_Describe() {
	expr, _ := cron.Parse("0 0 13 * FRI")
	fmt.Println(expr.Describe())
	// Output: At 00:00 on day 13 of the month, or on Friday (either is enough)
}

func ExampleExpression_In() {
	expr, _ := cron.Parse("0 0 L * *")
	after := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(expr.In(time.UTC).Next(after).Format(time.DateOnly))
	// Output: 2026-02-28
}

func ExampleExpression_String() {
	expr, _ := cron.Parse("  0\t9  *  * mon-fri ")
	fmt.Printf("%q\n", expr)
	// Output: "0 9 * * mon-fri"
}

// A language is a function of an outline.
func ExampleLanguage() {
	var german cron.Language = func(o cron.Outline) string {
		if o.AnyDay && o.AnyWeekday && len(o.Hour) == 1 && len(o.Minute) == 1 {
			return fmt.Sprintf("täglich um %d:%02d Uhr", o.Hour[0].From, o.Minute[0].From)
		}
		return cron.English(o)
	}
	expr, _ := cron.Parse("30 9 * * *")
	fmt.Println(german(expr.Outline()))
	fmt.Println(cron.Chinese(expr.Outline()))
	// Output:
	// täglich um 9:30 Uhr
	// 每天 09:30
}

func ExampleSchedule_All() {
	expr, _ := cron.Parse("0 12 * * FRI#2")
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := range expr.In(time.UTC).All(from, from.AddDate(0, 3, 0)) {
		fmt.Println(at.Format(time.DateOnly))
	}
	// Output:
	// 2026-01-09
	// 2026-02-13
	// 2026-03-13
}

func ExampleSchedule_Matches() {
	expr, _ := cron.Parse("* 9-16 * * MON-FRI")
	noon := time.Date(2026, 1, 5, 12, 0, 30, 0, time.UTC)
	fmt.Println(expr.In(time.UTC).Matches(noon), expr.In(time.UTC).Matches(noon.Truncate(time.Minute)))
	// Output: false true
}

func ExampleSchedule_NextUnmatched() {
	expr, _ := cron.Parse("* * 22-23,0-5 * * *")
	night := time.Date(2026, 1, 5, 23, 30, 0, 0, time.UTC)
	fmt.Println(expr.In(time.UTC).NextUnmatched(night))
	// Output: 2026-01-06 06:00:00 +0000 UTC true
}

// A clock that is set forward skips a run, and one that is set back makes a pause.
func ExampleSchedule_Warnings() {
	expr, _ := cron.Parse("30 2 * * *")
	zone, _ := cron.LoadZone("America/New_York")
	for _, w := range expr.In(zone).Warnings(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		fmt.Println(w)
	}
	// Output: loses a run: on 2026-03-08 the clock goes from 02:00:00 to 03:00:00 and skips 02:30:00
}

func ExampleCanonicalZone() {
	fmt.Println(cron.CanonicalZone("China Standard Time"))
	fmt.Println(cron.CanonicalZone("asia/shanghai"))
	// Output:
	// Asia/Shanghai <nil>
	//  zone "asia/shanghai" is unknown; write Asia/Shanghai
}
