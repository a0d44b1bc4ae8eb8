package jobtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// Run, and what lists leave to it.
var oneRunCases = []schedulerCase{
	{name: "lists of runs and the status of a job are without data, and one run is read with it", test: func(s *service) {
		d := jobhost.NewJob("j", "p")
		d.Data = json.RawMessage(`{"a":1,"b":2}`)
		s.define(d)
		over := s.run("j").ID
		pending := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour), Data: json.RawMessage(`{"c":3}`)})
		canceled := s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(time.Hour), Data: json.RawMessage(`{"c":4}`)})
		is(s, "cancelled", codes(s.CancelRuns(s.Context(), []jobhost.RunID{canceled})), []jobhost.Code{""})
		s.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			c.Sink.Progress(1, 2, "half")
			time.Sleep(time.Minute)
			return jobhost.Outcome{}
		})
		end := s.begin("j")
		open := s.runs(jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunRunning}})[0].ID
		data := map[jobhost.RunID]string{
			over: `{"a":1,"b":2}`, pending: `{"c":3}`, canceled: `{"a":1,"b":2,"c":4}`, open: `{"a":1,"b":2}`,
		}
		ids := slices.Collect(maps.Keys(data))
		for what, q := range map[string]jobhost.RunQuery{
			"all": {}, "by job": {Job: "j"}, "by ids": {IDs: ids}, "one": {IDs: []jobhost.RunID{over}}, "pending": {States: []jobhost.RunState{jobhost.RunPending}},
			"by the beginning of an id": {Prefix: string(over[:9])},
		} {
			rs := s.runs(q)
			if len(rs) == 0 {
				s.Errorf("%s: no runs, which shows nothing", what)
			}
			for _, r := range rs {
				is(s, "data of a list, "+what, string(r.Data), "")
			}
		}
		is(s, "data of the last run", string(s.status("j").Last.Data), "")
		for id, want := range data {
			r, err := s.Scheduler.Run(s.Context(), id)
			is(s, "error", err, nil)
			var compact bytes.Buffer
			is(s, "compact", json.Compact(&compact, r.Data), nil)
			is(s, "data", compact.String(), want)
			r.Data = nil
			is(s, "the rest", []jobhost.Run{r}, s.runs(jobhost.RunQuery{IDs: []jobhost.RunID{id}}))
			is(s, "progress", r.Progress != nil, id == open)
		}
		for _, id := range []jobhost.RunID{jobhost.NewRunID(s.began, [10]byte{9}), "nonsense", "", over[:31]} {
			is(s, "code of "+string(id), code(s.Scheduler.Run(s.Context(), id)), jobhost.NotFoundRun)
		}
		<-end
	}},
	{name: "the beginning of an id stands for it when no other run has it", test: func(s *service) {
		local := jobhost.NewJob("local", "p")
		local.RunOnEveryInstance = true
		s.define(jobhost.NewJob("j", "p"), local)
		ids := []jobhost.RunID{s.run("j").ID}
		s.until(24 * time.Hour)
		ids = append(ids, s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(48 * time.Hour)}))
		s.until(36 * time.Hour)
		ids = append(ids, s.enqueue(jobhost.EnqueueRequest{Job: "local", At: s.at(48 * time.Hour)}))
		find := func(text string) (jobhost.RunID, jobhost.Code) {
			id, err := jobhost.FindRunID(s.Context(), s.Scheduler, text)
			return id, codeOf(err)
		}
		check := func() {
			s.Helper()
			for _, id := range ids {
				for _, n := range []int{8, 9, 12, 31, 32} {
					got, code := find(string(id[:n]))
					is(s, "found by "+string(id[:n]), []any{got, code}, []any{id, jobhost.Code("")})
				}
				n, err := s.CountRuns(s.Context(), jobhost.RunQuery{Prefix: string(id[:10])})
				is(s, "counted", []any{n, err}, []any{1, nil})
			}
		}
		check()
		s.until(72 * time.Hour)
		is(s, "runs", len(s.runs(jobhost.RunQuery{})), 3)
		check()
		for _, text := range []string{"", "0123456", string(ids[0][:7]), strings.ToUpper("abcdef0123"), "01234567", "g1234567", string(ids[0]) + "0"} {
			_, code := find(text)
			is(s, "code of "+text, code, jobhost.NotFoundRun)
		}
		for _, prefix := range []string{string(ids[0][:7]), "ABCDEF01", strings.Repeat("0", 33)} {
			is(s, "list by "+prefix, code(s.Runs(s.Context(), jobhost.RunQuery{Prefix: prefix})), jobhost.InvalidDefinition)
			is(s, "count by "+prefix, code(s.CountRuns(s.Context(), jobhost.RunQuery{Prefix: prefix})), jobhost.InvalidDefinition)
		}
		var same []jobhost.RunID
		for range 5 {
			same = append(same, s.enqueue(jobhost.EnqueueRequest{Job: "j", At: s.at(100 * time.Hour)}))
		}
		slices.Sort(same)
		prefix := string(same[0][:12])
		_, err := jobhost.FindRunID(s.Context(), s.Scheduler, prefix)
		is(s, "code of several", codeOf(err), jobhost.InvalidDefinition)
		want := fmt.Sprintf("5 runs begin with %q: %s, %s, %s, …", prefix, same[0], same[1], same[2])
		if e, ok := errors.AsType[*jobhost.Error](err); ok {
			is(s, "message", e.Msg, want)
		}
	}},
}
