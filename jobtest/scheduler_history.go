package jobtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// Runs and CountRuns.
var historyCases = []schedulerCase{
	{name: "S-182 pages have bounds, and an error of the call beyond them", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.AllowConcurrent = true
		s.define(d)
		for i := range 3 {
			s.until(time.Duration(i) * time.Second)
			is(s, "codes", codes(s.Trigger(s.Context(), slices.Repeat([]jobhost.TriggerRequest{{Job: "j"}}, 40))), make([]jobhost.Code, 40))
		}
		all := s.runs(jobhost.RunQuery{Limit: 1000})
		is(s, "all", len(all), 120)
		if !slices.IsSortedFunc(all, newestFirst) {
			s.Error("the history is not in the order newest start first, then id")
		}
		is(s, "without a limit", s.runs(jobhost.RunQuery{}), all[:100])
		is(s, "a page", s.runs(jobhost.RunQuery{Skip: 30, Limit: 30}), all[30:60])
		is(s, "the last page", s.runs(jobhost.RunQuery{Skip: 110, Limit: 30}), all[110:])
		is(s, "beyond the last", len(s.runs(jobhost.RunQuery{Skip: 1000})), 0)
		for _, q := range []jobhost.RunQuery{{Limit: 1001}, {Limit: -1}, {Skip: -1}} {
			is(s, fmt.Sprintf("limit %d, skip %d", q.Limit, q.Skip), code(s.Runs(s.Context(), q)), jobhost.InvalidPage)
		}
		n, err := s.CountRuns(s.Context(), jobhost.RunQuery{Skip: 7, Limit: 3})
		is(s, "count", []any{n, err}, []any{120, nil})
	}},
	{name: "S-103 the history is searched by every field of a query", test: func(s *service) {
		d := jobhost.NewJob("a", "p", jobhost.NewTrigger("t", "every 1m"), jobhost.NewTrigger("u", "cron 30 * * * * *"))
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: time.Second}
		s.define(d, jobhost.NewJob("b", "p", jobhost.NewTrigger("t", "every 7s")))
		s.fails("a")
		s.until(150 * time.Second)
		s.run("b")
		all := s.runs(jobhost.RunQuery{Limit: 1000})
		first := all[slices.IndexFunc(all, func(r jobhost.Run) bool { return r.RetryOf != "" })].RetryOf
		node := s.node()
		for name, q := range map[string]jobhost.RunQuery{
			"ids":     {IDs: []jobhost.RunID{all[3].ID, all[0].ID, jobhost.NewRunID(s.began, [10]byte{9})}},
			"job":     {Job: "a"},
			"trigger": {Trigger: "u"},
			"states":  {States: []jobhost.RunState{jobhost.RunFailed, jobhost.RunLost}},
			"kinds":   {Kinds: []jobhost.RunKind{jobhost.KindRetry, jobhost.KindManual}},
			"node":    {Node: node},
			"from":    {From: s.at(67 * time.Second)},
			"to":      {To: s.at(67 * time.Second)},
			"retryOf": {RetryOf: first},
			"several": {Job: "b", Trigger: "t", States: []jobhost.RunState{jobhost.RunSucceeded}, Kinds: []jobhost.RunKind{jobhost.KindSchedule}, Node: node, From: s.at(20 * time.Second), To: s.at(time.Minute)},
		} {
			want := slices.DeleteFunc(slices.Clone(all), func(r jobhost.Run) bool { return !q.Matches(&r) })
			if len(want) == 0 || len(want) == len(all) && name != "node" {
				s.Errorf("%s selects %d of %d runs, which shows nothing", name, len(want), len(all))
			}
			q.Limit = 1000
			is(s, "by "+name, s.runs(q), want)
			n, err := s.CountRuns(s.Context(), q)
			is(s, "count by "+name, []any{n, err}, []any{len(want), nil})
		}
		for _, q := range []jobhost.RunQuery{{Job: "none"}, {Trigger: "none"}, {Node: "none"}, {From: s.at(time.Hour)}, {To: s.began}} {
			is(s, "by what is not there", len(s.runs(q)), 0)
		}
	}},
}

func newestFirst(a, b jobhost.Run) int {
	return cmp.Or(b.ListedAt().Compare(a.ListedAt()), cmp.Compare(a.ID, b.ID))
}

