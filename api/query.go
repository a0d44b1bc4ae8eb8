package api

import (
	"encoding"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/jobhost/jobhost"
)

// RunFilter is the query string that selects runs of the history. A filter that is absent selects all.
type RunFilter struct {
	IDs     []string  `query:"id,explode" doc:"Of these ids."`
	Prefix  string    `query:"prefix" doc:"Whose ids begin with it, of at least 8 digits."`
	Job     string    `query:"job"`
	Trigger string    `query:"trigger"`
	States  []string  `query:"state,explode" doc:"Pending, Running, Succeeded, Failed, Canceled, Lost."`
	Kinds   []string  `query:"kind,explode" doc:"Schedule, Manual, Recovery, Retry."`
	Node    string    `query:"node"`
	From    time.Time `query:"from" doc:"Started, or ended without a start, at or after."`
	To      time.Time `query:"to" doc:"The same, before."`
	RetryOf string    `query:"retryOf" doc:"Retries of this run."`
}

func (f RunFilter) query() (jobhost.RunQuery, error) {
	q := jobhost.RunQuery{
		Prefix: f.Prefix, Job: f.Job, Trigger: f.Trigger, Node: f.Node, From: f.From.UTC(), To: f.To.UTC(), RetryOf: jobhost.RunID(f.RetryOf),
	}
	for _, id := range f.IDs {
		q.IDs = append(q.IDs, jobhost.RunID(id))
	}
	var err error
	if q.States, err = words[jobhost.RunState]("state", f.States); err != nil {
		return q, err
	}
	q.Kinds, err = words[jobhost.RunKind]("kind", f.Kinds)
	return q, err
}

// words reads a filter that lists names.
func words[E any, P interface {
	*E
	encoding.TextUnmarshaler
}](what string, names []string) ([]E, error) {
	var out []E
	for _, name := range names {
		var e E
		if err := P(&e).UnmarshalText([]byte(name)); err != nil {
			return nil, &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "api.runs", Msg: fmt.Sprintf("%s: %v", what, err), Err: err}
		}
		out = append(out, e)
	}
	return out, nil
}

// filterOf is the query string of a filter; it leaves the page out.
func filterOf(q jobhost.RunQuery) values {
	v := values{}
	for _, id := range q.IDs {
		v.add("id", string(id))
	}
	for _, s := range q.States {
		v.add("state", s.String())
	}
	for _, k := range q.Kinds {
		v.add("kind", k.String())
	}
	v.add("prefix", q.Prefix)
	v.add("job", q.Job)
	v.add("trigger", q.Trigger)
	v.add("node", q.Node)
	v.add("retryOf", string(q.RetryOf))
	v.time("from", q.From)
	v.time("to", q.To)
	return v
}

// values is a query string. What is zero is left out.
type values url.Values

func (v values) add(key, value string) {
	if value != "" {
		url.Values(v).Add(key, value)
	}
}

func (v values) int(key string, n int) {
	if n != 0 {
		v.add(key, strconv.Itoa(n))
	}
}

func (v values) time(key string, t time.Time) {
	if !t.IsZero() {
		v.add(key, t.UTC().Format(time.RFC3339Nano))
	}
}
