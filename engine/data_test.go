package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

// picky is a runner whose plugin wants a format, and one that is not pdf.
type picky struct{}

func (picky) Run(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{} }

func (picky) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "picky", Ready: true}, {Key: "plain", Ready: true}}, nil
}

func (picky) CheckData(ctx context.Context, plugin jobhost.Name, data json.RawMessage, whole bool) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case plugin != "picky":
	case strings.Contains(string(data), "pdf"):
		return errors.New(`/format is "pdf"; want "md"`)
	case whole && !strings.Contains(string(data), "format"):
		return errors.New(`the data lacks "format"`)
	}
	return nil
}

func (picky) WithSchema() []jobhost.Name { return []jobhost.Name{"picky"} }

// easy is picky without a schema. It must not be asked.
type easy struct{ picky }

func (easy) WithSchema() []jobhost.Name { return nil }

func (easy) CheckData(context.Context, jobhost.Name, json.RawMessage, bool) error {
	return errors.New("asked although no plugin has a schema")
}

// viewed counts the reading transactions of a store.
type viewed struct {
	jobhost.Store
	n int
}

func (v *viewed) View(ctx context.Context, f func(jobhost.Tx) error) error {
	v.n++
	return v.Store.View(ctx, f)
}

func TestRequestsAreHeldAgainstSchemasInFewTransactions(t *testing.T) {
	var many []jobhost.JobDef
	var all, plain, same []jobhost.EnqueueRequest
	for i := range 40 {
		d := pickyJob(`{}`)
		d.Name = fmt.Sprint("j", i)
		other := jobhost.NewJob(fmt.Sprint("plain", i), "plain")
		many = append(many, d, other)
		all = append(all, jobhost.EnqueueRequest{Job: d.Name, Data: json.RawMessage(`{"format":"md"}`)})
		plain = append(plain, jobhost.EnqueueRequest{Job: other.Name, Data: json.RawMessage(`{"format":"pdf"}`)})
		same = append(same, jobhost.EnqueueRequest{Job: "j0", Data: json.RawMessage(`{"format":"md"}`)})
	}
	for _, c := range []struct {
		name   string
		runner jobhost.Runner
		reqs   []jobhost.EnqueueRequest
		want   int
	}{
		{"no plugin has a schema", easy{}, all, 0},
		{"one request", picky{}, all[:1], 1},
		{"many of one job", picky{}, same, 1},
		{"many of many jobs", picky{}, all, 3}, // 16 jobs a transaction: each may have 1 MiB of data
		{"many of jobs whose plugin has no schema", picky{}, plain, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &viewed{Store: memstore.New(memstore.Config{})}
			e := newEngine(t, s, c.runner)
			for _, r := range e.Schedule(t.Context(), many) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			s.n = 0
			e.Enqueue(t.Context(), nil)
			turn := s.n // what a turn reads by itself
			s.n = 0
			for i, r := range e.Enqueue(t.Context(), c.reqs) {
				if r.Err != nil {
					t.Errorf("item %d: %v", i, r.Err)
				}
			}
			if got := s.n - turn; got != c.want {
				t.Errorf("%d reading transactions for %d requests, want %d", got, len(c.reqs), c.want)
			}
		})
	}
}

func newPicky(t *testing.T) *Engine {
	t.Helper()
	return newEngine(t, memstore.New(memstore.Config{}), picky{})
}

func newEngine(t *testing.T, s jobhost.Store, r jobhost.Runner) *Engine {
	t.Helper()
	e, err := New(s, r, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

func pickyJob(data string, triggers ...jobhost.TriggerDef) jobhost.JobDef {
	d := jobhost.NewJob("j", "picky", triggers...)
	d.Data = json.RawMessage(data)
	return d
}

func dataTrigger(data string) jobhost.TriggerDef {
	d := jobhost.NewTrigger("t", "every 1h")
	d.Data = json.RawMessage(data)
	return d
}

func TestADefinitionWhoseDataThePluginRefusesIsInvalid(t *testing.T) {
	e := newPicky(t)
	const says = `; so says the schema of the plugin "picky"`
	for _, c := range []struct {
		name string
		def  jobhost.JobDef
		want string
	}{
		{"a job whose data may be completed by a request", pickyJob(`{}`), ""},
		{"a job whose data is wrong as it is", pickyJob(`{"format":"pdf"}`), `job "j": /format is "pdf"; want "md"` + says},
		{"a trigger that completes it", pickyJob(`{}`, dataTrigger(`{"format":"md"}`)), ""},
		{"a trigger that mends it", pickyJob(`{"format":"pdf"}`, dataTrigger(`{"format":"md"}`)), ""},
		{"a trigger without it", pickyJob(`{}`, dataTrigger("")), `job "j": trigger "t": the data lacks "format"` + says},
		{"a trigger that breaks it", pickyJob(`{"format":"md"}`, dataTrigger(`{"format":"pdf"}`)), `job "j": trigger "t": /format is "pdf"; want "md"` + says},
		{"another plugin", jobhost.NewJob("j", "plain"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, once := jobhost.One(e.Schedule(t.Context(), []jobhost.JobDef{c.def}))
			for how, err := range map[string]error{"schedule": once, "apply": e.Apply(t.Context(), []jobhost.JobDef{c.def})} {
				said, code := "", jobhost.Code("")
				if err != nil {
					failed, _ := errors.AsType[*jobhost.Error](err)
					said, code = failed.Msg, jobhost.InvalidDefinition
				}
				if diff := cmp.Diff(said, c.want); diff != "" || jobhost.CodeOf(err) != code {
					t.Errorf("%s: code %q (-got +want):\n%s", how, jobhost.CodeOf(err), diff)
				}
			}
		})
	}
}

func TestARequestWhoseDataThePluginRefusesIsRefused(t *testing.T) {
	e := newPicky(t)
	if _, err := jobhost.One(e.Schedule(t.Context(), []jobhost.JobDef{pickyJob(`{}`)})); err != nil {
		t.Fatal(err)
	}
	for data, good := range map[string]bool{`{"format":"md"}`: true, `{"format":"pdf"}`: false, ``: false} {
		_, now := jobhost.One(e.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "j", Data: json.RawMessage(data)}}))
		_, soon := jobhost.One(e.Enqueue(t.Context(), []jobhost.EnqueueRequest{{Job: "j", Data: json.RawMessage(data)}}))
		for how, err := range map[string]error{"trigger": now, "enqueue": soon} {
			if good != (err == nil) || !good && jobhost.CodeOf(err) != jobhost.InvalidDefinition {
				t.Errorf("%s with %s: %v", how, data, err)
			}
		}
	}
	if _, err := jobhost.One(e.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "none", Data: json.RawMessage(`{"format":"pdf"}`)}})); jobhost.CodeOf(err) != jobhost.NotFoundJob {
		t.Errorf("a job that is not there: %v", err)
	}
	n, err := e.CountRuns(t.Context(), jobhost.RunQuery{})
	if err != nil || n != 1 {
		t.Errorf("%d runs, %v; want the one that was triggered", n, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if _, err := jobhost.One(e.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "j", Data: json.RawMessage(`{"format":"pdf"}`)}})); jobhost.CodeOf(err) != "" {
		t.Errorf("a caller who has gone: %v", err)
	}
}
