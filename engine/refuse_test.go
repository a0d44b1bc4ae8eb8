package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// Each slot that does not run is counted once, with the reason.
func TestSettleCountsWhatDoesNotRun(t *testing.T) {
	at := t0.Add
	const lateBy, due = 3*hour + 30*minute, time.Duration(0)
	calendars, err := calendar.Compile(calendar.Definition{Name: "night", Kind: "daily", From: "01:00", To: "03:00"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		schedule string
		change   func(*jobhost.Trigger)
		busy     bool
		now      time.Duration
		want     jobhost.Refusals
	}{
		{"in time", "cron 0 * * * *", nil, false, minute, jobhost.Refusals{}},
		{
			"skip", "cron 0 * * * *", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, lateBy,
			jobhost.Refusals{Skipped: 4, Slot: at(3 * hour), Last: "misfire, and the policy is skip"},
		},
		{
			"skip adds to what was before", "cron 0 * * * *", func(x *jobhost.Trigger) {
				x.Misfire = jobhost.MisfireSkip
				x.Refused = jobhost.Refusals{Skipped: 10, Deadline: 1, Last: "x", Slot: at(-hour), At: at(-hour)}
			}, false, hour + minute + second,
			jobhost.Refusals{Skipped: 12, Deadline: 1, Slot: at(hour), Last: "misfire, and the policy is skip"},
		},
		{
			"start deadline", "cron 0 * * * *", func(x *jobhost.Trigger) { x.StartDeadline = 10 * minute }, false, 2 * hour,
			jobhost.Refusals{Deadline: 3, Slot: at(2 * hour), Last: "later than the start deadline of 10m0s"},
		},
		{
			"run_once", "cron 0 * * * *", nil, false, lateBy,
			jobhost.Refusals{Collapsed: 3, Slot: at(3 * hour), Last: "missed, and one run made up for all that were"},
		},
		{"run_once of a single one", "cron 0 * * * *", nil, false, 59 * minute, jobhost.Refusals{}},
		{
			"run_once outside the window", "cron 0 * * * * end=2026-01-05T02:00:00Z", nil, false, lateBy,
			jobhost.Refusals{Skipped: 3, Slot: at(2 * hour), Last: "misfire, and a run now would be outside the schedule's window or in an excluded time"},
		},
		{"run_all", "cron 0 * * * *", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireRunAll }, false, lateBy, jobhost.Refusals{}},
		{
			"skip of an interval, which has one slot at a time", "every 1m", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, lateBy,
			jobhost.Refusals{Skipped: 1, Slot: at(due), Last: "misfire, and the policy is skip"},
		},
		{
			"skip of an instant", "once 2026-01-05T00:00:00Z", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, lateBy,
			jobhost.Refusals{Skipped: 1, Slot: at(due), Last: "misfire, and the policy is skip"},
		},
		{
			"what a calendar excludes is no slot", "cron 0 * * * * calendar=night", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, lateBy,
			jobhost.Refusals{Skipped: 2, Slot: at(3 * hour), Last: "misfire, and the policy is skip"},
		},
		{
			"blocked, which waits and is not lost", "cron * * * * *", nil, true, second,
			jobhost.Refusals{},
		},
		{
			"blocked for long, and again", "cron * * * * *", func(x *jobhost.Trigger) { x.State = jobhost.TriggerBlocked }, true, 4 * minute,
			jobhost.Refusals{},
		},
		{
			"freed in time", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State, x.Refused = jobhost.TriggerBlocked, jobhost.Refusals{Blocked: 1, Slot: at(-minute), Last: "x", At: at(30 * second)}
			}, false, 30 * second,
			jobhost.Refusals{Blocked: 1, Slot: at(-minute), Last: "x"},
		},
		{
			"freed late", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State = jobhost.TriggerBlocked
			}, false, 4 * minute,
			jobhost.Refusals{Blocked: 4, Slot: at(4 * minute), Last: "a run of the job was in progress"},
		},
		{
			"freed late by one that counted the slot that it waits for", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State, x.Refused = jobhost.TriggerBlocked, jobhost.Refusals{Blocked: 1, Slot: at(due)}
			}, false, 4 * minute,
			jobhost.Refusals{Blocked: 5, Slot: at(4 * minute), Last: "a run of the job was in progress"},
		},
		{
			"freed late, and it is the only one", "cron 0 * * * *", func(x *jobhost.Trigger) { x.State = jobhost.TriggerBlocked }, false, 4 * minute,
			jobhost.Refusals{},
		},
		{
			"freed late, outside the window", "cron * * * * * end=2026-01-05T00:02:00Z", func(x *jobhost.Trigger) { x.State = jobhost.TriggerBlocked }, false, 4 * minute,
			jobhost.Refusals{Blocked: 3, Slot: at(2 * minute), Last: "misfire, and a run now would be outside the schedule's window or in an excluded time"},
		},
		{
			"freed in time, but later than the start deadline", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State, x.StartDeadline = jobhost.TriggerBlocked, 10*second
			}, false, 30 * second,
			jobhost.Refusals{Deadline: 1, Slot: at(due), Last: "later than the start deadline of 10s"},
		},
		{
			"freed late, and skip", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State, x.Misfire = jobhost.TriggerBlocked, jobhost.MisfireSkip
			}, false, 4 * minute,
			jobhost.Refusals{Blocked: 5, Slot: at(4 * minute), Last: "misfire, and the policy is skip"},
		},
		{
			"freed late, and each is made up", "cron * * * * *", func(x *jobhost.Trigger) {
				x.State, x.Misfire = jobhost.TriggerBlocked, jobhost.MisfireRunAll
			}, false, 4 * minute,
			jobhost.Refusals{},
		},
		{
			"more than are counted", "cron * * * * * *", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, 24 * hour,
			jobhost.Refusals{Skipped: maxMissed, AtLeast: true, Slot: at((maxMissed - 1) * second), Last: "misfire, and the policy is skip"},
		},
		{
			"as many as are counted", "cron * * * * * * end=2026-01-05T02:46:39Z", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, 24 * hour,
			jobhost.Refusals{Skipped: maxMissed, Slot: at((maxMissed - 1) * second), Last: "misfire, and the policy is skip"},
		},
		{
			"excluded ones are looked at too", "cron * * * * * * calendar=night", func(x *jobhost.Trigger) { x.Misfire = jobhost.MisfireSkip }, false, 24 * hour,
			jobhost.Refusals{Skipped: 3600, AtLeast: true, Slot: at(3599 * second), Last: "misfire, and the policy is skip"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPlan(c.schedule, calendars)
			if err != nil {
				t.Fatal(err)
			}
			x := jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at(due)}
			if c.change != nil {
				c.change(&x)
			}
			if c.want.Last != "" {
				c.want.At = at(c.now)
			}
			_, _, next := settle(x, p, c.busy, at(c.now), rules{time.Minute, time.Second})
			if d := cmp.Diff(next.Refused, c.want); d != "" {
				t.Errorf("-got +want:\n%s", d)
			}
		})
	}
}

