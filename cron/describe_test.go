package cron_test

import (
	"testing"

	"github.com/jobhost/jobhost/cron"
)

func TestDescriptions(t *testing.T) {
	tests := []struct{ expr, english, chinese string }{
		{"* * * * *", "Every minute", "每分钟"},
		{"* * * * * *", "Every second", "每秒"},
		{"*/10 * * * * *", "Every 10 seconds", "每 10 秒"},
		{"15 * * * * *", "At second 15 of every minute", "每分钟第 15 秒"},
		{"7/9 * * * * *", "At seconds 7, 16, 25, 34, 43 and 52 of every minute", "每分钟第 7、16、25、34、43、52 秒"},
		{"* */15 * * * *", "Every second of minutes 0, 15, 30 and 45 of every hour", "每小时第 0、15、30、45 分内每秒"},
		{"10,50 * 9 * * *", "At seconds 10 and 50 of every minute from 09:00 to 09:59", "09:00 至 09:59 每分钟第 10、50 秒"},
		{"* * 0-7 * * *", "Every second from 00:00 to 07:59", "00:00 至 07:59 每秒"},
		{"*/5 9-17 * * MON-FRI", "Every 5 minutes from 09:00 to 17:59, Monday to Friday", "周一至周五 09:00 至 17:59 每 5 分钟"},
		{"*/7 * * * *", "Every 7 minutes from minute 0", "从第 0 分起每 7 分钟"},
		{"*/10 */2 * * *", "Every 10 minutes in every 2nd hour", "从 0 时起每 2 小时的那一小时内每 10 分钟"},
		{"5-10 * * * *", "At minutes 5 to 10 of every hour", "每小时第 5 至 10 分"},
		{"15,45 6-20/2 * * *", "At minutes 15 and 45 of every 2nd hour from hour 6 to 20", "6 至 20 时每 2 小时的第 15、45 分"},
		{"5 1-23/2 * * *", "At minute 5 of every 2nd hour from hour 1", "从 1 时起每 2 小时的第 5 分"},
		{"30 9 * * *", "At 09:30 every day", "每天 09:30"},
		{"0 8,17 * * *", "At 08:00 and 17:00 every day", "每天 08:00、17:00"},
		{"*/20 30 8 ? * 1-5", "At 08:30:00, 08:30:20 and 08:30:40, Monday to Friday", "周一至周五 08:30:00、08:30:20、08:30:40"},
		{"0 0 13 * 5", "At 00:00 on day 13 of the month, or on Friday (either is enough)", "每月 13 日或周五（满足其一即可） 00:00"},
		{"0 0 1 * MON-FRI", "At 00:00 on day 1 of the month, or Monday to Friday (either is enough)", "每月 1 日或周一至周五（满足其一即可） 00:00"},
		{"0 22 L * ?", "At 22:00 on the last day of the month", "每月最后一天 22:00"},
		{"0 0 L-1 * ?", "At 00:00 on the day before the last day of the month", "每月倒数第 2 天 00:00"},
		{"0 0 L-3,15W * *", "At 00:00 on the 3rd day before the last day and the weekday (Monday to Friday) nearest to day 15 of the month", "每月倒数第 4 天、离 15 日最近的工作日（周一至周五） 00:00"},
		{"0 0 LW 3,6,9,12 *", "At 00:00 on the last weekday (Monday to Friday) of March, June, September and December", "3、6、9、12 月最后一个工作日（周一至周五） 00:00"},
		{"0 0 1 1 *", "At 00:00 on 1 January", "1 月 1 日 00:00"},
		{"0 0 1,15 JAN-MAR *", "At 00:00 on days 1 and 15 of January to March", "1 至 3 月 1、15 日 00:00"},
		{"0 0 */2 * *", "At 00:00 on every 2nd day from day 1 of the month", "每月从 1 日起每 2 天 00:00"},
		{"0 12 ? * FRI#2,5L", "At 12:00 on the 2nd Friday and the last Friday of the month", "每月第 2 个周五、每月最后一个周五 12:00"},
		{"0 12 ? * MON,FRI#2", "At 12:00 on Monday and on the 2nd Friday of the month", "周一、每月第 2 个周五 12:00"},
		{"0 12 ? JUN FRI#2", "At 12:00 on the 2nd Friday of June", "6 月的第 2 个周五 12:00"},
		{"0 8 * JAN-MAR MON", "At 08:00 on Monday in January to March", "1 至 3 月的周一 08:00"},
		{"0 0 * * 6-7", "At 00:00 on Saturday and Sunday", "周六、周日 00:00"},
		{"0 0 * * 5-7", "At 00:00, Friday to Sunday", "周五至周日 00:00"},
		{"0 0 ? * */2", "At 00:00 on Tuesday, Thursday, Saturday and Sunday", "周二、周四、周六、周日 00:00"},
		{"*/10 * * 2 *", "Every 10 minutes on every day of February", "2 月每天 每 10 分钟"},
		{"0 0 8 1 JAN ? 2026-2030/2", "At 08:00 on 1 January in 2026, 2028 and 2030", "2026 年、2028 年、2030 年 1 月 1 日 08:00"},
		{"0 0 8 * * ? 2026-2090/4", "At 08:00 every day in every 4th from 2026 to 2090", "2026 年 至 2090 年 每 4 取一 每天 08:00"},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			e, err := cron.Parse(tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Describe(); got != tt.english {
				t.Errorf("English: %q, want %q", got, tt.english)
			}
			if got := cron.Chinese(e.Outline()); got != tt.chinese {
				t.Errorf("Chinese: %q, want %q", got, tt.chinese)
			}
		})
	}
}

func TestTheDescriptionOfAScheduleNamesTheZone(t *testing.T) {
	s := mustIn(t, "30 9 * * *", shanghai)
	if got, want := s.Describe(), "At 09:30 every day (Asia/Shanghai)"; got != want {
		t.Errorf("Describe = %q, want %q", got, want)
	}
	if got, want := cron.Chinese(s.Outline()), "每天 09:30（Asia/Shanghai）"; got != want {
		t.Errorf("Chinese = %q, want %q", got, want)
	}
}
