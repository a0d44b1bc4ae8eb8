package jobhost_test

import (
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
)

func ExampleParseSchedule() {
	s, err := jobhost.ParseSchedule(`cron 0 9 * * MON-FRI calendar=holidays tz="China Standard Time"`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	_, err = jobhost.ParseSchedule("cron 0 9 * * FRI-MON")
	fmt.Println(err)
	// Output:
	// cron 0 9 * * MON-FRI tz=Asia/Shanghai calendar=holidays
	// cron: weekday "FRI-MON": the range ends before it starts; write FRI-SAT,SUN-MON
}

func ExampleEveryInterval() {
	s, err := jobhost.EveryInterval(10 * time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Times = 5
	fmt.Println(s)
	// Output: every 00:10:00 x5
}

func ExampleCronIn() {
	s, err := jobhost.CronIn("0 0 L * *", "Asia/Shanghai")
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Calendar = "holidays"
	fmt.Println(s)
	// Output: cron 0 0 L * * tz=Asia/Shanghai calendar=holidays
}

func ExampleOnceAt() {
	s, err := jobhost.OnceAt(time.Date(2026, 3, 1, 9, 0, 0, 0, time.FixedZone("", 3600)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	// Output: once 2026-03-01T08:00:00Z
}

func ExampleSchedule_Describe() {
	s, err := jobhost.ParseSchedule("cron 0 9 * * MON-FRI tz=Asia/Shanghai")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Describe())
	fmt.Println(s.DescribeIn(jobhost.Chinese()))
	// Output:
	// At 09:00, Monday to Friday (Asia/Shanghai)
	// 周一至周五 09:00（Asia/Shanghai）
}

func ExampleSchedule_Warnings() {
	s, err := jobhost.ParseSchedule("cron 0 0 13 * FRI")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range s.Warnings(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		fmt.Println(w)
	}
	// Output: day and weekday are both restricted: a day that matches either one is enough
}
