package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// apply applies definitions of files to an engine that serves or is told that it does.
func (w *world) apply(defs ...jobhost.JobDef) {
	w.Helper()
	if w.eng().State() == Created {
		w.eng().set(Serving)
	}
	if err := w.eng().Apply(w.Context(), defs); err != nil {
		w.Fatal(err)
	}
}

// calendars compiles a set.
func (w *world) calendars(defs ...calendar.Definition) calendar.Set {
	w.Helper()
	set, err := calendar.Compile(defs...)
	if err != nil {
		w.Fatal(err)
	}
	return set
}

func (w *world) setCalendars(defs ...calendar.Definition) {
	w.Helper()
	if err := w.eng().SetCalendars(w.Context(), w.calendars(defs...)); err != nil {
		w.Fatal(err)
	}
}

func holidays(dates ...string) calendar.Definition {
	return calendar.Definition{Name: "c", Kind: "holiday", Dates: dates}
}

func TestReload(t *testing.T) {
	eachStore(t, "FR-47 a reload in a long run delays no firing", func(w *world) {
		w.apply(job("long", "once 2026-01-05T00:00:01Z"), job("tick", "cron * * * * * *"))
		w.takes("long", minute)
		stop := w.serve()
		w.until(5 * second)
		is(w, "the long run is in progress", w.only("long").State, jobhost.RunRunning)
		longer := job("long", "once 2026-01-05T00:00:01Z")
		longer.Timeout = hour
		w.apply(longer, job("tick", "cron * * * * * *"), job("new", "cron * * * * * *"))
		w.until(65*second + 500*time.Millisecond)
		for name, first := range map[jobhost.Name]int{"tick": 1, "new": 6} {
			rs := w.runs(name)
			is(w, "runs of "+name, len(rs), 66-first)
			for i, r := range rs {
				isAt(w, "scheduled", r.ScheduledAt, time.Duration(first+i)*second)
				isAt(w, "started", r.StartedAt, time.Duration(first+i)*second)
			}
		}
		is(w, "the long run", w.only("long").State, jobhost.RunSucceeded)
		stop()
	})

	eachStore(t, "FR-48 a job stops with the reload that removes it, and begins with the one that brings it back", func(w *world) {
		tick, other := job("tick", "cron * * * * * *"), job("other", "cron * * * * * *")
		w.apply(tick, other)
		stop := w.serve()
		w.until(5*second + 500*time.Millisecond)
		w.apply(other)
		w.until(20*second + 500*time.Millisecond)
		is(w, "runs", len(w.runs("tick")), 5)
		w.apply(tick, other)
		w.until(25*second + 500*time.Millisecond)
		rs := w.runs("tick")
		is(w, "runs", len(rs), 10)
		isAt(w, "the first one after it was back", rs[5].ScheduledAt, 21*second)
		is(w, "runs of the other", len(w.runs("other")), 25)
		stop()
	})

	eachStore(t, "FR-49 an empty set is fine, and the next one is too", func(w *world) {
		stop := w.serve()
		w.apply()
		w.apply(job("j", "cron * * * * * *"))
		w.apply()
		w.until(3 * second)
		is(w, "runs", len(w.runs("j")), 0)
		is(w, "jobs", len(w.eng().Status(w.Context(), nil)), 0)
		stop()
	})

	eachStore(t, "FR-49 a set with a mistake changes nothing", func(w *world) {
		w.apply(job("j", "cron * * * * * *"))
		stop := w.serve()
		bad := job("new", "every 1h")
		bad.Plugin = "nowhere"
		err := w.eng().Apply(w.Context(), []jobhost.JobDef{bad})
		is(w, "code", jobhost.CodeOf(err), jobhost.NotFoundPlugin)
		w.until(3*second + 500*time.Millisecond)
		is(w, "runs", len(w.runs("j")), 3)
		_, err = jobhost.One(w.eng().Restore(w.Context(), []jobhost.Name{"j"}))
		is(w, "restore of what the last good set defines", err, nil)
		stop()
	})

	eachStore(t, "a reload without a change costs no commit, and one with a change touches that alone", func(w *world) {
		counted := &faulty{Store: w.store}
		w.store = counted
		defs := []jobhost.JobDef{job("a", "every 1h"), job("b", "every 1h"), job("c", "every 1h")}
		w.apply(defs...)
		w.define(job("b", "every 2h")) // overrides
		before := counted.tried
		w.apply(defs...)
		is(w, "commits", counted.tried-before, 0)
		w.until(minute)
		defs[2] = job("c", "every 3h")
		w.apply(defs...)
		w.waits("a", hour)
		w.waits("b", 2*hour)
		w.waits("c", 3*hour+minute)
	})

	eachStore(t, "after an error of the store the next call goes on", func(w *world) {
		store := &faulty{Store: w.store}
		w.store = store
		w.apply(job("a", "every 1h"))
		store.set(func(jobhost.Tx) error {
			return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "gone"}
		}, nil)
		defs := []jobhost.JobDef{job("b", "every 1h")}
		err := w.eng().Apply(w.Context(), defs)
		is(w, "code", jobhost.CodeOf(err), jobhost.StoreUnreachable)
		store.set(nil, nil)
		w.apply(defs...)
		is(w, "jobs", len(w.eng().Status(w.Context(), nil)), 1)
		w.waits("b", hour)
	})

	eachStore(t, "of reloads at the same time the last one counts", func(w *world) {
		stop := w.serve()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { w.apply(job(fmt.Sprintf("j%d", i), "every 1h")) })
		}
		all.Wait()
		rs := w.eng().Status(w.Context(), nil)
		is(w, "jobs", len(rs), 1)
		is(w, "the files' job", rs[0].Value.Name, w.eng().fileNames()[0])
		stop()
	})
}

