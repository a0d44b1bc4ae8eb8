package jobtest

import (
	"context"
	"encoding/json"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// Schedule, Restore and Delete.
var defineCases = []schedulerCase{
	{name: "S-14 S-15 S-183 a batch of definitions is answered item by item, in its order", test: func(s *service) {
		twins := jobhost.NewJob("twins", "p", jobhost.NewTrigger("t", "every 1h"), jobhost.NewTrigger("t", "every 2h"))
		got := s.Schedule(s.Context(), []jobhost.JobDef{
			minutely("good"), jobhost.NewJob("stray", "none"), jobhost.NewJob("dated", "p", jobhost.NewTrigger("t", "cron 0 0 * * * calendar=none")),
			twins, jobhost.NewJob("Not a name", "p"), jobhost.NewJob("odd", "p", jobhost.NewTrigger("t", "every 0s")), jobhost.NewJob("also-good", "broken"),
		})
		is(s, "codes", codes(got), []jobhost.Code{
			"", jobhost.NotFoundPlugin, jobhost.InvalidDefinition, jobhost.InvalidDefinition, jobhost.InvalidDefinition, jobhost.InvalidDefinition, "",
		})
		is(s, "the first answer", got[0].Value, jobhost.JobInfo{Name: "good", Source: jobhost.SourceRuntime})
		is(s, "the last answer", got[6].Value, jobhost.JobInfo{Name: "also-good", Source: jobhost.SourceRuntime})
		var names []jobhost.Name
		for _, r := range s.Status(s.Context(), nil) {
			names = append(names, r.Value.Name)
		}
		is(s, "what is stored", names, []jobhost.Name{"also-good", "good"})
	}},
	{name: "an empty batch has no answers", test: func(s *service) {
		ctx := s.Context()
		n := len(s.Schedule(ctx, nil)) + len(s.Restore(ctx, nil)) + len(s.Delete(ctx, nil)) + len(s.Pause(ctx, nil)) + len(s.Resume(ctx, nil)) +
			len(s.Trigger(ctx, nil)) + len(s.Enqueue(ctx, nil)) + len(s.CancelRuns(ctx, nil)) + len(s.Status(ctx, nil))
		is(s, "answers", n, 0)
	}},
	{name: "a redefinition keeps the triggers whose schedule means the same", test: func(s *service) {
		three := func(kept, changed string, more ...jobhost.TriggerDef) jobhost.JobDef {
			return jobhost.NewJob("j", "p", append(more, jobhost.NewTrigger("kept", kept), jobhost.NewTrigger("changed", changed))...)
		}
		s.define(three("every 1h", "cron 5 * * * *", jobhost.NewTrigger("gone", "every 5h")))
		s.until(80 * time.Minute)
		s.define(three("every 60m", "cron 30 * * * *"))
		st := s.status("j")
		is(s, "triggers", len(st.Triggers), 2)
		is(s, "next run", st.NextRun, s.at(90*time.Minute))
		changed, kept := st.Triggers[0], st.Triggers[1]
		is(s, "what changed", changed, jobhost.TriggerStatus{
			Name: "changed", Schedule: "cron 30 * * * *", State: "Waiting", NextFireAt: s.at(90 * time.Minute), Priority: 5,
			LastFiredAt: changed.LastFiredAt,
		})
		is(s, "what did not", kept, jobhost.TriggerStatus{
			Name: "kept", Schedule: kept.Schedule, State: "Waiting", NextFireAt: s.at(2 * time.Hour), LastFiredAt: s.at(time.Hour), FiredCount: 1, Priority: 5,
		})
		is(s, "the text of what did not", kept.Schedule, "every 60m")
	}},
	{name: "a trigger that never fires is defined, Complete, and told of", test: func(s *service) {
		got := s.Schedule(s.Context(), []jobhost.JobDef{
			jobhost.NewJob("past", "p", jobhost.NewTrigger("t", "once 1999-01-01T00:00:00Z")), jobhost.NewJob("never", "p", jobhost.NewTrigger("t", "cron 0 0 30 2 *")),
		})
		is(s, "codes", codes(got), []jobhost.Code{"", ""})
		for _, r := range got {
			if len(r.Value.Warnings) == 0 {
				s.Errorf("%q has no warning", r.Value.Name)
			}
			st := s.status(r.Value.Name)
			is(s, "state of "+r.Value.Name, st.Triggers[0].State, "Complete")
			is(s, "next run of "+r.Value.Name, st.NextRun, time.Time{})
		}
	}},
	{name: "a redefinition does not touch a run in progress", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Data = json.RawMessage(`{"v":1}`)
		s.define(d)
		s.takes("j", time.Minute)
		first := s.begin("j")
		d.Data, d.Timeout, d.AllowConcurrent = json.RawMessage(`{"v":2}`), time.Second, true
		s.define(d)
		second := s.begin("j")
		one, two := (<-first).Value, (<-second).Value
		is(s, "the first", []string{one.State.String(), string(one.Data)}, []string{"Succeeded", `{"v":1}`})
		is(s, "the second", []string{two.State.String(), string(two.Data)}, []string{"Failed", `{"v":2}`})
		is(s, "its code", two.ErrorCode, jobhost.TimedOut)
	}},
	{name: "S-179 Restore puts back what a file defines", early: true, test: func(s *service) {
		files := []jobhost.JobDef{jobhost.NewJob("changed", "p", jobhost.NewTrigger("t", "every 1h")), jobhost.NewJob("deleted", "p")}
		if err := s.Apply(s.Context(), files); err != nil {
			s.Fatal(err)
		}
		s.serve()
		over := jobhost.NewJob("changed", "p", jobhost.NewTrigger("t", "every 2h"))
		got := s.Schedule(s.Context(), []jobhost.JobDef{over, jobhost.NewJob("runtime", "p")})
		is(s, "source of an override", got[0].Value, jobhost.JobInfo{Name: "changed", Source: jobhost.SourceOverridden})
		is(s, "deletion", codes(s.Delete(s.Context(), []jobhost.Name{"deleted"})), []jobhost.Code{""})
		got = s.Restore(s.Context(), []jobhost.Name{"changed", "runtime", "deleted", "nowhere"})
		is(s, "codes", codes(got), []jobhost.Code{"", jobhost.NotFoundDefinition, "", jobhost.NotFoundJob})
		is(s, "changed", got[0].Value, jobhost.JobInfo{Name: "changed", Source: jobhost.SourceFile})
		is(s, "deleted", got[2].Value, jobhost.JobInfo{Name: "deleted", Source: jobhost.SourceFile})
		is(s, "next run", s.status("changed").NextRun, s.at(time.Hour))
		is(s, "source that status shows", s.status("changed").Source, jobhost.SourceFile)
		got = s.Schedule(s.Context(), files[:1])
		is(s, "source of the file's own definition", got[0].Value.Source, jobhost.SourceFile)
	}},
	{name: "S-192 the run of a deleted job goes on and is recorded, and nothing follows", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second}
		s.define(d)
		s.does("j", func(context.Context, jobhost.Call) jobhost.Outcome {
			time.Sleep(time.Minute)
			return jobhost.Outcome{Code: "E_OWN"}
		})
		first := s.begin("j")
		is(s, "codes", codes(s.Delete(s.Context(), []jobhost.Name{"j", "none", "j"})), []jobhost.Code{"", jobhost.NotFoundJob, jobhost.NotFoundJob})
		is(s, "status", codes(s.Status(s.Context(), []jobhost.Name{"j"})), []jobhost.Code{jobhost.NotFoundJob})
		is(s, "end", (<-first).Value.State, jobhost.RunFailed)
		s.until(time.Hour)
		is(s, "history", s.only("j").State, jobhost.RunFailed)
	}},
	{name: "FR-15 a deletion takes along what has not started", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		id := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour)})
		s.Delete(s.Context(), []jobhost.Name{"j"})
		s.define(jobhost.NewJob("j", "p"))
		is(s, "the run", s.only("j").State, jobhost.RunCanceled) // whoever has its id finds what became of it
		is(s, "cancelling it", codes(s.CancelRuns(s.Context(), []jobhost.RunID{id})), []jobhost.Code{jobhost.NotFoundRun})
		s.until(2 * time.Hour)
		is(s, "state long after", s.only("j").State, jobhost.RunCanceled)
	}},
}

