package calendar_test

import (
	"fmt"
	"time"

	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

func Example() {
	shanghai, err := cron.LoadZone("Asia/Shanghai")
	if err != nil {
		fmt.Println(err)
		return
	}
	holidays, err := calendar.Holiday([]string{"2026-10-01", "2026-10-02"}, shanghai)
	if err != nil {
		fmt.Println(err)
		return
	}
	workdays, err := cron.Parse("0 6 * * MON-FRI")
	if err != nil {
		fmt.Println(err)
		return
	}
	wednesday := time.Date(2026, 9, 30, 12, 0, 0, 0, shanghai)
	for at := range workdays.In(shanghai).All(wednesday, wednesday.AddDate(0, 0, 6)) {
		fmt.Println(at.Format(time.DateOnly), "excluded:", holidays.IsExcluded(at))
	}
	// Output:
	// 2026-10-01 excluded: true
	// 2026-10-02 excluded: true
	// 2026-10-05 excluded: false
	// 2026-10-06 excluded: false
}

func ExampleCompile() {
	calendars, err := calendar.Compile(
		calendar.Definition{Name: "weekends", Kind: "weekly"},
		calendar.Definition{Name: "office", Kind: "composite", Members: []calendar.Member{
			{Name: "weekends"},
			{Inline: &calendar.Definition{Kind: "daily", From: "18:00", To: "08:00"}},
		}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	saturday := time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	fmt.Println(calendar.Why(calendars["office"], saturday))
	fmt.Println(calendar.Resume(calendars["office"], saturday))
	// Output:
	// office/weekends
	// 2026-01-05 08:00:00 +0000 UTC true
}

func ExampleDaily() {
	nights, err := calendar.Daily("22:00", "06:00", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	fmt.Println(nights.IsExcluded(day.Add(22*time.Hour)), nights.IsExcluded(day.Add(6*time.Hour)))
	// Output: true false
}

func ExampleWeekly() {
	weekends, err := calendar.Weekly(nil, nil) // in UTC
	if err != nil {
		fmt.Println(err)
		return
	}
	fridayInUTC := time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC) // Saturday 06:00 in Shanghai
	fmt.Println(weekends.IsExcluded(fridayInUTC))
	// Output: false
}

func ExampleCron() {
	expr, err := cron.Parse("* * 12 * * MON-FRI")
	if err != nil {
		fmt.Println(err)
		return
	}
	lunch := calendar.Cron(expr.In(time.UTC))
	fmt.Println(lunch.IsExcluded(time.Date(2026, 1, 5, 12, 59, 59, 0, time.UTC)))
	// Output: true
}

func ExampleComposite() {
	weekends, _ := calendar.Weekly(nil, nil)
	holidays, _ := calendar.Holiday([]string{"2026-12-25"}, nil)
	off := calendar.Composite(weekends, holidays)
	fmt.Println(off.IsExcluded(time.Date(2026, 12, 25, 9, 0, 0, 0, time.UTC)))
	// Output: true
}