func TestCalendarsThatChange(t *testing.T) {
	eachStore(t, "what is excluded now does not fire, and what is no longer excluded does", func(w *world) {
		w.cfg.Calendars = w.calendars(holidays("2026-01-06"), calendar.Definition{Name: "d", Kind: "holiday", Dates: []string{"2026-01-06"}})
		w.define(job("j", "cron 0 0 12 * * * calendar=c"), job("k", "cron 0 0 12 * * * calendar=d"), job("plain", "cron 0 0 12 * * *"))
		stop := w.serve()
		w.until(13 * hour)
		w.waits("j", 60*hour)
		is(w, "plans", len(w.runs("j")), 1)
		w.setCalendars(holidays("2026-01-07"), calendar.Definition{Name: "d", Kind: "holiday", Dates: []string{"2026-01-06"}})
		w.waits("j", 36*hour)
		w.waits("k", 60*hour)
		w.waits("plain", 36*hour)
		w.until(37 * hour)
		is(w, "runs", len(w.runs("j")), 2)
		w.waits("j", 84*hour)
		stop()
	})

	eachStore(t, "a trigger whose calendar is gone waits, and fires when it is back", func(w *world) {
		w.cfg.Calendars = w.calendars(holidays())
		w.define(job("j", "cron * * * * * calendar=c"))
		stop := w.serve()
		w.until(90 * second)
		w.setCalendars()
		w.until(5*minute + 30*second)
		is(w, "runs", len(w.runs("j")), 1)
		w.waits("j", 2*minute)
		x, err := w.eng().Explain(w.Context(), "j")
		is(w, "error", err, nil)
		is(w, "answer", x.Triggers[0].Answer, `calendar "c" is not registered`)
		_, err = jobhost.One(w.eng().Schedule(w.Context(), []jobhost.JobDef{job("k", "every 1h calendar=c")}))
		is(w, "a new definition", jobhost.CodeOf(err), jobhost.InvalidDefinition)
		w.setCalendars(holidays())
		w.until(5*minute + 31*second)
		is(w, "runs", len(w.runs("j")), 2) // what was missed is judged by the policy
		w.waits("j", 6*minute)
		stop()
	})

	eachStore(t, "local triggers too", func(w *world) {
		d := job("j", "cron 0 0 12 * * * calendar=c")
		d.RunOnEveryInstance = true
		w.cfg.Calendars = w.calendars(holidays())
		w.define(d)
		stop := w.serve()
		w.until(hour)
		w.setCalendars(holidays("2026-01-05"))
		s := w.eng().Status(w.Context(), []jobhost.Name{"j"})[0].Value
		isAt(w, "next", s.NextRun, 36*hour)
		w.until(13 * hour)
		is(w, "runs", len(w.runs("j")), 0)
		w.until(37 * hour)
		is(w, "runs", len(w.runs("j")), 1)
		stop()
	})

	eachStore(t, "an equal set changes nothing, and after an error of the store the next call goes on", func(w *world) {
		store := &faulty{Store: w.store}
		w.store = store
		w.cfg.Calendars = w.calendars(holidays("2026-01-05"), calendar.Definition{Name: "both", Kind: "composite", Members: []calendar.Member{{Name: "c"}}})
		w.define(job("j", "cron 0 0 12 * * * calendar=both"))
		w.waits("j", 36*hour)
		before := store.tried
		w.setCalendars(holidays("2026-01-05"), calendar.Definition{Name: "both", Kind: "composite", Members: []calendar.Member{{Name: "c"}}})
		is(w, "commits", store.tried-before, 0)

		set := w.calendars(holidays("2026-01-06"), calendar.Definition{Name: "both", Kind: "composite", Members: []calendar.Member{{Name: "c"}}})
		store.set(func(jobhost.Tx) error { return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "gone"} }, nil)
		is(w, "code", jobhost.CodeOf(w.eng().SetCalendars(w.Context(), set)), jobhost.StoreUnreachable)
		store.set(nil, nil)
		is(w, "error", w.eng().SetCalendars(w.Context(), set), nil)
		w.waits("j", 12*hour)
	})
}

