package jobtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// CancelRuns.
var cancelCases = []schedulerCase{
	{name: "S-155 S-183 cancelling is answered item by item", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("long", "p"))
		ended := s.run("j").ID
		s.takes("long", time.Hour)
		end := s.begin("long")
		pending := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour)})
		unknown := jobhost.NewRunID(s.began, [10]byte{9})
		got := s.CancelRuns(s.Context(), []jobhost.RunID{unknown, ended, s.only("long").ID, pending, "nonsense"})
		is(s, "codes", codes(got), []jobhost.Code{jobhost.NotFoundRun, jobhost.NotFoundRun, "", "", jobhost.NotFoundRun})
		r := (<-end).Value
		is(s, "the run in progress", []any{r.State, r.ErrorCode}, []any{jobhost.RunCanceled, jobhost.Canceled})
		s.until(2 * time.Hour)
		p := s.runs(jobhost.RunQuery{IDs: []jobhost.RunID{pending}})
		is(s, "the run that never started", []any{len(p), p[0].State, p[0].ErrorCode}, []any{1, jobhost.RunCanceled, jobhost.Canceled})
		is(s, "again", codes(s.CancelRuns(s.Context(), []jobhost.RunID{pending, r.ID})), []jobhost.Code{jobhost.NotFoundRun, jobhost.NotFoundRun})
	}},
	{name: "a run that is cancelled before it starts has no node and no start, and its place in the history by its end", test: func(s *service) {
		local := jobhost.NewJob("local", "p")
		local.RunOnEveryInstance = true
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("deleted", "p"), local)
		before := s.run("j").ID
		ctx, leave := context.WithTimeout(s.Context(), 3*time.Hour)
		defer leave()
		events := s.Events(ctx)
		ids := map[jobhost.Name]jobhost.RunID{}
		for _, name := range []jobhost.Name{"j", "local", "deleted"} {
			ids[name] = s.enqueue(jobhost.EnqueueRequest{Job: name, At: s.at(9 * time.Hour)})
		}
		for i, cancel := range []func(){
			func() {
				is(s, "codes", codes(s.CancelRuns(s.Context(), []jobhost.RunID{ids["j"]})), []jobhost.Code{""})
			},
			func() {
				is(s, "codes", codes(s.CancelRuns(s.Context(), []jobhost.RunID{ids["local"]})), []jobhost.Code{""})
			},
			func() {
				is(s, "codes", codes(s.Delete(s.Context(), []jobhost.Name{"deleted"})), []jobhost.Code{""})
			},
		} {
			s.until(time.Duration(i+1) * time.Minute)
			cancel()
		}
		s.until(time.Hour)
		after := s.run("j").ID
		got := s.runs(jobhost.RunQuery{})
		is(s, "the history", len(got), 5)
		is(s, "the newest and the oldest", []jobhost.RunID{got[0].ID, got[4].ID}, []jobhost.RunID{after, before})
		for i, name := range []jobhost.Name{"deleted", "local", "j"} {
			r := got[1+i]
			why := "cancelled before it started"
			if name == "deleted" {
				why = "the job was deleted before the run started"
			}
			is(s, "the record of "+name, r, jobhost.Run{
				ID: ids[name], Job: name, Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: s.at(9 * time.Hour), Priority: 5,
				State: jobhost.RunCanceled, EndedAt: s.at(time.Duration(3-i) * time.Minute), ErrorCode: jobhost.Canceled, ErrorMessage: why,
			})
			text, err := json.Marshal(r)
			if err != nil || strings.Contains(string(text), "startedAt") || strings.Contains(string(text), "node") {
				s.Errorf("in JSON it is %s, %v", text, err)
			}
		}
		is(s, "of those minutes", s.runs(jobhost.RunQuery{From: s.at(time.Minute), To: s.at(2*time.Minute + 1)}), got[2:4])
		is(s, "of the node", len(s.runs(jobhost.RunQuery{Node: s.node()})), 2)
		is(s, "of one job", s.runs(jobhost.RunQuery{Job: "local"}), got[2:3])
		is(s, "the last run of one", s.status("local").Last, &got[2])
		told, _ := gather(events)
		var ends []jobhost.Event
		for _, e := range told {
			if e.Topic == jobhost.TopicRunCanceled {
				ends = append(ends, e)
			}
		}
		is(s, "events", len(ends), 3)
		is(s, "the first", ends[0], jobhost.Event{
			Topic: jobhost.TopicRunCanceled, Time: s.at(time.Minute), Job: "j", Run: ids["j"], Kind: jobhost.KindManual, Attempt: 1,
			At: s.at(9 * time.Hour), EndedAt: s.at(time.Minute), ErrorCode: jobhost.Canceled,
		})
	}},
	{name: "S-154 a cancelled run has its grace, and then ends", test: func(s *service) {
		names := []jobhost.Name{"deaf", "gives-up", "obeys"}
		for _, n := range names {
			s.define(jobhost.NewJob(n, "p"))
		}
		s.takes("deaf", time.Hour)
		for name, out := range map[jobhost.Name]jobhost.Outcome{"obeys": {}, "gives-up": {Code: "E_OWN"}} {
			s.does(name, func(_ context.Context, c jobhost.Call) jobhost.Outcome {
				<-c.Stop
				time.Sleep(time.Second)
				return out
			})
		}
		var ends []<-chan jobhost.Result[jobhost.Run]
		var ids []jobhost.RunID
		for _, n := range names {
			ends = append(ends, s.begin(n))
			ids = append(ids, s.only(n).ID)
		}
		is(s, "codes", codes(s.CancelRuns(s.Context(), ids)), make([]jobhost.Code, 3))
		var got []string
		for _, end := range ends {
			r := (<-end).Value
			got = append(got, fmt.Sprintf("%s is %v %s after %v", r.Job, r.State, r.ErrorCode, r.EndedAt.Sub(s.began)))
		}
		is(s, "ends", got, []string{
			"deaf is Canceled SCHEDULING_CONFLICT_003 after 5s", "gives-up is Canceled SCHEDULING_CONFLICT_003 after 1s", "obeys is Succeeded  after 1s",
		})
	}},
	{name: "FR-15 S-144 a chain whose second attempt is cancelled has no third", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 5, Delay: time.Minute}
		s.define(d)
		s.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.Attempt > 1 {
				<-ctx.Done()
			}
			return jobhost.Outcome{Code: "E_OWN"}
		})
		first := s.run("j")
		s.until(90 * time.Second)
		second := s.runs(jobhost.RunQuery{RetryOf: first.ID})
		is(s, "retries", len(second), 1)
		is(s, "code", codes(s.CancelRuns(s.Context(), []jobhost.RunID{second[0].ID})), []jobhost.Code{""})
		s.until(time.Hour)
		var states []jobhost.RunState
		for _, r := range s.runs(jobhost.RunQuery{}) {
			states = append(states, r.State)
		}
		is(s, "states", states, []jobhost.RunState{jobhost.RunCanceled, jobhost.RunFailed})
	}},
}
