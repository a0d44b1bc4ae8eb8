package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/memstore"
)

// TestAMonthFiresWhatThePlanSays lets March 2026 pass, with its changes of summer time in New York and London, for 500 jobs
// of all kinds of schedule. Every trigger must have fired at exactly the instants that its plan names, each on time.
func TestAMonthFiresWhatThePlanSays(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	end := start.AddDate(0, 1, 0)
	calendars, err := calendar.Compile(monthCalendars...)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("500 jobs", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { month(t, calendars, start, end) }) })
}

func month(t *testing.T, calendars calendar.Set, start, end time.Time) {
	t.Helper()
	w := newWorld(t, memstore.New(memstore.Config{}))
	w.cfg.Now = func() time.Time { return start.Add(time.Since(w.began)) }
	w.cfg.Log, w.cfg.Calendars = nil, calendars
	w.cfg.PollInterval, w.cfg.LeaseTTL, w.cfg.NodeTimeout = minute, hour, hour
	w.cfg.HistoryRetention, w.cfg.HousekeepingInterval = 0, 24*hour
	defs := monthJobs(rand.New(rand.NewPCG(2026, 3)), 500)
	w.define(defs...)
	want := map[jobhost.TriggerKey][]time.Time{}
	total := 0
	for _, d := range defs {
		for _, x := range d.Triggers {
			fires := firings(t, x.Schedule, calendars, start, end)
			want[jobhost.TriggerKey{Job: d.Name, Trigger: x.Name}] = fires
			total += len(fires)
		}
	}
	stop := w.serve()
	time.Sleep(end.Sub(start) + 500*time.Millisecond)
	stop()
	got := map[jobhost.TriggerKey][]time.Time{}
	for _, d := range defs {
		for _, r := range w.runs(d.Name) {
			key := jobhost.TriggerKey{Job: r.Job, Trigger: r.Trigger}
			got[key] = append(got[key], r.ScheduledAt)
			if !r.StartedAt.Equal(r.ScheduledAt) || r.State != jobhost.RunSucceeded {
				t.Errorf("run %s of %v for %v started at %v and is %v", r.ID, key, r.ScheduledAt, r.StartedAt, r.State)
			}
		}
		for _, x := range d.Triggers {
			key := jobhost.TriggerKey{Job: d.Name, Trigger: x.Name}
			if !slices.EqualFunc(got[key], want[key], time.Time.Equal) {
				t.Errorf("%v, %q: %s", key, x.Schedule, firstDifference(got[key], want[key]))
			}
			if rec := w.trigger(d.Name, x.Name); rec.FiredCount != len(want[key]) || rec.State == jobhost.TriggerWaiting && !rec.Due.After(end) {
				t.Errorf("%v, %q: fired %d, %v with due %v", key, x.Schedule, rec.FiredCount, rec.State, rec.Due)
			}
		}
	}
	if total < 50_000 {
		t.Errorf("%d firings in the month are too few to show anything", total)
	}
	t.Logf("%d firings of %d triggers", total, len(want))
}

// firings are the instants that a schedule's plan names for a trigger that is made at start, until end. A run takes no time
// here, so the next of an interval follows from its start.
func firings(t *testing.T, schedule string, calendars calendar.Set, start, end time.Time) (out []time.Time) {
	t.Helper()
	p, err := newPlan(schedule, calendars)
	if err != nil {
		t.Fatal(err)
	}
	for at := p.first(start, minute); !at.IsZero() && !at.After(end); at = p.next(at) {
		if p.Times > 0 && len(out) == p.Times {
			break
		}
		out = append(out, at)
	}
	return out
}

func firstDifference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%d firings, want %d; %v is missing", len(got), len(want), want[i])
		case i >= len(want):
			return fmt.Sprintf("%d firings, want %d; %v is too much", len(got), len(want), got[i])
		case !got[i].Equal(want[i]):
			return fmt.Sprintf("firing %d is at %v, want %v", i, got[i], want[i])
		}
	}
	return "equal"
}

