package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

// vector is a line of schedule.jsonl that a planner answers.
type vector struct {
	Kind, Schedule, Note, Why string
	Calendars                 map[string]vectorCalendar
	Error                     bool

	From       time.Time
	Count      int
	RunSeconds float64 `json:"run_seconds"`
	Next       json.RawMessage

	Due, Now  time.Time
	Threshold float64 `json:"threshold_seconds"`
	Runs      []time.Time

	Policy json.RawMessage
	Delays []float64 `json:"delays_seconds"`
}

type vectorCalendar struct {
	Type, TZ, From, To, Expr string
	Dates, Days              []string
	Members                  []vectorCalendar
}

func (c vectorCalendar) make() (calendar.Calendar, error) {
	zone, err := cron.LoadZone(c.TZ)
	if err != nil {
		return nil, err
	}
	switch c.Type {
	case "composite":
		var members []calendar.Calendar
		for _, m := range c.Members {
			made, err := m.make()
			if err != nil {
				return nil, err
			}
			members = append(members, made)
		}
		return calendar.Composite(members...), nil
	case "daily":
		return calendar.Daily(c.From, c.To, zone)
	}
	set, err := calendar.Compile(calendar.Definition{Name: "c", Kind: c.Type, Dates: c.Dates, Days: c.Days, Expression: c.Expr, Zone: c.TZ})
	return set["c"], err
}

func (v vector) plan() (*plan, error) {
	set := calendar.Set{}
	for name, c := range v.Calendars {
		made, err := c.make()
		if err != nil {
			return nil, err
		}
		set[name] = made
	}
	return newPlan(v.Schedule, set)
}

// vectors reads schedule.jsonl from the directory in JOBHOST_VECTORS, else from testdata.
func vectors(t *testing.T, kind string) (out []vector) {
	t.Helper()
	dir := os.Getenv("JOBHOST_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "testdata")
	}
	file, err := os.ReadFile(filepath.Join(dir, "schedule.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &struct{ Kind *string }{&v.Kind}); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if v.Kind != kind {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		v.Note = fmt.Sprintf("line %d: %s %s", n, v.Schedule, v.Note)
		out = append(out, v)
	}
	if len(out) == 0 {
		t.Fatalf("there is no vector of kind %q", kind)
	}
	return out
}

func TestPlanVectors(t *testing.T) {
	for _, v := range vectors(t, "plan") {
		t.Run(v.Note, func(t *testing.T) {
			p, err := v.plan()
			if v.Error {
				if err == nil {
					t.Errorf("it is accepted; want an error: %s", v.Why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []time.Time
			if err := json.Unmarshal(v.Next, &want); err != nil {
				t.Fatal(err)
			}
			var got []time.Time
			due := p.first(v.From, time.Minute)
			for n := 0; n < v.Count && !due.IsZero(); n++ {
				got = append(got, due)
				x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: due, FiredCount: n}
				_, _, next := settle(x, p, false, due, rules{time.Minute, time.Second})
				if next.State == jobhost.TriggerRunning {
					next = afterRun(next, p, due.Add(time.Duration(v.RunSeconds*float64(time.Second))))
				}
				due = next.Due
			}
			same(t, got, want)
		})
	}
}

func TestMisfireVectors(t *testing.T) {
	policies := map[string]jobhost.Misfire{`"RunOnce"`: jobhost.MisfireRunOnce, `"Skip"`: jobhost.MisfireSkip, `"RunAll"`: jobhost.MisfireRunAll}
	for _, v := range vectors(t, "misfire") {
		t.Run(v.Note, func(t *testing.T) {
			p, err := v.plan()
			if err != nil {
				t.Fatal(err)
			}
			policy, ok := policies[string(v.Policy)]
			if !ok {
				t.Fatalf("unknown policy %s", v.Policy)
			}
			x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: v.Due}
			x.Misfire = policy
			verdict, at, next := settle(x, p, false, v.Now, rules{time.Duration(v.Threshold * float64(time.Second)), time.Second})
			var got []time.Time
			if verdict == fire {
				got = append(got, at)
			}
			same(t, got, v.Runs)
			if next.State == jobhost.TriggerRunning {
				next = afterRun(next, p, v.Now)
			}
			var want time.Time
			if err := json.Unmarshal(v.Next, &want); err != nil {
				t.Fatal(err)
			}
			if !next.Due.Equal(want) {
				t.Errorf("next is %v, want %v", next.Due, want)
			}
		})
	}
}

func TestRetryVectors(t *testing.T) {
	for _, v := range vectors(t, "retry") {
		t.Run(v.Note+string(v.Policy), func(t *testing.T) {
			var p struct {
				Backoff string
				Max     int      `json:"max_retries"`
				Delay   float64  `json:"delay_seconds"`
				Most    *float64 `json:"max_delay_seconds"`
			}
			if err := json.Unmarshal(v.Policy, &p); err != nil {
				t.Fatal(err)
			}
			seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
			policy := jobhost.RetryPolicy{MaxRetries: p.Max, Delay: seconds(p.Delay), Exponential: p.Backoff == "exponential"}
			err := policy.Check()
			if p.Most != nil {
				policy, err = jobhost.ExponentialRetry(p.Max, seconds(p.Delay), seconds(*p.Most))
				policy.Exponential = p.Backoff == "exponential"
			}
			if v.Error != (err != nil) {
				t.Fatalf("error %v, want one: %v (%s)", err, v.Error, v.Why)
			}
			for i, want := range v.Delays {
				if got := policy.DelayFor(i + 1); got != seconds(want) {
					t.Errorf("the wait before retry %d is %v, want %v", i+1, got, seconds(want))
				}
			}
		})
	}
}

func same(t *testing.T, got, want []time.Time) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d instants %v, want %d: %v", len(got), got, len(want), want)
	}
	for i := range got {
		if !got[i].Equal(want[i]) {
			t.Errorf("instant %d is %v, want %v", i+1, got[i].UTC(), want[i].UTC())
		}
	}
}

