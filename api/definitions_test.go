package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// definer is a scheduler that tells how its jobs are defined.
type definer struct {
	fake

	defs map[jobhost.Name]jobhost.JobDef
}

func (d definer) Definitions(_ context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobDef] {
	out := make([]jobhost.Result[jobhost.JobDef], len(names))
	for i, n := range names {
		def, ok := d.defs[n]
		if out[i].Value = def; !ok {
			out[i].Err = &jobhost.Error{Code: jobhost.NotFoundJob, Msg: "no such job"}
		}
	}
	return out
}

func TestADefinitionComesBackAsItWasMade(t *testing.T) {
	trigger := jobhost.NewTrigger("t", "cron 0 0 3 * * *")
	trigger.Misfire, trigger.StartDeadline, trigger.Priority, trigger.Data = jobhost.MisfireSkip, time.Hour, 0, json.RawMessage(`{"b":2}`)
	want := jobhost.NewJob("full", "p", trigger, jobhost.NewTrigger("u", "every 01:00:00"))
	want.Timeout, want.HistoryLimit, want.Description, want.Data = 90*time.Second, 0, "what it is for", json.RawMessage(`{"a":1}`)
	want.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second, Exponential: true, MaxDelay: time.Minute}
	want.AllowConcurrent, want.RequestsRecovery = true, true
	c := dial(t, definer{defs: map[jobhost.Name]jobhost.JobDef{"full": want, "bare": jobhost.NewJob("bare", "p")}})
	got := c.Definitions(t.Context(), []jobhost.Name{"full", "none", "bare", "no/name"})
	same(t, "full", got[0].Value, want)
	same(t, "bare", got[2].Value, jobhost.NewJob("bare", "p"))
	for i, want := range []jobhost.Code{"", jobhost.NotFoundJob, "", jobhost.NotFoundJob} {
		if code := jobhost.CodeOf(got[i].Err); code != want {
			t.Errorf("item %d: %v; want code %q", i, got[i].Err, want)
		}
	}
	_, err := jobhost.One(dial(t, fake{}).Definitions(t.Context(), []jobhost.Name{"a"}))
	if jobhost.CodeOf(err) != jobhost.Unexpected {
		t.Errorf("of a scheduler that does not tell: %v", err)
	}
}

func TestGrantsAreThoseOfTheJobWithItsPlugin(t *testing.T) {
	s := fake{status: func(names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
		if names[0] != "a" {
			return []jobhost.Result[jobhost.JobStatus]{{Err: &jobhost.Error{Code: jobhost.NotFoundJob, Msg: "no such job"}}}
		}
		return []jobhost.Result[jobhost.JobStatus]{{Value: jobhost.JobStatus{Name: "a", Plugin: "p"}}}
	}}
	cfg := api.Defaults()
	cfg.Grants = func(job, plugin jobhost.Name) []string { return []string{job + " with " + plugin} }
	c := api.NewClient("http://jobhost", serve(t, api.NewHandler(s, cfg)))
	got, err := c.Grants(t.Context(), "a")
	same(t, "grants", got, []string{"a with p"})
	if err != nil {
		t.Error(err)
	}
	for _, name := range []jobhost.Name{"b", "no/name"} {
		if _, err := c.Grants(t.Context(), name); jobhost.CodeOf(err) != jobhost.NotFoundJob {
			t.Errorf("of %q: %v", name, err)
		}
	}
	got, err = dial(t, s).Grants(t.Context(), "a")
	same(t, "grants of a node without any", got, []string{})
	if err != nil {
		t.Error(err)
	}
}

// A client that has gone while its run went on is nothing to complain about.
func TestAClientThatIsGoneMakesNoComplaint(t *testing.T) {
	var log bytes.Buffer
	cfg := api.Defaults()
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	s := fake{trigger: func(context.Context, []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
		cancel()
		return []jobhost.Result[jobhost.Run]{{Value: jobhost.Run{ID: id1, State: jobhost.RunSucceeded}}}
	}}
	w := &gone{head: http.Header{}}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/jobs/a/trigger", strings.NewReader("{}"))
	func() {
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // the very value
				t.Errorf("panic: %v", v)
			}
		}()
		api.NewHandler(s, cfg).ServeHTTP(w, r)
	}()
	if w.heads != 1 {
		t.Errorf("%d heads were written, want one", w.heads)
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
}

// gone is a client that takes nothing.
type gone struct {
	head  http.Header
	heads int
}

func (g *gone) Header() http.Header     { return g.head }
func (g *gone) WriteHeader(int)         { g.heads++ }
func (*gone) Write([]byte) (int, error) { return 0, errors.New("gone") }