var monthCalendars = []calendar.Definition{
	{Name: "holidays", Kind: "holiday", Dates: []string{"2026-03-08", "2026-03-20", "2026-03-21"}, Zone: "Asia/Shanghai"},
	{Name: "weekends", Kind: "weekly", Zone: "Europe/London"},
	{Name: "nights", Kind: "daily", From: "22:00", To: "06:00", Zone: "America/New_York"},
	{Name: "lunch", Kind: "cron", Expression: "* * 12 * * *", Zone: "Europe/London"},
	{Name: "free", Kind: "composite", Members: []calendar.Member{{Name: "holidays"}, {Name: "weekends"}, {Inline: &calendar.Definition{Kind: "weekly", Days: []string{"WED"}}}}},
}

// monthShapes are schedules with room for numbers: m a minute, h an hour, d a day, w a weekday, n a small number.
var monthShapes = []struct {
	text   string
	fields string
}{
	{"cron %d %d * * *", "mh"},
	{"cron */20 7-19 * * *", ""},
	{"cron %d/30 */3 * * *", "n"},
	{"cron %d */2 * * ?", "m"},
	{"cron %d 1-23/4 * * *", "m"},
	{"cron %d %d * * * *", "mm"},
	{"cron %d,30 %d,%d 8-12 * * MON-FRI", "nmm"},
	{"cron 0 %d 9-17/%d ? * TUE,thu,SAT", "mn"},
	{"cron 0 %d %d L * ?", "mh"},
	{"cron 0 %d %d L-%d * ?", "mhn"},
	{"cron 0 %d %d %dW * ?", "mhd"},
	{"cron 0 %d %d LW * ?", "mh"},
	{"cron 0 %d %d ? * FRIL", "mh"},
	{"cron 0 %d %d ? * %d#%d", "mhwn"},
	{"cron 0 %d %d ? * %dL", "mhw"},
	{"cron 0 %d %d %d,L * MON", "mhd"}, // either one matches
	{"cron 0 %d %d * MAR-APR ? 2026-2030/2", "mh"},
	{"cron 0 %d 0-6/2 1-%d 3 ?", "md"},
	{"cron %d %d 2,1 * * 0,6", "mm"}, // hours that are repeated or skipped
	{"cron 0 %d %d 30 2 ?", "mh"},    // never
	{"every 2h%dm", "m"},
	{"every 1h%dm", "m"},
	{"every %dh x5", "h"},
	{"every 26h%dm", "m"},
	{"once 2026-03-%02dT%02d:00:00Z", "dh"},
	{"once 2026-02-%02dT00:00:00Z", "d"}, // over
}

var monthTails = []string{
	"", "", "", " start=2026-03-10T12:00:00Z", " end=2026-03-20T06:30:00Z", " start=2026-03-05T00:00:00Z end=2026-03-25T23:59:59Z",
	" calendar=holidays", " calendar=weekends", " calendar=nights", " calendar=lunch", " calendar=free", " start=2026-03-03T00:00:00+01:00 calendar=free",
}

var monthZones = []string{"", "", " tz=America/New_York", " tz=Europe/London", " tz=Asia/Shanghai", " tz=Australia/Lord_Howe", " tz=Asia/Kolkata", " tz=America/St_Johns"}

// monthJobs makes jobs with one or two triggers each.
func monthJobs(rnd *rand.Rand, n int) []jobhost.JobDef {
	number := map[rune]func() int{
		'm': func() int { return 1 + rnd.IntN(59) },
		'h': func() int { return 1 + rnd.IntN(23) },
		'd': func() int { return 1 + rnd.IntN(28) },
		'w': func() int { return 1 + rnd.IntN(6) },
		'n': func() int { return 1 + rnd.IntN(4) },
	}
	defs := make([]jobhost.JobDef, n)
	for i := range defs {
		d := jobhost.NewJob(fmt.Sprintf("job-%03d", i), "p")
		d.AllowConcurrent, d.HistoryLimit = true, 0 // two triggers may meet
		for range 1 + rnd.IntN(2) {
			shape := monthShapes[(i+7*len(d.Triggers))%len(monthShapes)]
			var args []any
			for _, f := range shape.fields {
				args = append(args, number[f]())
			}
			text := fmt.Sprintf(shape.text, args...)
			if shape.text[0] == 'c' {
				text += monthZones[rnd.IntN(len(monthZones))]
			}
			text += monthTails[rnd.IntN(len(monthTails))]
			x := jobhost.NewTrigger(fmt.Sprintf("t%d", len(d.Triggers)), text)
			x.Priority = int32(rnd.IntN(10))
			d.Triggers = append(d.Triggers, x)
		}
		defs[i] = d
	}
	return defs
}