// TestExclusions are the cases of SPEC 31 where a schedule and a calendar meet.
func TestExclusions(t *testing.T) {
	daily := func(from, to string) calendar.Calendar {
		c, err := calendar.Daily(from, to, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	weekends, err := calendar.Compile(calendar.Definition{Name: "c", Kind: "weekly"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, schedule string
		cal            calendar.Calendar
		after, want    string
	}{
		{"S-67 9,999 excluded", "cron * * * * * *", daily("00:00:00", "02:46:39"), "2026-01-04T23:59:59Z", "2026-01-05T02:46:39Z"},
		{"S-68 10,000 excluded", "cron * * * * * *", daily("00:00:00", "02:46:40"), "2026-01-04T23:59:59Z", ""},
		{"S-69 each second through a weekend", "cron * * * * * *", weekends["c"], "2026-01-02T23:59:59Z", ""},
		{"S-69 each minute through a weekend", "cron * * * * *", weekends["c"], "2026-01-02T23:59:00Z", "2026-01-05T00:00:00Z"},
		{"S-70 once", "once 2026-01-03T12:00:00Z", weekends["c"], "2026-01-02T00:00:00Z", ""},
		{"S-73 every", "every 1h", daily("01:00", "02:00"), "2026-01-05T00:30:00Z", "2026-01-05T02:30:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPlan(c.schedule+" calendar=c", calendar.Set{"c": c.cal})
			if err != nil {
				t.Fatal(err)
			}
			after, err := time.Parse(time.RFC3339, c.after)
			if err != nil {
				t.Fatal(err)
			}
			got := p.first(after, time.Minute)
			if want, _ := time.Parse(time.RFC3339, c.want); !got.Equal(want) {
				t.Errorf("first due %v, want %q", got, c.want)
			}
		})
	}

	eachStore(t, "S-128 a run_once make-up in an excluded time acts as skip", func(w *world) {
		w.cfg.Calendars = calendar.Set{"nights": daily("22:00", "06:00")}
		w.define(job("j", "cron 0 20 * * * calendar=nights"))
		w.until(23 * hour)
		w.poll()
		is(w, "runs", len(w.runs("j")), 0)
		w.waits("j", 44*hour)
		is(w, "skipped", w.trigger("j").Refused.Skipped, 1)
	})

	eachStore(t, "S-82 a trigger whose calendar is unknown here waits with its due", func(w *world) {
		w.cfg.Calendars = calendar.Set{"nights": daily("22:00", "06:00")}
		w.define(job("j", "cron 0 * * * * calendar=nights"), job("k", "cron 0 * * * *"))
		w.cfg.Calendars = nil
		w.restart()
		w.until(6*hour + second)
		w.poll()
		w.poll()
		is(w, "runs of j", len(w.runs("j")), 0)
		w.waits("j", 6*hour)
		is(w, "runs of k", len(w.runs("k")), 1)
		x, err := w.eng().Explain(w.Context(), "j")
		is(w, "error", err, nil)
		is(w, "answer", x.Triggers[0].Answer, `calendar "nights" is not registered`)
	})
}

func BenchmarkWeekendOfSeconds(b *testing.B) {
	set, err := calendar.Compile(calendar.Definition{Name: "c", Kind: "weekly"})
	if err != nil {
		b.Fatal(err)
	}
	p, err := newPlan("cron * * * * * * calendar=c", set)
	if err != nil {
		b.Fatal(err)
	}
	friday := time.Date(2026, 1, 2, 23, 59, 59, 0, time.UTC)
	for b.Loop() {
		if !p.next(friday).IsZero() {
			b.Fatal("there is a next due")
		}
	}
}
