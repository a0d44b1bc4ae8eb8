package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/jobhost/jobhost"
)

// exchange sends a batch, in several requests if it is large, and spreads the answers over the items. An item that encode
// refuses is answered here, and a request that fails as a whole fails each of its items.
func exchange[In, W, Out any](ctx context.Context, c *Client, op string, in []In, encode func(In) (W, error)) []jobhost.Result[Out] {
	results := make([]jobhost.Result[Out], len(in))
	sent := make([]sending, 0, len(in))
	for i, item := range in {
		w, err := encode(item)
		if err != nil {
			results[i].Err = err
			continue
		}
		text, err := json.Marshal(w)
		if err != nil {
			results[i].Err = unwritable(err)
			continue
		}
		sent = append(sent, sending{i, text, valuesOf(w)})
	}
	for len(sent) > 0 {
		n := portion(sent)
		ask(ctx, c, op, sent[:n], results)
		sent = sent[n:]
	}
	return results
}

// sending is an item of a batch on its way.
type sending struct {
	place  int // of its answer
	text   json.RawMessage
	values int // outside of data, at most
}

// valuesOf is the most values that an item has outside of data.
func valuesOf(item any) int {
	const most = 20 // of each of the types in a batch, triggers left out
	if d, ok := item.(Definition); ok {
		return most * (1 + len(d.Triggers))
	}
	return most
}

// portion is how many items go into one request, so that a server takes it. It is at least one.
func portion(items []sending) (n int) {
	const spare = 2 // room for brackets and commas
	bytes, values := spare, 1
	for _, s := range items {
		bytes, values = bytes+len(s.text)+1, values+s.values
		if n > 0 && (n == MaxItems || bytes > maxTexts || values > MaxValues) {
			break
		}
		n++
	}
	return n
}

// ask sends one request of a batch.
func ask[Out any](ctx context.Context, c *Client, op string, sent []sending, results []jobhost.Result[Out]) {
	items := make([]json.RawMessage, len(sent))
	for i, s := range sent {
		items[i] = s.text
	}
	var answers []Result[Out]
	err := c.do(ctx, request{method: http.MethodPost, path: []string{op}, body: items}, &answers)
	if err == nil && len(answers) != len(sent) {
		err = &jobhost.Error{Code: jobhost.Unexpected, Op: "api.call", Msg: fmt.Sprintf("server %s answered %d of %d items", c.name, len(answers), len(sent))}
	}
	for i, s := range sent {
		switch result := &results[s.place]; {
		case err != nil:
			result.Err = err
		case answers[i].Problem != nil:
			result.Err = answers[i].Problem.Err()
		case answers[i].Value != nil:
			result.Value = *answers[i].Value
		}
	}
}

// encodable reports data that cannot stand in a JSON document; all other checks are the scheduler's.
func encodable(op, job string, data json.RawMessage) error {
	if len(data) == 0 || json.Valid(data) && jobhost.DataDepth(data) <= jobhost.MaxDataDepth {
		return nil
	}
	err := jobhost.CheckData(data)
	return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "api." + op, Msg: fmt.Sprintf("job %q: %v", job, err), Err: err}
}

// Schedule implements [jobhost.Scheduler].
func (c *Client) Schedule(ctx context.Context, defs []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
	return exchange[jobhost.JobDef, Definition, jobhost.JobInfo](ctx, c, "jobs:schedule", defs, func(d jobhost.JobDef) (Definition, error) {
		err := encodable("schedule", d.Name, d.Data)
		for _, t := range d.Triggers {
			if err == nil {
				err = encodable("schedule", d.Name, t.Data)
			}
		}
		return DefinitionOf(d), err
	})
}

// Restore implements [jobhost.Scheduler].
func (c *Client) Restore(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobInfo] {
	return exchange[jobhost.Name, jobhost.Name, jobhost.JobInfo](ctx, c, "jobs:restore", names, same)
}

// Delete implements [jobhost.Scheduler].
func (c *Client) Delete(ctx context.Context, names []jobhost.Name) []jobhost.Result[struct{}] {
	return exchange[jobhost.Name, jobhost.Name, struct{}](ctx, c, "jobs:delete", names, same)
}

// Pause implements [jobhost.Scheduler].
func (c *Client) Pause(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	return exchange[jobhost.Target, Target, struct{}](ctx, c, "jobs:pause", targets, targetOf)
}

// Resume implements [jobhost.Scheduler].
func (c *Client) Resume(ctx context.Context, targets []jobhost.Target) []jobhost.Result[struct{}] {
	return exchange[jobhost.Target, Target, struct{}](ctx, c, "jobs:resume", targets, targetOf)
}

func targetOf(t jobhost.Target) (Target, error) { return Target(t), nil }

// Trigger implements [jobhost.Scheduler].
func (c *Client) Trigger(ctx context.Context, reqs []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
	return exchange[jobhost.TriggerRequest, TriggerRequest, jobhost.Run](ctx, c, "jobs:trigger", reqs, func(r jobhost.TriggerRequest) (TriggerRequest, error) {
		return TriggerRequest(r), encodable("trigger", r.Job, r.Data)
	})
}

// Enqueue implements [jobhost.Scheduler].
func (c *Client) Enqueue(ctx context.Context, reqs []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
	return exchange[jobhost.EnqueueRequest, EnqueueRequest, jobhost.RunID](ctx, c, "jobs:enqueue", reqs, func(r jobhost.EnqueueRequest) (EnqueueRequest, error) {
		return EnqueueRequest(r), encodable("enqueue", r.Job, r.Data)
	})
}

