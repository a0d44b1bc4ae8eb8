package jobtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// Status, Explain, Plugins and Next.
var readCases = []schedulerCase{
	{name: "S-190 the status of a job that never ran", test: func(s *service) {
		d := minutely("j")
		d.Description = "counts the minutes"
		d.Triggers[0].Misfire, d.Triggers[0].Priority = jobhost.MisfireRunAll, -3
		s.define(d)
		is(s, "status", s.status("j"), jobhost.JobStatus{
			Name: "j", Plugin: "p", Source: jobhost.SourceRuntime, Description: "counts the minutes", NextRun: s.at(time.Minute),
			Triggers: []jobhost.TriggerStatus{{
				Name: "t", Schedule: "cron 0 * * * * *", State: "Waiting", NextFireAt: s.at(time.Minute), Priority: -3, Misfire: jobhost.MisfireRunAll,
			}},
		})
	}},
	{name: "status shows all jobs by name, or those that are asked for in the order of the question", test: func(s *service) {
		s.define(jobhost.NewJob("c", "p"), jobhost.NewJob("a", "p"), jobhost.NewJob("b", "p"))
		ask := func(names ...jobhost.Name) (found []jobhost.Name, all []jobhost.Code) {
			rs := s.Status(s.Context(), names)
			for _, r := range rs {
				found = append(found, r.Value.Name)
			}
			return found, codes(rs)
		}
		names, cs := ask()
		is(s, "all", names, []jobhost.Name{"a", "b", "c"})
		is(s, "codes of all", cs, make([]jobhost.Code, 3))
		names, cs = ask("c", "none", "a", "c")
		is(s, "some", names, []jobhost.Name{"c", "", "a", "c"})
		is(s, "codes of some", cs, []jobhost.Code{"", jobhost.NotFoundJob, "", ""})
	}},
	{name: "status shows what runs, what ran last and what comes", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p", jobhost.NewTrigger("slow", "every 10m"), jobhost.NewTrigger("t", "cron 0 * * * * *")))
		s.fails("j")
		s.until(61 * time.Second)
		s.takes("j", 90*time.Second)
		s.until(3*time.Minute + time.Second)
		st := s.status("j")
		is(s, "running", st.IsRunning, true)
		is(s, "next run", st.NextRun, s.at(3*time.Minute))
		if st.Last == nil || st.Last.State != jobhost.RunFailed || !st.Last.ScheduledAt.Equal(s.at(time.Minute)) {
			s.Errorf("the last run is %+v, want the failed one of the first minute", st.Last)
		}
		is(s, "trigger", []any{st.Triggers[1].State, st.Triggers[1].FiredCount, st.Triggers[1].LastFiredAt}, []any{"Blocked", 2, s.at(2 * time.Minute)})
		if why := st.Triggers[1].Why; why == "" {
			s.Error("a trigger whose due has passed does not say why it waits")
		}
		s.until(3*time.Minute + 45*time.Second)
		is(s, "the run that waited", s.status("j").Last.State, jobhost.RunSucceeded)
		is(s, "an interval", s.status("j").Triggers[0], jobhost.TriggerStatus{
			Name: "slow", Schedule: "every 10m", State: "Waiting", NextFireAt: s.at(10 * time.Minute), Priority: 5,
		})
	}},
	{name: "a run in progress shows how far it says that it is, and the history does not", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			c.Sink.Progress(1, 10, "begun")
			time.Sleep(time.Second)
			c.Sink.Progress(7, 10, "nearly there")
			time.Sleep(time.Minute)
			return jobhost.Outcome{}
		})
		end := s.begin("j")
		is(s, "at first", s.only("j").Progress, &jobhost.Progress{Done: 1, Total: 10, Msg: "begun", At: s.began})
		s.until(2 * time.Second)
		is(s, "later", s.only("j").Progress, &jobhost.Progress{Done: 7, Total: 10, Msg: "nearly there", At: s.at(time.Second)})
		<-end
		is(s, "after it", s.only("j").Progress, nil)
	}},
	{name: "an explanation says why a job is not running now", test: func(s *service) {
		s.define(jobhost.NewJob("bare", "p"), minutely("later"), minutely("busy"), minutely("paused"), jobhost.NewJob("over", "p", jobhost.NewTrigger("t", "once 1999-01-01T00:00:00Z")))
		is(s, "code", code(s.Explain(s.Context(), "none")), jobhost.NotFoundJob)
		s.takes("busy", time.Hour)
		s.begin("busy")
		s.Pause(s.Context(), []jobhost.Target{{Job: "paused", Reason: "moving house"}})
		s.until(61 * time.Second)
		s.explains("bare", "no trigger")
		s.explains("later", "not due yet")
		s.explains("busy", string(s.only("busy").ID))
		s.explains("paused", "moving house")
		s.explains("over", "no next due")
		x, err := s.Explain(s.Context(), "busy")
		is(s, "error", err, nil)
		is(s, "triggers", []any{len(x.Triggers), x.Triggers[0].Trigger, x.Triggers[0].State, x.Triggers[0].Due}, []any{1, "t", "Blocked", s.at(time.Minute)})
	}},
	{name: "plugins are listed, also those that are not ready", test: func(s *service) {
		got, err := s.Plugins(s.Context())
		is(s, "error", err, nil)
		is(s, "plugins", got, actorPlugins)
	}},
	{name: "coming slots of triggers, of jobs and of texts", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 0 * * * *"), jobhost.NewTrigger("b", "cron 0 30 * * * *")), jobhost.NewJob("bare", "p"))
		ask := func(q jobhost.NextQuery) []jobhost.Slot {
			s.Helper()
			got, err := s.Next(s.Context(), q)
			if err != nil {
				s.Errorf("next %+v: %v", q, err)
			}
			return got
		}
		const half = 30 * time.Minute
		is(s, "of a trigger", ask(jobhost.NextQuery{Job: "j", Trigger: "b", Count: 2}), []jobhost.Slot{{Trigger: "b", At: s.at(half)}, {Trigger: "b", At: s.at(3 * half)}})
		is(s, "of a job", ask(jobhost.NextQuery{Job: "j", Count: 3}), []jobhost.Slot{{Trigger: "b", At: s.at(half)}, {Trigger: "a", At: s.at(2 * half)}, {Trigger: "b", At: s.at(3 * half)}})
		is(s, "from then on", ask(jobhost.NextQuery{Job: "j", Trigger: "a", From: s.at(24 * time.Hour), Count: 1}), []jobhost.Slot{{Trigger: "a", At: s.at(25 * time.Hour)}})
		is(s, "as many as by default", len(ask(jobhost.NextQuery{Job: "j"})), 10)
		is(s, "of a job without triggers", len(ask(jobhost.NextQuery{Job: "bare"})), 0)
		is(s, "of a text that ends", ask(jobhost.NextQuery{Schedule: "once 2000-01-02T00:00:00Z"}), []jobhost.Slot{{At: s.at(24 * time.Hour)}})
		gap := ask(jobhost.NextQuery{Schedule: "cron 0 30 2 * * * tz=America/New_York", From: time.Date(2000, 4, 1, 12, 0, 0, 0, time.UTC), Count: 1})
		if len(gap) != 2 || gap[0].Skipped == "" || gap[1].Skipped != "" || !gap[1].At.Equal(time.Date(2000, 4, 3, 6, 30, 0, 0, time.UTC)) {
			s.Errorf("over a clock change: %+v; want a skipped one with its reason, and the one after it", gap)
		}
		is(s, "the most", len(ask(jobhost.NextQuery{Schedule: "every 1m", Count: 1000})), 1000)
		for want, qs := range map[jobhost.Code][]jobhost.NextQuery{
			jobhost.InvalidDefinition: {{Schedule: "never"}, {Schedule: "every 1m", Count: 1001}, {Job: "j", Count: -1}},
			jobhost.NotFoundJob:       {{Job: "none"}, {Job: "none", Trigger: "a"}},
			jobhost.NotFoundTrigger:   {{Job: "j", Trigger: "none"}, {Job: "bare", Trigger: "a"}},
		} {
			for _, q := range qs {
				is(s, "code", code(s.Next(s.Context(), q)), want)
			}
		}
	}},
}

// explains requires that the explanation of a job mentions something.
func (s *service) explains(name jobhost.Name, want string) {
	s.Helper()
	x, err := s.Explain(s.Context(), name)
	if err != nil {
		s.Errorf("explain %q: %v", name, err)
		return
	}
	all := []string{x.Answer}
	for _, t := range x.Triggers {
		all = append(all, t.Answer)
	}
	if x.Job != name || x.Answer == "" || !slices.ContainsFunc(all, func(a string) bool { return strings.Contains(a, want) }) {
		s.Errorf("job %q is explained by %q, which does not say %q", x.Job, all, want)
	}
}
