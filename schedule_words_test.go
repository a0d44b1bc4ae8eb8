package jobhost_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestSchedulesInWords(t *testing.T) {
	tests := []struct{ text, english, chinese string }{
		{"manual", "Only on request", "仅按请求运行"},
		{"every 1.02:00:30.25 x5", "1 day 2 hours 30 seconds 250 milliseconds after the end of the run before, 5 runs in all", "上次运行结束 1 天 2 小时 30 秒 250 毫秒后，共 5 次"},
		{"every 1h x1", "1 hour after the end of the run before, 1 run in all", "上次运行结束 1 小时后，共 1 次"},
		{"once 2026-03-01T08:00:00Z", "Once, at 2026-03-01T08:00:00Z", "仅一次，于 2026-03-01T08:00:00Z"},
		{"cron 0 9 * * MON-FRI tz=Asia/Shanghai calendar=holidays", "At 09:00, Monday to Friday (Asia/Shanghai), except when the calendar holidays excludes it", "周一至周五 09:00（Asia/Shanghai），日历 holidays 排除的时刻除外"},
		{"cron 0 9 * * * start=2026-01-01T00:00:00Z end=2027-01-01T00:00:00Z", "At 09:00 every day (UTC), not before 2026-01-01T00:00:00Z, not after 2027-01-01T00:00:00Z", "每天 09:00（UTC），不早于 2026-01-01T00:00:00Z，不晚于 2027-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Describe(); got != tt.english {
				t.Errorf("English: %q, want %q", got, tt.english)
			}
			if got := s.DescribeIn(jobhost.Chinese()); got != tt.chinese {
				t.Errorf("Chinese: %q, want %q", got, tt.chinese)
			}
		})
	}
	if got, want := (jobhost.Schedule{Kind: jobhost.Cron, Expr: "* *"}).Describe(), "cron * *"; got != want {
		t.Errorf("a schedule that is not valid: %q, want its text %q", got, want)
	}
}

func TestWarningsOfSchedules(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"manual", "manual end=2020-01-01T00:00:00Z", ""},
		{"nothing to say", "cron 0 9 * * *", ""},
		{"FR-23 a clock change", "cron 30 2 * * * tz=America/New_York", "loses a run: on 2026-03-08 the clock goes from 02:00:00 to 03:00:00 and skips 02:30:00"},
		{"FR-23 a clock change after the end", "cron 30 2 * * * tz=America/New_York end=2026-03-01T00:00:00Z", ""},
		{"FR-23 a clock change after the start", "cron 30 2 * * * tz=America/New_York start=2026-12-01T00:00:00Z", "loses a run: on 2027-03-14 the clock goes from 02:00:00 to 03:00:00 and skips 02:30:00"},
		{"FR-31 an impossible date", "cron 0 0 30 2 *", "never fires: no date matches"},
		{"the first match is after the end", "cron 0 0 1 6 * end=2026-05-01T00:00:00Z", "never fires: the first time, 2026-06-01T00:00:00Z, is after the end"},
		{"a match exactly at start and end", "cron 0 0 1 6 * start=2026-06-01T00:00:00Z end=2026-06-01T00:00:00Z", ""},
		{"a far start moves the search", "cron 0 0 0 1 1 ? 2040 start=2036-01-01T00:00:00Z", "ends: the last match is 2040-01-01T00:00:00Z"},
		{"an interval longer than the window", "every 1h start=2026-02-01T00:00:00Z end=2026-02-01T00:30:00Z", "never fires: the first time, 2026-02-01T01:00:00Z, is after the end"},
		{"an interval in the window", "every 1h end=2026-02-01T00:30:00Z", ""},
		{"once before the start", "once 2026-02-01T00:00:00Z start=2026-03-01T00:00:00Z", "never fires: the instant is before the start"},
		{"once after the end", "once 2026-02-01T00:00:00Z end=2026-01-30T00:00:00Z", "never fires: the first time, 2026-02-01T00:00:00Z, is after the end"},
		{"FR-29 sixty runs", "cron * */15 * * * *", "fires every second while minute is */15; write 0 as the second to fire once a minute"},
	}
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range s.Warnings(now) {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(strings.Join(got, "\n"), tt.want); diff != "" {
				t.Errorf("%q, -got +want:\n%s", tt.text, diff)
			}
		})
	}
	if got := (jobhost.Schedule{Kind: jobhost.Cron, Expr: "* *"}).Warnings(now); got != nil {
		t.Errorf("a schedule that is not valid: %v, want none", got)
	}
}