// Log and Output.
var logCases = []schedulerCase{
	{name: "a log is read whole, or after an entry", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("silent", "p"))
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			c.Sink.Log(-4, "first")
			time.Sleep(time.Second)
			c.Sink.Log(0, "second <line> & \"more\"\n")
			c.Sink.Log(8, "ünïcode \u2028 and \x00")
			return jobhost.Outcome{}
		})
		id := s.run("j").ID
		want := []jobhost.LogEntry{
			{Seq: 1, Time: s.began, Level: -4, Msg: "first"},
			{Seq: 2, Time: s.at(time.Second), Level: 0, Msg: "second <line> & \"more\"\n"},
			{Seq: 3, Time: s.at(time.Second), Level: 8, Msg: "ünïcode \u2028 and \x00"},
		}
		for _, follow := range []bool{false, true} {
			for after := range 4 {
				got, err := gather(s.Scheduler.Log(s.Context(), id, jobhost.LogQuery{After: after, Follow: follow}))
				is(s, "error", err, nil)
				is(s, fmt.Sprintf("after %d", after), got, want[after:])
			}
		}
		got, err := gather(s.Scheduler.Log(s.Context(), s.run("silent").ID, jobhost.LogQuery{Follow: true}))
		is(s, "of a run that said nothing", []any{len(got), err}, []any{0, nil})
	}},
	{name: "a follower hears each line as it comes, and leaves with the run", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			for i := range 3 {
				c.Sink.Log(0, fmt.Sprint("line ", i))
				time.Sleep(3 * time.Second)
			}
			return jobhost.Outcome{}
		})
		id := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(10 * time.Second)}) // it is followed before it starts
		var heard []string
		for e, err := range s.Scheduler.Log(s.Context(), id, jobhost.LogQuery{Follow: true}) {
			if err != nil {
				s.Fatal(err)
			}
			heard = append(heard, fmt.Sprintf("%s at %v", e.Msg, time.Since(s.began)))
		}
		is(s, "heard", heard, []string{"line 0 at 10s", "line 1 at 13s", "line 2 at 16s"})
		is(s, "left after", time.Since(s.began), 19*time.Second)
		is(s, "the run", s.only("j").State, jobhost.RunSucceeded)
	}},
	{name: "who stops listening is let go, and who waits too long hears why", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		s.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			c.Sink.Log(0, "one")
			c.Sink.Log(0, "two")
			<-ctx.Done()
			return jobhost.Outcome{}
		})
		s.begin("j")
		id := s.only("j").ID
		for range s.Scheduler.Log(s.Context(), id, jobhost.LogQuery{Follow: true}) {
			break
		}
		ctx, leave := context.WithTimeout(s.Context(), time.Minute)
		defer leave()
		got, err := gather(s.Scheduler.Log(ctx, id, jobhost.LogQuery{After: 1, Follow: true}))
		is(s, "entries", len(got), 1)
		is(s, "error", codeOf(err), jobhost.Code(context.DeadlineExceeded.Error()))
		is(s, "waited", time.Since(s.began), time.Minute)
	}},
	{name: "an output is what the run returned", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		for _, want := range []string{"", `{"a": 1}`, "text\n", "\xff\x00", strings.Repeat("x", 64<<10)} {
			s.does("j", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Output: []byte(want)} })
			got, err := s.Scheduler.Output(s.Context(), s.run("j").ID)
			is(s, "error", err, nil)
			is(s, "output", string(got), want)
		}
		id := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour)})
		got, err := s.Scheduler.Output(s.Context(), id)
		is(s, "before the start", []any{len(got), err}, []any{0, nil})
	}},
	{name: "the log and the output of a run that is not there", test: func(s *service) {
		for _, id := range []jobhost.RunID{jobhost.NewRunID(s.began, [10]byte{9}), "nonsense"} {
			is(s, "output", code(s.Scheduler.Output(s.Context(), id)), jobhost.NotFoundRun)
			for _, follow := range []bool{false, true} {
				is(s, "log", code(gather(s.Scheduler.Log(s.Context(), id, jobhost.LogQuery{Follow: follow}))), jobhost.NotFoundRun)
			}
		}
	}},
}

