package jobtest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jobhost/jobhost"
)

// Replay gives the part of the job what it is asked with, if the module is one that the runner keeps.
func (a *actors) Replay(ctx context.Context, call jobhost.Call, digest string, granted bool) jobhost.Outcome {
	if digest != kept {
		return jobhost.Outcome{Code: jobhost.NotFoundPlugin, Message: "module " + digest + " is not kept"}
	}
	call.Sink.Log(0, "granted: "+strconv.FormatBool(granted)+", values: "+strconv.FormatBool(call.KV != nil))
	return a.Run(ctx, call)
}

// kept is the digest of the only module that can be replayed.
const kept = "4e97"

// Replay.
var replayCases = []schedulerCase{
	{name: "a replay gets what the run got and leaves no record", test: func(s *service) {
		d := jobhost.NewJob("j", "p", jobhost.NewTrigger("t", "every 10s"))
		d.Data = json.RawMessage(`{"a":1}`)
		s.define(d)
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			return jobhost.Outcome{Digest: kept, Fuel: 7, PeakMemory: 9, Output: append([]byte(c.Run.ScheduledAt.Format(time.RFC3339)), c.Run.Data...)}
		})
		s.until(15 * time.Second)
		first := s.only("j")
		before, err := s.Scheduler.Output(s.Context(), first.ID)
		is(s, "output", err, nil)
		got, err := s.Replay(s.Context(), jobhost.ReplayRequest{Run: first.ID})
		is(s, "error", err, nil)
		is(s, "recorded", got.Recorded, first)
		want := first
		want.StartedAt, want.EndedAt = s.at(15*time.Second), s.at(15*time.Second)
		is(s, "replay", got.Replay, want)
		is(s, "output", string(got.Output), string(before))
		is(s, "log", said(got), []string{"granted: false, values: false"})
		is(s, "history", s.runs(jobhost.RunQuery{}), []jobhost.Run{bare(first)})
	}},
	{name: "a replay has grants when they are asked for, fails as the run may, and is not retried", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second}
		s.define(d)
		s.does("j", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Digest: kept} })
		first := s.run("j")
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			_, _, err := c.KV.Get(context.Background(), "k")
			is(s, "reading a value", err, nil)
			is(s, "a write is refused", errors.Is(c.KV.Set(context.Background(), "k", []byte("v")), jobhost.ErrRunOver), true)
			return jobhost.Outcome{Digest: kept, Code: "E_OWN", Message: "as told"}
		})
		got, err := s.Replay(s.Context(), jobhost.ReplayRequest{Run: first.ID, Grants: true})
		is(s, "error", err, nil)
		is(s, "state", []any{got.Replay.State, got.Replay.ErrorCode, got.Replay.ErrorMessage}, []any{jobhost.RunFailed, jobhost.Code("E_OWN"), "as told"})
		is(s, "log", said(got), []string{"granted: true, values: true"})
		s.until(time.Minute)
		is(s, "history", s.runs(jobhost.RunQuery{}), []jobhost.Run{bare(first)})
	}},
	{name: "a replay ends at the job's limit, and with whoever waits for it", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Timeout = 5 * time.Second
		s.define(d)
		s.does("j", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Digest: kept} })
		first := s.run("j")
		s.does("j", func(ctx context.Context, _ jobhost.Call) jobhost.Outcome {
			<-ctx.Done()
			return jobhost.Outcome{Digest: kept, Code: jobhost.CodeOf(context.Cause(ctx)), Message: "ended"}
		})
		got, err := s.Replay(s.Context(), jobhost.ReplayRequest{Run: first.ID})
		is(s, "error", err, nil)
		is(s, "outcome", []any{got.Replay.State, got.Replay.ErrorCode}, []any{jobhost.RunFailed, jobhost.TimedOut})
		is(s, "took", got.Replay.EndedAt.Sub(got.Replay.StartedAt), 5*time.Second)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		is(s, "left", code(s.Replay(ctx, jobhost.ReplayRequest{Run: first.ID})), jobhost.Code(context.DeadlineExceeded.Error()))
	}},
	{name: "what cannot be replayed is said", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("k", "p"), jobhost.NewJob("l", "p"))
		s.does("j", func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Digest: "90e"} })
		is(s, "its module is gone", code(s.Replay(s.Context(), jobhost.ReplayRequest{Run: s.run("j").ID})), jobhost.NotFoundPlugin)
		is(s, "it never had one", code(s.Replay(s.Context(), jobhost.ReplayRequest{Run: s.run("k").ID})), jobhost.NotFoundRun)
		s.takes("l", time.Minute)
		end := s.begin("l")
		is(s, "it goes on", code(s.Replay(s.Context(), jobhost.ReplayRequest{Run: s.only("l").ID})), jobhost.NotFoundRun)
		is(s, "it is unknown", code(s.Replay(s.Context(), jobhost.ReplayRequest{Run: jobhost.NewRunID(s.began, [10]byte{1})})), jobhost.NotFoundRun)
		is(s, "it is no id", code(s.Replay(s.Context(), jobhost.ReplayRequest{Run: "x"})), jobhost.NotFoundRun)
		is(s, "the end", (<-end).Err, nil)
	}},
}

func said(r jobhost.Replayed) (lines []string) {
	for _, e := range r.Log {
		lines = append(lines, e.Msg)
	}
	return lines
}