// CancelRuns implements [jobhost.Scheduler].
func (c *Client) CancelRuns(ctx context.Context, ids []jobhost.RunID) []jobhost.Result[struct{}] {
	return exchange[jobhost.RunID, jobhost.RunID, struct{}](ctx, c, "runs:cancel", ids, same)
}

// Status implements [jobhost.Scheduler]. All jobs are read in pages, so a job that comes or goes meanwhile may be missed.
func (c *Client) Status(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
	if len(names) > 0 {
		return exchange[jobhost.Name, jobhost.Name, jobhost.JobStatus](ctx, c, "jobs:status", names, same)
	}
	all := []jobhost.Result[jobhost.JobStatus]{}
	for after := ""; ; {
		q := values{}
		q.int("limit", MaxPage)
		q.add("after", after)
		var page []jobhost.JobStatus
		if err := c.do(ctx, request{method: http.MethodGet, path: []string{"jobs"}, query: q}, &page); err != nil {
			return []jobhost.Result[jobhost.JobStatus]{{Err: err}}
		}
		for _, st := range page {
			all = append(all, jobhost.Result[jobhost.JobStatus]{Value: st})
			after = st.Name
		}
		if len(page) < MaxPage {
			return all
		}
	}
}

// Runs implements [jobhost.Scheduler].
func (c *Client) Runs(ctx context.Context, q jobhost.RunQuery) ([]jobhost.Run, error) {
	v := filterOf(q)
	v.int("skip", q.Skip)
	v.int("limit", q.Limit)
	var runs []jobhost.Run
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"runs"}, query: v}, &runs)
	return runs, err
}

// Run implements [jobhost.Scheduler].
func (c *Client) Run(ctx context.Context, id jobhost.RunID) (run jobhost.Run, err error) {
	if _, err := jobhost.ParseRunID(string(id)); err != nil { // it could not stand in a path, or would be looked up
		return run, noRun(id)
	}
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"runs", string(id)}}, &run)
	return run, err
}

// CountRuns implements [jobhost.Scheduler].
func (c *Client) CountRuns(ctx context.Context, q jobhost.RunQuery) (int, error) {
	var n Count
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"runs", "count"}, query: filterOf(q)}, &n)
	return n.Count, err
}

// Plugins implements [jobhost.Scheduler].
func (c *Client) Plugins(ctx context.Context) ([]jobhost.Plugin, error) {
	var plugins []jobhost.Plugin
	err := c.do(ctx, request{method: http.MethodGet, path: []string{"plugins"}}, &plugins)
	return plugins, err
}

// Next implements [jobhost.Scheduler].
func (c *Client) Next(ctx context.Context, q jobhost.NextQuery) ([]jobhost.Slot, error) {
	r := request{method: http.MethodGet, path: []string{"next"}, query: values{}}
	if q.Schedule != "" {
		r.query.add("schedule", q.Schedule)
	} else {
		if !jobhost.ValidName(q.Job) { // it could not stand in a path
			return nil, noJob(q.Job)
		}
		r.path = []string{"jobs", q.Job, "next"}
		r.query.add("trigger", q.Trigger)
	}
	r.query.time("from", q.From)
	r.query.int("count", q.Count)
	var slots []jobhost.Slot
	err := c.do(ctx, r, &slots)
	return slots, err
}

func noJob(name jobhost.Name) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundJob, Op: "api.job", Msg: fmt.Sprintf("job %q does not exist", name), Params: map[string]any{"job": name},
	}
}

// Explain implements [jobhost.Scheduler].
func (c *Client) Explain(ctx context.Context, name jobhost.Name) (x jobhost.Explanation, err error) {
	if !jobhost.ValidName(name) { // it could not stand in a path
		return x, noJob(name)
	}
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"jobs", name, "explain"}}, &x)
	return x, err
}

// Output implements [jobhost.Scheduler].
func (c *Client) Output(ctx context.Context, id jobhost.RunID) ([]byte, error) {
	if _, err := jobhost.ParseRunID(string(id)); err != nil { // it could not stand in a path
		return nil, noRun(id)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: []string{"runs", string(id), "output"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read only
	if resp.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	out, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	return out, nil
}

// Log implements [jobhost.Scheduler]. Leaving the loop ends the request.
func (c *Client) Log(ctx context.Context, id jobhost.RunID, q jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
	return func(yield func(jobhost.LogEntry, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		if _, err := jobhost.ParseRunID(string(id)); err != nil { // it could not stand in a path
			yield(jobhost.LogEntry{}, noRun(id))
			return
		}
		r := request{method: http.MethodGet, path: []string{"runs", string(id), "logs"}, query: values{}}
		r.query.int("after", q.After)
		if q.Follow {
			r.query.add("follow", "true")
		}
		resp, err := c.send(ctx, r)
		if err != nil {
			yield(jobhost.LogEntry{}, err)
			return
		}
		defer resp.Body.Close() //nolint:errcheck // it was read only
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), linesType) {
			c.logArray(ctx, resp.Body, yield)
			return
		}
		readLines(ctx, c, resp.Body, yield)
	}
}

func (c *Client) logArray(ctx context.Context, r io.Reader, yield func(jobhost.LogEntry, error) bool) {
	var entries []jobhost.LogEntry
	if err := json.NewDecoder(io.LimitReader(r, maxAnswer)).Decode(&entries); err != nil {
		yield(jobhost.LogEntry{}, c.broken(ctx, err))
		return
	}
	for _, e := range entries {
		if !yield(e, nil) {
			return
		}
	}
}