// gather reads a sequence to its end, or to its error.
func gather[V any](seq iter.Seq2[V, error]) (all []V, err error) {
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Events.
var eventCases = []schedulerCase{
	{name: "events tell what happens from the call on, in its order", test: func(s *service) {
		ctx, leave := context.WithTimeout(s.Context(), time.Hour)
		defer leave()
		events := s.Events(ctx)
		d := jobhost.NewJob("j", "p", jobhost.NewTrigger("t", "once 2000-01-01T00:01:00Z"))
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: time.Second}
		s.define(d)
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			time.Sleep(time.Second)
			return jobhost.Outcome{Code: map[int]jobhost.Code{1: "E_OWN"}[c.Run.Attempt]}
		})
		s.until(2 * time.Minute)
		s.takes("j", time.Hour)
		s.begin("j")
		manual := s.runs(jobhost.RunQuery{Kinds: []jobhost.RunKind{jobhost.KindManual}})[0].ID
		s.CancelRuns(s.Context(), []jobhost.RunID{manual})
		s.until(3 * time.Minute)
		s.Pause(s.Context(), []jobhost.Target{{Job: "j"}, {Job: "j", Trigger: "t"}})
		s.Resume(s.Context(), []jobhost.Target{{Job: "j"}})
		s.Delete(s.Context(), []jobhost.Name{"j"})
		got, err := gather(events)
		is(s, "the end", codeOf(err), jobhost.Code(context.DeadlineExceeded.Error()))
		scheduled := s.runs(jobhost.RunQuery{Kinds: []jobhost.RunKind{jobhost.KindSchedule}})[0]
		retried := s.runs(jobhost.RunQuery{RetryOf: scheduled.ID})[0]
		const m = time.Minute
		node := s.node()
		job := func(topic jobhost.Topic, at time.Duration) jobhost.Event {
			return jobhost.Event{Topic: topic, Time: s.at(at), Job: "j", Node: node}
		}
		first := jobhost.Event{Job: "j", Trigger: "t", Run: scheduled.ID, Kind: jobhost.KindSchedule, Attempt: 1, Node: node, At: s.at(m), StartedAt: s.at(m)}
		second := jobhost.Event{
			Job: "j", Trigger: "t", Run: retried.ID, Kind: jobhost.KindRetry, Attempt: 2, RetryOf: scheduled.ID, Node: node, At: s.at(m + 2*time.Second), StartedAt: s.at(m + 2*time.Second),
		}
		third := jobhost.Event{Job: "j", Run: manual, Kind: jobhost.KindManual, Attempt: 1, Node: node, At: s.at(2 * m), StartedAt: s.at(2 * m)}
		paused := job(jobhost.TopicJobPaused, 3*m)
		paused.Trigger = "t"
		is(s, "events", got, []jobhost.Event{
			job(jobhost.TopicJobScheduled, 0),
			started(first), finished(first, jobhost.TopicRunFailed, time.Second, "E_OWN"), planned(finished(first, jobhost.TopicRunRetry, time.Second, "E_OWN"), 2*time.Second),
			started(second), finished(second, jobhost.TopicRunSucceeded, time.Second, ""),
			started(third), finished(third, jobhost.TopicRunCanceled, 5*time.Second, jobhost.Canceled),
			job(jobhost.TopicJobPaused, 3*m), paused, job(jobhost.TopicJobResumed, 3*m), job(jobhost.TopicJobDeleted, 3*m),
		})
	}},
	{name: "events of a run in progress end with the scheduler, and without an error", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		heard := make(chan []jobhost.Topic, 1)
		events := s.Events(s.Context())
		s.aside.Go(func() {
			var topics []jobhost.Topic
			for e, err := range events {
				if err != nil {
					s.Errorf("events end with %v", err)
				}
				topics = append(topics, e.Topic)
			}
			heard <- topics
		})
		s.takes("j", time.Hour)
		s.begin("j")
		s.stop()
		is(s, "topics", <-heard, []jobhost.Topic{jobhost.TopicRunStarted, jobhost.TopicRunCanceled})
	}},
	{name: "who leaves the loop over events hears no more, and others do", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"))
		leaves, stays := s.Events(s.Context()), s.Events(s.Context())
		s.run("j")
		n := 0
		for _, err := range leaves {
			n++
			is(s, "error", err, nil)
			break
		}
		s.run("j")
		for _, err := range stays {
			is(s, "error", err, nil)
			if n++; n == 5 {
				break
			}
		}
		synctest.Wait()
		is(s, "heard", n, 5)
	}},
}

func started(e jobhost.Event) jobhost.Event {
	e.Topic, e.Time = jobhost.TopicRunStarted, e.StartedAt
	return e
}

func finished(e jobhost.Event, topic jobhost.Topic, after time.Duration, code jobhost.Code) jobhost.Event {
	e.Topic, e.EndedAt, e.ErrorCode = topic, e.StartedAt.Add(after), code
	e.Time = e.EndedAt
	return e
}

func planned(e jobhost.Event, after time.Duration) jobhost.Event {
	e.At = e.StartedAt.Add(after)
	return e
}