func TestRecast(t *testing.T) {
	at := t0.Add
	set, err := calendar.Compile(holidays("2026-01-06"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := func(due time.Duration) jobhost.Trigger {
		return jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at(due)}
	}
	complete := jobhost.Trigger{State: jobhost.TriggerComplete}
	fired := jobhost.Trigger{State: jobhost.TriggerComplete, FiredCount: 1, LastFired: at(2 * hour)}
	for _, c := range []struct {
		name, schedule string
		t              jobhost.Trigger
		want           time.Duration // of the due; 0: none
	}{
		{"a due that is excluded now moves on", "cron 0 0 12 * * *", waiting(36 * hour), 12 * hour},
		{"a due that was further away than it need be moves back", "cron 0 0 12 * * *", waiting(60 * hour), 12 * hour},
		{"what has fired does not fire again", "cron 0 0 12 * * *", jobhost.Trigger{State: jobhost.TriggerWaiting, Due: at(36 * hour), LastFired: at(12 * hour)}, 60 * hour},
		{"what is due stays due", "cron 0 0 12 * * *", waiting(5 * hour), 5 * hour},
		{"and so does what is due to the moment", "cron 0 0 12 * * *", waiting(6 * hour), 6 * hour},
		{"a Blocked one stays", "cron 0 0 12 * * *", jobhost.Trigger{State: jobhost.TriggerBlocked, Due: at(5 * hour)}, 5 * hour},
		{"a Running one stays", "every 1h", jobhost.Trigger{State: jobhost.TriggerRunning}, 0},
		{"a Complete one that has a due again", "cron 0 0 12 * * *", complete, 12 * hour},
		{"a Complete one that has none", "cron 0 0 12 * * * 2025", complete, 0},
		{"an interval counts from its run", "every 4h", waiting(9 * hour), 9 * hour},
		{"an interval that is excluded now", "every 4h", waiting(25 * hour), 49 * hour},
		{"an interval whose number is reached", "every 4h x1", fired, 0},
		{"an instant that is excluded now", "once 2026-01-06T12:00:00Z", waiting(36 * hour), 0},
		{"an instant that no longer is", "once 2026-01-05T12:00:00Z", complete, 12 * hour},
		{"an instant that has fired", "once 2026-01-05T02:00:00Z", fired, 0},
		{"an instant that is over", "once 2026-01-05T05:59:59Z", complete, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPlan(c.schedule+" calendar=c", set)
			if err != nil {
				t.Fatal(err)
			}
			got := recast(c.t, p, at(6*hour))
			want := time.Time{}
			if c.want != 0 {
				want = at(c.want)
			}
			if !got.Due.Equal(want) {
				t.Errorf("due %v, want %v", got.Due, want)
			}
			if again := recast(got, p, at(6*hour)); again.State != got.State || !again.Due.Equal(got.Due) {
				t.Errorf("the second time gives %v %v, the first one %v %v", again.State, again.Due, got.State, got.Due)
			}
			if to := jobhost.TriggerTransitions[c.t.State]; got.State != c.t.State && !strings.Contains(fmt.Sprintf("%v", to), got.State.String()) {
				t.Errorf("%v became %v, which is no transition", c.t.State, got.State)
			}
		})
	}
}