func TestWhatDidNotRunIsTold(t *testing.T) {
	eachStore(t, "what passes while a trigger is Blocked", func(w *world) {
		w.define(job("j", "cron * * * * *"))
		w.takes("j", 4*minute+30*second)
		stop := w.serve()
		explain := func() jobhost.TriggerExplanation {
			w.Helper()
			x, err := w.eng().Explain(w.Context(), "j")
			is(w, "error", err, nil)
			return x.Triggers[0]
		}
		w.until(2*minute + second) // runs since 1m
		if a := explain().Answer; !strings.HasSuffix(a, "must not run concurrently") {
			w.Errorf("with one slot waiting it says %q", a)
		}
		w.until(5*minute + second)
		if a := explain().Answer; !strings.HasSuffix(a, "must not run concurrently; 3 further slots have passed meanwhile") {
			w.Errorf("with three more it says %q", a)
		}
		if x := explain(); x.Refused != nil {
			w.Errorf("what waits is told as not run: %+v", x.Refused)
		}
		w.until(6 * minute)
		x := explain()
		is(w, "blocked", x.Refused.Blocked, 3) // 2m to 5m, but one run for them since 5m30s; 6m waits
		isAt(w, "slot", x.Refused.Slot, 5*minute)
		is(w, "reason", x.Refused.Last, "a run of the job was in progress")
		s, err := jobhost.One(w.eng().Status(w.Context(), []jobhost.Name{"j"}))
		is(w, "error", err, nil)
		if d := cmp.Diff(s.Triggers[0].Refused, x.Refused); d != "" {
			w.Errorf("the status says something else (-got +want):\n%s", d)
		}
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "triggers that are freed without a run of theirs", func(w *world) {
		w.define(job("j", "cron * * * * *"))
		w.takes("j", 4*minute)
		stop := w.serve()
		w.until(2*minute + second)
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(10 * minute) // it ended at 5m
		x := w.trigger("j")
		is(w, "state", x.State, jobhost.TriggerWaiting)
		is(w, "not run", x.Refused.Count(), 0) // it is not decided yet
		w.eng().Resume(w.Context(), []jobhost.Target{{Job: "j"}})
		w.until(10*minute + second)
		x = w.trigger("j")
		is(w, "blocked", x.Refused.Blocked, 0)
		is(w, "collapsed", x.Refused.Collapsed, 8) // 2m to 10m, but one run for them
		isAt(w, "slot", x.Refused.Slot, 10*minute)
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "slots that an instance drops of a local job", func(w *world) {
		d := job("j", "cron * * * * *")
		d.RunOnEveryInstance = true
		w.define(d)
		w.takes("j", 3*minute+30*second)
		stop := w.serve()
		w.until(4*minute + second)
		s, err := jobhost.One(w.eng().Status(w.Context(), []jobhost.Name{"j"}))
		is(w, "error", err, nil)
		is(w, "blocked", s.Triggers[0].Refused.Blocked, 3)
		isAt(w, "slot", s.Triggers[0].Refused.Slot, 4*minute)
		is(w, "reason", s.Triggers[0].Refused.Last, "a run of the job was in progress on this instance")
		w.eng().StopNow()
		stop()
	})

	eachStore(t, "S-74 an instant that was past when it was defined", func(w *world) {
		var log bytes.Buffer
		w.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		for _, m := range []jobhost.Misfire{jobhost.MisfireRunOnce, jobhost.MisfireSkip, jobhost.MisfireRunAll} {
			d := job(strings.ReplaceAll("j-"+m.String(), "_", "-"), "once 2026-01-04T00:00:00Z")
			d.Triggers[0].Misfire = m
			info, err := jobhost.One(w.eng().Schedule(w.Context(), []jobhost.JobDef{d}))
			is(w, "error", err, nil)
			const why = "it has no next due and never fires again: its instant, 2026-01-04T00:00:00Z, was before it was defined"
			is(w, "warnings", fmt.Sprint(info.Warnings), `[trigger "t" has no due time: "once 2026-01-04T00:00:00Z": `+why+"]")
			if want := fmt.Sprintf(`level=WARN msg="no next fire" job=%s trigger=t why=%q`, d.Name, why); !strings.Contains(log.String(), want) {
				w.Errorf("the log has no %s:\n%s", want, log.String())
			}
			w.eng().set(Serving)
			x, err := w.eng().Explain(w.Context(), d.Name)
			is(w, "error", err, nil)
			is(w, "answer", x.Triggers[0].Answer, why)
		}
	})
}

func TestWhyATriggerIsComplete(t *testing.T) {
	calendars, err := calendar.Compile(calendar.Definition{Name: "weekend", Kind: "weekly"})
	if err != nil {
		t.Fatal(err)
	}
	c := &plans{calendars: calendars}
	for _, x := range []struct {
		name, schedule string
		fired          int
		refused        string
		want           string
	}{
		{"fired", "once 2026-01-05T00:00:00Z", 1, "", "it has no next due and never fires again: it has fired at its one instant"},
		{"skipped", "once 2026-01-05T00:00:00Z", 0, "misfire, and the policy is skip", "it has no next due and never fires again: misfire, and the policy is skip"},
		{"excluded", "once 2026-01-04T00:00:00Z calendar=weekend", 0, "", `it has no next due and never fires again: calendar "weekend" excludes it`},
		{"outside", "once 2026-01-05T00:00:00Z end=2026-01-04T00:00:00Z", 0, "", "it has no next due and never fires again: its instant is outside its own window"},
		{"past", "once 2026-01-05T08:00:00+08:00", 0, "", "it has no next due and never fires again: its instant, 2026-01-05T00:00:00Z, was before it was defined"},
		{"often enough", "every 1m x3", 3, "", "it has no next due and never fires again: it has fired 3 times, as often as it was to"},
		{"window", "cron 0 0 * * * end=2026-01-05T12:00:00Z", 2, "", "it has no next due and never fires again: its window ended at 2026-01-05T12:00:00Z"},
		{"never", "cron 0 0 30 2 *", 0, "", "it has no next due: its schedule has ended, or never matches"},
		{"calendar gone", "cron 0 0 * * * calendar=gone", 0, "", "it has no next due: its schedule has ended, or never matches"},
	} {
		t.Run(x.name, func(t *testing.T) {
			tr := jobhost.Trigger{TriggerDef: jobhost.TriggerDef{Schedule: x.schedule}, FiredCount: x.fired, Refused: jobhost.Refusals{Last: x.refused}}
			if got := c.whyComplete(tr, t0.Add(48*hour)); got != x.want {
				t.Errorf("it says %q, want %q", got, x.want)
			}
		})
	}
}
