package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

var update = flag.Bool("update", false, "rewrite golden files")

// answered is the head of an answer.
type answered struct {
	StatusCode int
	Header     http.Header
}

// call asks h and returns the answer with its body as text.
func call(t *testing.T, h http.Handler, method, target, body string, head ...string) (answered, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answered{w.Code, w.Result().Header}, w.Body.String()
}

func handler(s jobhost.Scheduler) http.Handler { return api.NewHandler(s, api.Defaults()) }

// steady answers every call with the same good answer.
func steady() fake {
	done := func(n int) []jobhost.Result[struct{}] { return make([]jobhost.Result[struct{}], n) }
	return fake{
		schedule: func(in []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
			rs := make([]jobhost.Result[jobhost.JobInfo], len(in))
			for i, d := range in {
				rs[i].Value = jobhost.JobInfo{Name: d.Name, Source: jobhost.SourceRuntime}
			}
			return rs
		},
		delete: func(in []jobhost.Name) []jobhost.Result[struct{}] { return done(len(in)) },
		pause:  func(in []jobhost.Target) []jobhost.Result[struct{}] { return done(len(in)) },
		resume: func(in []jobhost.Target) []jobhost.Result[struct{}] { return done(len(in)) },
		trigger: func(_ context.Context, in []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			rs := make([]jobhost.Result[jobhost.Run], len(in))
			for i := range in {
				rs[i].Value = aRun
			}
			return rs
		},
		enqueue: func(in []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
			rs := make([]jobhost.Result[jobhost.RunID], len(in))
			for i := range in {
				rs[i].Value = id1
			}
			return rs
		},
		cancel: func(in []jobhost.RunID) []jobhost.Result[struct{}] { return done(len(in)) },
		status: func([]jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
			return []jobhost.Result[jobhost.JobStatus]{{Value: aStatus("a")}}
		},
		runs:    func(jobhost.RunQuery) ([]jobhost.Run, error) { return []jobhost.Run{aRun}, nil },
		run:     func(jobhost.RunID) (jobhost.Run, error) { return aRun, nil },
		count:   func(jobhost.RunQuery) (int, error) { return 3, nil },
		plugins: func() ([]jobhost.Plugin, error) { return nil, nil },
		next:    func(jobhost.NextQuery) ([]jobhost.Slot, error) { return nil, nil },
		log: func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
			return func(func(jobhost.LogEntry, error) bool) {}
		},
		output: func(jobhost.RunID) ([]byte, error) { return nil, nil },
		restore: func(in []jobhost.Name) []jobhost.Result[jobhost.JobInfo] {
			rs := make([]jobhost.Result[jobhost.JobInfo], len(in))
			for i, n := range in {
				rs[i].Value = jobhost.JobInfo{Name: n, Source: jobhost.SourceFile}
			}
			return rs
		},
		explain: func(n jobhost.Name) (jobhost.Explanation, error) {
			return jobhost.Explanation{Job: n, Answer: "it is not due yet", Triggers: []jobhost.TriggerExplanation{}}, nil
		},
		events: func(context.Context) iter.Seq2[jobhost.Event, error] {
			return func(yield func(jobhost.Event, error) bool) {
				yield(jobhost.Event{Topic: jobhost.TopicRunStarted, Time: t0, Job: "a"}, nil)
			}
		},
		nodes: func() ([]jobhost.Node, error) { return nil, nil },
		drain: func(string) error { return nil },
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	page := func(q jobhost.RunQuery) ([]jobhost.Run, error) { return nil, errors.New("must not be called") }
	s := steady()
	s.runs = page
	h := handler(s)
	for name, c := range map[string]struct {
		method, target, body, kind string
		status                     int
		code                       jobhost.Code
		detail                     string
	}{
		"a path that is not there":      {"GET", "/v1/nothing", "", "", 404, "", "no route for GET /v1/nothing"},
		"a path outside":                {"GET", "/", "", "", 404, "", "no route"},
		"a method that is not there":    {"PATCH", "/v1/jobs/a", "", "", 405, "", "no route for PATCH"},
		"an unknown field":              {"PUT", "/v1/jobs/a", `{"plugin":"p","retires":{}}`, "", 400, jobhost.InvalidDefinition, "body.retires: unexpected property"},
		"an unknown field below":        {"PUT", "/v1/jobs/a", `{"plugin":"p","triggers":[{"name":"t","schedule":"every 1m","prio":1}]}`, "", 400, jobhost.InvalidDefinition, "body.triggers[0].prio: unexpected property"},
		"grants":                        {"PUT", "/v1/jobs/a", `{"plugin":"p","grants":{"kv":true}}`, "", 400, jobhost.InvalidDefinition, "body.grants: unexpected property"},
		"an unknown query parameter":    {"GET", "/v1/runs?jbo=a", "", "", 400, jobhost.InvalidDefinition, "query.jbo: unknown query parameter"},
		"a missing plugin":              {"PUT", "/v1/jobs/a", `{}`, "", 400, jobhost.InvalidDefinition, "expected required property plugin"},
		"a body that is no JSON":        {"PUT", "/v1/jobs/a", `{"plugin":`, "", 400, jobhost.InvalidDefinition, "unexpected end of JSON input"},
		"a body with more behind":       {"PUT", "/v1/jobs/a", `{"plugin":"p"} {}`, "", 400, jobhost.InvalidDefinition, "after top-level value"},
		"no body":                       {"PUT", "/v1/jobs/a", ``, "", 400, jobhost.InvalidDefinition, "request body is required"},
		"a body of another type":        {"POST", "/v1/jobs/a/trigger", `{}`, "text/plain", 415, jobhost.InvalidDefinition, "unknown content type"},
		"a body that is too large":      {"PUT", "/v1/jobs/a", `{"plugin":"` + strings.Repeat("p", api.MaxBody) + `"}`, "", 413, jobhost.InvalidDefinition, "too large"},
		"too many items":                {"POST", "/v1/runs:cancel", "[" + strings.Repeat(`"",`, api.MaxItems) + `""]`, "", 400, jobhost.InvalidDefinition, "more than 1000 items"},
		"two names":                     {"PUT", "/v1/jobs/a", `{"name":"b","plugin":"p"}`, "", 400, jobhost.InvalidDefinition, `path names job "a", the definition "b"`},
		"a duration that is none":       {"PUT", "/v1/jobs/a", `{"plugin":"p","timeout":"1d"}`, "", 400, jobhost.InvalidDefinition, `job "a": timeout is "1d"; want a Go duration`},
		"a backoff that is none":        {"PUT", "/v1/jobs/a", `{"plugin":"p","retry":{"max_retries":1,"delay":"1m","backoff":"linear"}}`, "", 400, jobhost.InvalidDefinition, `backoff is "linear"`},
		"a policy that is none":         {"PUT", "/v1/jobs/a", `{"plugin":"p","triggers":[{"name":"t","schedule":"every 1m","misfire":"x"}]}`, "", 400, jobhost.InvalidDefinition, `trigger "t": misfire`},
		"schedule and triggers":         {"PUT", "/v1/jobs/a", `{"plugin":"p","schedule":"every 1m","triggers":[{"name":"t","schedule":"every 1m"}]}`, "", 400, jobhost.InvalidDefinition, "stand together"},
		"a priority that does not fit":  {"POST", "/v1/jobs/a/enqueue", `{"priority":3000000000}`, "", 400, jobhost.InvalidDefinition, "priority"},
		"an instant that is none":       {"POST", "/v1/jobs/a/enqueue", `{"at":"tomorrow"}`, "", 400, jobhost.InvalidDefinition, "body.at"},
		"a limit of 0":                  {"GET", "/v1/runs?limit=0", "", "", 400, jobhost.InvalidPage, "limit is 0; want 1 to 1000"},
		"a limit of 0 with more digits": {"GET", "/v1/runs?limit=00", "", "", 400, jobhost.InvalidPage, "limit is 0"},
		"a limit of 0 jobs":             {"GET", "/v1/jobs?limit=0", "", "", 400, jobhost.InvalidPage, "limit is 0"},
		"a limit of 1001 jobs":          {"GET", "/v1/jobs?limit=1001", "", "", 400, jobhost.InvalidPage, "limit is 1001"},
		"a limit that is no number":     {"GET", "/v1/runs?limit=many", "", "", 400, jobhost.InvalidDefinition, "query.limit: invalid integer"},
		"a count of 0":                  {"GET", "/v1/jobs/a/next?count=0", "", "", 400, jobhost.InvalidDefinition, "count is 0"},
		"a state that is none":          {"GET", "/v1/runs?state=Done", "", "", 400, jobhost.InvalidDefinition, `"Done" is no run state`},
		"an empty state":                {"GET", "/v1/runs?state=Failed&state=", "", "", 400, jobhost.InvalidDefinition, `state: `},
		"a kind that is none":           {"GET", "/v1/runs/count?kind=x", "", "", 400, jobhost.InvalidDefinition, `"x" is no run kind`},
		"a time that is none":           {"GET", "/v1/runs?from=2026", "", "", 400, jobhost.InvalidDefinition, "query.from"},
		"a preview of nothing":          {"GET", "/v1/next", "", "", 400, jobhost.InvalidDefinition, "schedule"},
		"an id that is none":            {"GET", "/v1/runs/x", "", "", 404, jobhost.NotFoundRun, `run "x" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			head := []string{"Content-Type", "application/json"}
			if c.kind != "" {
				head[1] = c.kind
			}
			resp, body := call(t, h, c.method, c.target, c.body, head...)
			var p api.Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if resp.StatusCode != c.status || p.Status != c.status || p.Title != http.StatusText(c.status) {
				t.Errorf("status %d, in the body %d %s; want %d", resp.StatusCode, p.Status, p.Title, c.status)
			}
			if p.Code != c.code || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("got %s %q; want %s …%q…", p.Code, p.Detail, c.code, c.detail)
			}
			if len(body) > 2000 {
				t.Errorf("the problem has %d bytes; it must not repeat the request", len(body))
			}
			if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
		})
	}
	resp, _ := call(t, h, "PATCH", "/v1/jobs/a", "")
	if got := resp.Header.Get("Allow"); got != "DELETE, GET, HEAD, PUT" {
		t.Errorf("Allow: %q", got)
	}
}

func TestAnswersOfTheRoutes(t *testing.T) {
	run := string(id1)
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string // of the body, its beginning
	}{
		{"GET", "/v1/jobs", "", 200, `[{"name":"a","plugin":"p","source":"File"`},
		{"GET", "/v1/jobs?after=a", "", 200, "[]\n"},
		{"GET", "/v1/jobs/a", "", 200, `{"name":"a"`},
		{"GET", "/v1/jobs/a/next", "", 200, "[]\n"},
		{"GET", "/v1/next?schedule=every+1m", "", 200, "[]\n"},
		{"PUT", "/v1/jobs/a", `{"plugin":"p","schedule":"every 1m","data":null}`, 200, `{"name":"a","source":"Runtime"}`},
		{"DELETE", "/v1/jobs/a", "", 204, ""},
		{"POST", "/v1/jobs/a/pause", "", 204, ""},
		{"POST", "/v1/jobs/a/pause", `{"reason":"r"}`, 204, ""},
		{"POST", "/v1/jobs/a/resume", "", 204, ""},
		{"POST", "/v1/jobs/a/triggers/t/pause", "", 204, ""},
		{"POST", "/v1/jobs/a/triggers/t/resume", "", 204, ""},
		{"POST", "/v1/jobs/a/restore", "", 200, `{"name":"a","source":"File"}`},
		{"POST", "/v1/jobs:restore", `["a"]`, 200, `[{"ok":true,"value":{"name":"a","source":"File"}}]`},
		{"GET", "/v1/jobs/a/explain", "", 200, `{"job":"a","answer":"it is not due yet","triggers":[]}`},
		{"GET", "/v1/events", "", 200, `{"topic":"scheduling.run.started","time":"2026-01-05T00:00:00.123456Z","job":"a"}` + "\n"},
		{"GET", "/v1/nodes", "", 200, "[]\n"},
		{"POST", "/v1/nodes/host:1:x/drain", "", 202, ""},
		{"GET", "/v1/self", "", 500, `{"title":"Internal Server Error","status":500,"detail":"this server does not tell which node it is"`},
		{"POST", "/v1/jobs/a/trigger", "", 200, `{"id":"` + run},
		{"POST", "/v1/jobs/a/enqueue", "", 202, `{"id":"` + run + `"}`},
		{"GET", "/v1/runs", "", 200, `[{"id":"` + run},
		{"GET", "/v1/runs/count", "", 200, `{"count":3}`},
		{"GET", "/v1/runs/" + run, "", 200, `{"id":"` + run},
		{"GET", "/v1/runs/" + run + "/logs", "", 200, "[]\n"},
		{"GET", "/v1/runs/" + run + "/logs?follow=true", "", 200, ""},
		{"GET", "/v1/runs/" + run + "/output", "", 204, ""},
		{"POST", "/v1/runs/" + run + "/cancel", "", 202, ""},
		{"GET", "/v1/plugins", "", 200, "[]\n"},
		{"POST", "/v1/jobs:delete", `["a"]`, 200, `[{"ok":true,"value":{}}]`},
		{"POST", "/v1/jobs:delete", `[]`, 200, "[]\n"},
		{"POST", "/v1/jobs:status", `[]`, 200, "[]\n"},
		{"POST", "/v1/jobs:enqueue", `[{"job":"a"}]`, 200, `[{"ok":true,"value":"` + run + `"}]`},
		{"GET", "/healthz", "", 200, "ok\n"},
		{"GET", "/readyz", "", 200, "ready\n"},
		{"GET", "/openapi.json", "", 200, `{"components":`},
	} {
		resp, body := call(t, handler(steady()), c.method, c.target, c.body)
		if resp.StatusCode != c.status || !strings.HasPrefix(body, c.want) || c.want == "" && body != "" {
			t.Errorf("%s %s: got %d %.200s; want %d %s", c.method, c.target, resp.StatusCode, body, c.status, c.want)
		}
	}
}

func TestARunThatFailedIsAnAnswer(t *testing.T) {
	resp, body := call(t, handler(steady()), "POST", "/v1/jobs/a/trigger", `{"data":{"x":1}}`)
	var run jobhost.Run
	if err := json.Unmarshal([]byte(body), &run); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	if diff := cmp.Diff(aRun, run); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if !strings.Contains(body, `"scheduledAt":"2026-01-05T00:00:00.123456Z"`) {
		t.Errorf("times are not UTC RFC 3339: %s", body)
	}
}

func TestAnEnqueuedRunHasALocationAndAKey(t *testing.T) {
	s := steady()
	s.enqueue = func(in []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
		same(t, "request", in, []jobhost.EnqueueRequest{{Job: "a", At: t0, IdempotencyKey: "again", Data: json.RawMessage(`{"x": 1}`)}})
		return ok(id1)
	}
	resp, _ := call(t, handler(s), "POST", "/v1/jobs/a/enqueue", `{"data":{"x": 1},"at":"2026-01-05T08:00:00.123456+08:00"}`, "Idempotency-Key", "again")
	if got, want := resp.Header.Get("Location"), "/v1/runs/"+string(id1); got != want || resp.StatusCode != http.StatusAccepted {
		t.Errorf("got %d %q; want 202 %q", resp.StatusCode, got, want)
	}
}

func TestFR09AConflictNamesTheRunningRun(t *testing.T) {
	t.Run("FR-09 a second manual run is 409 and names the first", func(t *testing.T) {
		s := steady()
		s.trigger = func(context.Context, []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			return []jobhost.Result[jobhost.Run]{{Err: &jobhost.Error{
				Code: jobhost.JobRunning, Msg: `job "a" is running`, Hint: "wait for it", Params: map[string]any{"run": id1},
			}}}
		}
		resp, body := call(t, handler(s), "POST", "/v1/jobs/a/trigger", "")
		var p api.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || resp.StatusCode != http.StatusConflict {
			t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
		}
		if p.Params["run"] != string(id1) || p.Hint != "wait for it" || p.Code != jobhost.JobRunning {
			t.Errorf("got %s", body)
		}
	})
}

func TestABatchAnswersEachItemInOrder(t *testing.T) {
	s := steady()
	s.schedule = func(in []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
		same(t, "those that can be read", len(in), 2)
		return []jobhost.Result[jobhost.JobInfo]{
			{Value: jobhost.JobInfo{Name: in[0].Name, Source: jobhost.SourceRuntime}},
			{Err: &jobhost.Error{Code: jobhost.NotFoundPlugin, Msg: "no plugin"}},
		}
	}
	resp, body := call(t, handler(s), "POST", "/v1/jobs:schedule",
		`[{"name":"bad","plugin":"p","timeout":"soon"},{"name":"good","plugin":"p"},{"name":"lost","plugin":"q"}]`)
	var rs []api.Result[jobhost.JobInfo]
	if err := json.Unmarshal([]byte(body), &rs); err != nil || resp.StatusCode != http.StatusOK || len(rs) != 3 {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	if rs[0].OK || rs[0].Problem.Status != 400 || !rs[1].OK || rs[1].Value.Name != "good" || rs[2].OK || rs[2].Problem.Status != 404 {
		t.Errorf("got %s", body)
	}
}

func TestAPathNamesARunByItsIDOrTheBeginningOfIt(t *testing.T) {
	var asked []jobhost.RunID
	s := steady()
	s.runs = func(q jobhost.RunQuery) (rs []jobhost.Run, err error) {
		for _, id := range []jobhost.RunID{id1, id2} {
			if q.Prefix == "" || strings.HasPrefix(string(id), q.Prefix) {
				rs = append(rs, jobhost.Run{ID: id})
			}
		}
		return rs, nil
	}
	s.run = func(id jobhost.RunID) (jobhost.Run, error) { asked = append(asked, id); return aRun, nil }
	s.output = func(id jobhost.RunID) ([]byte, error) { asked = append(asked, id); return nil, nil }
	s.cancel = func(ids []jobhost.RunID) []jobhost.Result[struct{}] {
		asked = append(asked, ids...)
		return make([]jobhost.Result[struct{}], len(ids))
	}
	s.log = func(_ context.Context, id jobhost.RunID, _ jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		asked = append(asked, id)
		return func(func(jobhost.LogEntry, error) bool) {}
	}
	s.replay = func(req jobhost.ReplayRequest) (jobhost.Replayed, error) {
		asked = append(asked, req.Run)
		return jobhost.Replayed{}, nil
	}
	h := handler(s)
	for _, c := range []struct{ method, below string }{
		{"GET", ""}, {"GET", "/output"}, {"POST", "/cancel"}, {"GET", "/logs"}, {"GET", "/logs?follow=true"}, {"POST", "/replay"},
	} {
		for text, want := range map[string]struct {
			status int
			body   string
		}{
			string(id1):      {200, ""},
			string(id1[:14]): {200, ""},
			string(id1[:12]): {400, `3 runs begin with \"` + string(id1[:12]) + `\": ` + string(id1) + ", " + string(id2) + ", …"},
			"01234567":       {404, `run \"01234567\" does not exist`},
			string(id1[:7]):  {404, "does not exist"},
			"x":              {404, "does not exist"},
		} {
			asked = nil
			resp, body := call(t, h, c.method, "/v1/runs/"+text+c.below, "")
			if got := resp.StatusCode; got/100 != want.status/100 || got/100 != 2 && got != want.status || !strings.Contains(body, want.body) {
				t.Errorf("%s %s of %s: got %d %s; want %d …%s…", c.method, c.below, text, got, body, want.status, want.body)
			}
			if got := len(asked) == 1 && asked[0] == id1; got != (want.status == 200) {
				t.Errorf("%s %s of %s: the scheduler was asked about %s", c.method, c.below, text, asked)
			}
		}
	}
}

func TestOutputIsNamedForWhatItIs(t *testing.T) {
	for out, want := range map[string]string{
		`{"a": 1}`: "application/json", "12": "application/json", "a <b>": "text/plain; charset=utf-8", "\xff": "application/octet-stream",
	} {
		s := steady()
		s.output = func(jobhost.RunID) ([]byte, error) { return []byte(out), nil }
		resp, body := call(t, handler(s), "GET", "/v1/runs/"+string(id1)+"/output", "")
		if got := resp.Header.Get("Content-Type"); got != want || body != out {
			t.Errorf("%q: got %q as %q; want %q", out, body, got, want)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Error("a browser may guess another type")
		}
	}
}

func TestAProcessThatIsNotReadySaysWhy(t *testing.T) {
	cfg := api.Defaults()
	cfg.Ready = func() error { return &jobhost.Error{Code: jobhost.StoreFull, Msg: "store is full"} }
	h := api.NewHandler(steady(), cfg)
	if resp, body := call(t, h, "GET", "/readyz", ""); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "store is full") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if resp, _ := call(t, h, "GET", "/healthz", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("got %d; a process that is not ready is alive", resp.StatusCode)
	}
}

func TestAPanicIsAProblemAndALogLine(t *testing.T) {
	var log bytes.Buffer
	cfg := api.Defaults()
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := steady()
	s.plugins = func() ([]jobhost.Plugin, error) { panic("secret") }
	resp, body := call(t, api.NewHandler(s, cfg), "GET", "/v1/plugins", "")
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, string(jobhost.Unexpected)) || strings.Contains(body, "secret") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "/v1/plugins") {
		t.Errorf("log: %s", log.String())
	}
}

func TestTheOpenAPIDocumentIsTheGoldenOne(t *testing.T) {
	_, body := call(t, handler(steady()), "GET", "/openapi.json", "")
	var got bytes.Buffer
	if err := json.Indent(&got, []byte(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.golden.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("go test ./api -update, if this is meant (-want +got):\n%s", diff)
	}
}

func FuzzADefinitionIsReadOrRefused(f *testing.F) {
	f.Add(`{"plugin":"p","schedule":"every 1m","retry":{"max_retries":1,"delay":"1m"},"timeout":"20m"}`)
	f.Add(`{"plugin":"p","triggers":[{"name":"t","schedule":"manual","data":{"a":[1]},"priority":-1,"misfire":"skip"}]}`)
	f.Add(`[]`)
	h := handler(steady())
	f.Fuzz(func(t *testing.T, body string) {
		if resp, answer := call(t, h, "PUT", "/v1/jobs/a", body); resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d %s", body, resp.StatusCode, answer)
		}
	})
}