// Pause and Resume.
var pauseCases = []schedulerCase{
	{name: "S-184 S-183 a pause is answered item by item, and twice is no error", test: func(s *service) {
		s.define(minutely("j"))
		targets := []jobhost.Target{{Job: "none"}, {Job: "j", Trigger: "none"}, {Job: "j"}, {Job: "j"}, {Job: "j", Trigger: "t"}}
		want := []jobhost.Code{jobhost.NotFoundJob, jobhost.NotFoundTrigger, "", "", ""}
		is(s, "pausing", codes(s.Pause(s.Context(), targets)), want)
		is(s, "resuming", codes(s.Resume(s.Context(), targets)), want)
		is(s, "resuming again", codes(s.Resume(s.Context(), targets)), want)
		is(s, "paused", s.status("j").Paused, false)
	}},
	{name: "what is paused does not fire, keeps its due and shows why, until it is resumed", test: func(s *service) {
		s.define(minutely("all"), jobhost.NewJob("one", "p", jobhost.NewTrigger("quiet", "cron 0 * * * * *"), jobhost.NewTrigger("t", "cron 0 * * * * *")))
		s.Pause(s.Context(), []jobhost.Target{{Job: "all", Reason: "moving house"}, {Job: "one", Trigger: "quiet", Reason: "too loud"}})
		s.until(90 * time.Second)
		is(s, "runs of all", len(s.runs(jobhost.RunQuery{Job: "all"})), 0)
		is(s, "the other trigger", s.only("one").Trigger, "t")
		all, one := s.status("all"), s.status("one")
		is(s, "paused", []bool{all.Paused, one.Paused}, []bool{true, false})
		is(s, "reason", all.PauseReason, "moving house")
		is(s, "states", []string{all.Triggers[0].State, one.Triggers[0].State, one.Triggers[1].State}, []string{"Paused", "Paused", "Waiting"})
		is(s, "next run while paused", all.NextRun, s.at(time.Minute))
		s.explains("all", "moving house")
		s.explains("one", "too loud")
		s.Resume(s.Context(), []jobhost.Target{{Job: "all"}, {Job: "one", Trigger: "quiet"}})
		synctest.Wait()
		is(s, "its due is made up for", s.only("all").ScheduledAt, s.at(time.Minute))
		is(s, "reason after all", s.status("all").PauseReason, "")
		is(s, "paused after all", s.status("all").Paused, false)
	}},
	{name: "S-140 what is late after a pause is judged by its policy, unless the missed is skipped", test: func(s *service) {
		skip := minutely("skip")
		skip.Triggers[0].Misfire = jobhost.MisfireSkip
		s.define(minutely("once"), skip, minutely("leave"))
		targets := []jobhost.Target{{Job: "once"}, {Job: "skip"}, {Job: "leave", SkipMissed: true}}
		s.Pause(s.Context(), targets)
		const later = 10*time.Minute + 30*time.Second
		s.until(later)
		s.Resume(s.Context(), targets)
		synctest.Wait()
		is(s, "the make-up", s.only("once").ScheduledAt, s.at(later))
		is(s, "runs of the others", len(s.runs(jobhost.RunQuery{}))-1, 0)
		for _, name := range []jobhost.Name{"skip", "leave"} {
			st := s.status(name)
			is(s, "next run of "+name, st.NextRun, s.at(11*time.Minute))
			if r := st.Triggers[0].Refused; r == nil || r.Skipped == 0 || r.Last == "" {
				s.Errorf("%q does not say what it skipped: %+v", name, r)
			}
		}
	}},
	{name: "S-141 a paused job runs on request, and holds its retries", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: time.Minute}
		s.define(d)
		s.fails("j")
		s.Pause(s.Context(), []jobhost.Target{{Job: "j"}})
		is(s, "on request", s.run("j").State, jobhost.RunFailed)
		s.until(time.Hour)
		s.only("j")
		s.Resume(s.Context(), []jobhost.Target{{Job: "j"}})
		synctest.Wait()
		rs := s.runs(jobhost.RunQuery{Job: "j"})
		is(s, "runs", len(rs), 2)
		is(s, "kind", rs[0].Kind, jobhost.KindRetry)
		is(s, "planned for", rs[0].ScheduledAt, s.at(time.Minute))
	}},
}