func TestDefinitionsThatNeedALook(t *testing.T) {
	warnings := func(w *world, schedule string) string {
		w.Helper()
		info, err := jobhost.One(w.eng().Schedule(w.Context(), []jobhost.JobDef{job("j", schedule)}))
		if err != nil {
			w.Fatal(err)
		}
		return strings.Join(info.Warnings, "\n")
	}
	for _, c := range []struct{ name, schedule, want string }{
		{"FR-23 a run that a clock change removes", "cron 30 2 * * * tz=America/New_York", "2026-03-08"},
		{"FR-29 each second of the minutes", "cron * */15 * * * *", "second"},
		{"FR-30 day and weekday", "cron 0 0 13 * 5", "either"},
		{"FR-31 a date that never comes", "cron 0 0 30 2 *", "never fires"},
		{"an instant that is past", "once 2025-01-01T00:00:00Z", "never fires"},
	} {
		eachStore(t, c.name, func(w *world) {
			got := warnings(w, c.schedule)
			if strings.Count(got, "\n") != 0 || !strings.Contains(got, c.want) || !strings.Contains(got, `trigger "t"`) || !strings.Contains(got, c.schedule) {
				w.Errorf("the warnings are\n%s\nwant one that names trigger, schedule and %q", got, c.want)
			}
			is(w, "of a schedule that is as it should be", warnings(w, "cron 0 3 * * *"), "")
		})
	}
}

func TestStopNow(t *testing.T) {
	eachStore(t, "a second signal ends the draining and cancels the runs", func(w *world) {
		w.cfg.DrainDelay, w.cfg.CancelGrace = hour, 0
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", 10*hour)
		stop := w.serve()
		w.startManual("j")
		over := make(chan struct{})
		w.aside.Go(func() { defer close(over); stop() })
		w.until(minute)
		is(w, "state", w.eng().State(), Draining)
		w.eng().StopNow()
		<-over
		isAt(w, "stopped", w.cfg.Now(), minute)
		is(w, "run", w.only("j").State, jobhost.RunCanceled)
	})
	eachStore(t, "before a stop it stops nothing", func(w *world) {
		w.cfg.CancelGrace = 0
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", 10*hour)
		stop := w.serve()
		w.startManual("j")
		w.eng().StopNow()
		w.eng().StopNow()
		w.until(minute)
		is(w, "state", w.eng().State(), Serving)
		is(w, "run", w.only("j").State, jobhost.RunRunning)
		stop()
		isAt(w, "stopped", w.cfg.Now(), minute)
		is(w, "run", w.only("j").State, jobhost.RunCanceled)
	})
}

func TestALogWithALimitOfItsOwn(t *testing.T) {
	const entry = 100 + perEntry
	for _, c := range []struct{ entries, head, tail int }{{1, 0, 0}, {4, 1, 3}, {8, 2, 6}, {400, 20, 0}} {
		eachStore(t, fmt.Sprintf("room for %d of 20 entries", c.entries), func(w *world) {
			w.define(jobhost.NewJob("j", "p"))
			w.does("j", func(_ context.Context, call jobhost.Call) jobhost.Outcome {
				call.Sink.(interface{ LimitLog(bytes int) }).LimitLog(c.entries * entry)
				for i := range 20 {
					call.Sink.Log(0, fmt.Sprintf("%-100d", i+1))
				}
				return jobhost.Outcome{}
			})
			stop := w.serve()
			r := <-w.startManual("j")
			var got []string
			for e, err := range w.eng().Log(w.Context(), r.Value.ID, jobhost.LogQuery{}) {
				is(w, "error", err, nil)
				got = append(got, strings.TrimSpace(e.Msg))
			}
			var want []string
			for i := range 20 {
				switch {
				case i < c.head, i >= 20-c.tail:
					want = append(want, strconv.Itoa(i+1))
				case i == c.head:
					want = append(want, fmt.Sprintf("… %d lines are missing here …", 20-c.head-c.tail))
				}
			}
			is(w, "log", strings.Join(got, ","), strings.Join(want, ","))
			stop()
		})
	}
}

