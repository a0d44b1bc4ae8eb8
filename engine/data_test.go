package engine

import (
	"context"
	"encoding/json"
	"errors"
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

func newPicky(t *testing.T) *Engine {
	t.Helper()
	e, err := New(memstore.New(memstore.Config{}), picky{}, Defaults())
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