func TestEventsBeginWithTheCall(t *testing.T) {
	eachStore(t, "also those of the stop are heard", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		events := w.eng().Events(w.Context())
		w.takes("j", hour)
		w.startManual("j")
		stop()
		var topics []string
		for e, err := range events {
			is(w, "error", err, nil)
			topics = append(topics, string(e.Topic))
		}
		is(w, "topics", strings.Join(topics, " "), "scheduling.run.started scheduling.run.canceled")
		is(w, "listeners", w.eng().events.wanted(), false)
	})
	eachStore(t, "each way to a definition has its topic", func(w *world) {
		stop := w.serve()
		events := w.eng().Events(w.Context())
		file := job("j", "every 1h")
		w.apply(file)                         // scheduled
		w.define(job("j", "every 2h"))        // scheduled
		w.define(file)                        // scheduled: back to the file's, on request
		w.define(job("j", "every 2h"))        // scheduled
		w.apply(job("j", "every 3h"))         // reset: nobody has asked
		w.apply(job("j", "every 4h"))         // scheduled
		w.define(job("j", "every 2h"))        // scheduled
		w.eng().Restore(w.ctx, []string{"j"}) // restored
		stop()
		var topics []string
		for e, err := range events {
			is(w, "error", err, nil)
			topics = append(topics, strings.TrimPrefix(string(e.Topic), "scheduling.job."))
		}
		is(w, "topics", strings.Join(topics, " "), "scheduled scheduled scheduled scheduled reset scheduled scheduled restored")
	})
	eachStore(t, "who never listens leaves with the end of the context", func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		w.eng().Events(ctx)
		is(w, "listeners", w.eng().events.wanted(), true)
		cancel()
		synctest.Wait()
		is(w, "listeners", w.eng().events.wanted(), false)
	})
}

func TestJobNamesComeInPages(t *testing.T) {
	eachStore(t, "in order", func(w *world) {
		w.define(job("b", "every 1h"), job("a", "every 1h"), job("c", "every 1h"))
		names, err := w.eng().JobNames(w.Context(), "a", 1)
		is(w, "error", err, nil)
		is(w, "names", fmt.Sprint(names), "[b]")
	})
}

func TestAReloadOnOneOfSeveralNodes(t *testing.T) {
	onCluster(t, "a job that comes back to a node's files fires there at once", 2, func(ws []*world) {
		stop := serveAll(ws)
		a, b := ws[0], ws[1]
		tick := job("tick", "cron * * * * * *")
		a.apply(tick)
		a.until(10*second + 500*time.Millisecond)
		is(a, "runs", len(a.runs("tick")), 10)
		a.apply()
		a.until(3 * minute)
		for _, w := range ws {
			is(w, "orphaned", w.eng().Status(w.Context(), []jobhost.Name{"tick"})[0].Value.Orphaned, true)
		}
		n := len(b.runs("tick"))
		b.apply(tick)
		b.until(3*minute + 2*second)
		if got := len(b.runs("tick")); got <= n {
			b.Errorf("%d runs, as many as before it was back", got)
		}
		is(b, "orphaned", b.eng().Status(b.Context(), []jobhost.Name{"tick"})[0].Value.Orphaned, false)
		b.until(5 * minute)
		is(a, "orphaned for the other", a.eng().Status(a.Context(), []jobhost.Name{"tick"})[0].Value.Orphaned, false)
		stop()
	})
}
