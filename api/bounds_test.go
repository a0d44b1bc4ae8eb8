package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// nested is data of so many levels.
func nested(depth int) json.RawMessage {
	return json.RawMessage(`{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
}

// repeated is n times an item, in a list.
func repeated(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

// No body takes many times its size, however small and wrong its parts are, and no answer is long.
func TestABodyTakesNoMoreThanAFewTimesItsSize(t *testing.T) {
	h := handler(steady())
	const mib = 1 << 20
	long := strings.Repeat("x", 3*mib)
	for name, c := range map[string]struct {
		method, target, body string
		want                 string
	}{
		"triggers without anything":   {"PUT", "/v1/jobs/x", `{"plugin":"hello","triggers":` + repeated("{}", mib) + `}`, "more than 100 items"},
		"requests without anything":   {"POST", "/v1/jobs:enqueue", repeated("{}", mib), "more than 1000 items"},
		"definitions":                 {"POST", "/v1/jobs:schedule", repeated("{}", 2*mib), "more than 1000 items"},
		"jobs of triggers":            {"POST", "/v1/jobs:schedule", repeated(`{"triggers":`+repeated("{}", 100)+`}`, 1000), "more than 100000 values"},
		"unknown keys":                {"POST", "/v1/jobs/x/pause", `{` + keys(200_000) + `}`, "more than 100000 values"},
		"unknown keys below":          {"POST", "/v1/jobs:pause", `[{` + keys(90_000) + `}]`, "and more: 90001 in all"},
		"lists in lists":              {"POST", "/v1/jobs/x/pause", `{"reason":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "nested more than 20 levels"},
		"numbers":                     {"POST", "/v1/runs:cancel", repeated("0", 2*mib), "more than 1000 items"},
		"a long key":                  {"POST", "/v1/jobs/x/pause", `{"` + long + `":0}`, "has 3145728 bytes, at most 256"},
		"a long name":                 {"POST", "/v1/jobs:schedule", `[{"name":"` + long + `","plugin":"p"}]`, "has 3145728 bytes, at most 65536"},
		"long texts":                  {"POST", "/v1/runs:cancel", repeated(`"`+strings.Repeat("x", 10_000)+`"`, 1000), "more than 4 MiB of text"},
		"a data of many values":       {"POST", "/v1/jobs/x/trigger", `{"Data":{"a":` + repeated("{}", mib) + `},"x":1}`, "body.x: unexpected property"},
		"a data where none should be": {"POST", "/v1/jobs:pause", `[{"data":` + repeated("{}", mib) + `}]`, "body[0].data: unexpected property"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, body := call(t, h, c.method, c.target, c.body, "Content-Type", "application/json")
			runtime.ReadMemStats(&after)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, c.want) {
				t.Errorf("got %d %.300s; want 400 …%q…", resp.StatusCode, body, c.want)
			}
			if len(body) > 64<<10 {
				t.Errorf("the answer has %d bytes", len(body))
			}
			// The body is copied a few times as its buffers grow; what is decoded and complained about is bounded.
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(16*len(c.body)+96*mib); got > most {
				t.Errorf("%d MiB for a body of %d MiB, at most %d are expected", got/mib, len(c.body)/mib, most/mib)
			}
		})
	}
}

// keys are members of an object, each another.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// A text that is complained about is not repeated with each complaint.
func TestComplaintsDoNotRepeatLongTexts(t *testing.T) {
	long := strings.Repeat("x", 60<<10)
	h := handler(steady())
	for name, item := range map[string]string{
		"name":     `{"name":"` + long + `","plugin":"p","triggers":` + repeated(`{"name":"t","schedule":"every 1m","misfire":"x"}`, 100) + `}`,
		"trigger":  `{"name":"a","plugin":"p","triggers":[{"name":"` + long + `","schedule":"s","misfire":"x","start_deadline":"y"}]}`,
		"schedule": `{"name":"a","plugin":"p","schedule":"` + long + `"}`,
		"misfire":  `{"name":"a","plugin":"p","triggers":[{"name":"t","schedule":"every 1m","misfire":"` + long + `"}]}`,
		"timeout":  `{"name":"a","plugin":"p","timeout":"` + long + `"}`,
		"backoff":  `{"name":"a","plugin":"p","retry":{"max_retries":1,"delay":"1s","backoff":"` + long + `"}}`,
	} {
		resp, body := call(t, h, "POST", "/v1/jobs:schedule", "["+item+"]", "Content-Type", "application/json")
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, string(jobhost.InvalidDefinition)) || len(body) > 2000 {
			t.Errorf("%s: got %d with %d bytes, %.200s; want a short refusal of the item", name, resp.StatusCode, len(body), body)
		}
	}
}

// A request may carry as much data as it could before.
func TestDataOfManyValuesIsTaken(t *testing.T) {
	data := `{"a":` + repeated("0", 500_000) + `}`
	var got []jobhost.TriggerRequest
	s := steady()
	answer := s.trigger
	s.trigger = func(ctx context.Context, in []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
		got = in
		return answer(ctx, in)
	}
	resp, body := call(t, handler(s), "POST", "/v1/jobs/a/trigger", `{"data":`+data+`}`, "Content-Type", "application/json")
	if resp.StatusCode != http.StatusOK || len(got) != 1 || string(got[0].Data) != data {
		t.Errorf("got %d %.200s", resp.StatusCode, body)
	}
}

// A store of an older version may have data so deep that no reader takes an answer with it.
func TestDeepDataDoesNotBreakAnswers(t *testing.T) {
	deep := aRun
	deep.Data = nested(9_998)
	s := steady()
	s.run = func(jobhost.RunID) (jobhost.Run, error) { return deep, nil }
	s.trigger = func(context.Context, []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] { return ok(deep) }
	h := handler(s)
	for target, body := range map[string]string{
		"GET /v1/runs/" + string(id1): "", "POST /v1/jobs/a/trigger": `{}`, "POST /v1/jobs:trigger": `[{"job":"a"}]`,
	} {
		method, path, _ := strings.Cut(target, " ")
		resp, answer := call(t, h, method, path, body, "Content-Type", "application/json")
		if resp.StatusCode != http.StatusOK || !strings.Contains(answer, `{"unreadable":"20000 bytes of data, nested 9998 levels deep"}`) {
			t.Errorf("%s: got %d %.300s", target, resp.StatusCode, answer)
		}
		if !json.Valid([]byte(answer)) {
			t.Errorf("%s: the answer is no JSON", target)
		}
	}
	d := api.DefinitionOf(jobhost.JobDef{Data: deep.Data, Triggers: []jobhost.TriggerDef{{Data: deep.Data}}})
	if jobhost.DataDepth(d.Data) > 1 || jobhost.DataDepth(d.Triggers[0].Data) > 1 {
		t.Errorf("a definition has the deep data: %.50s, %.50s", d.Data, d.Triggers[0].Data)
	}
}

// A client sends as many requests as it takes, and keeps the order of the answers.
func TestALongBatchGoesInSeveralRequests(t *testing.T) {
	s := steady()
	var calls []int
	s.schedule = func(in []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
		calls = append(calls, len(in))
		rs := make([]jobhost.Result[jobhost.JobInfo], len(in))
		for i, d := range in {
			rs[i].Value = jobhost.JobInfo{Name: d.Name, Source: jobhost.SourceRuntime}
		}
		return rs
	}
	c := api.NewClient("http://jobhost", serve(t, handler(s)))
	batch := func(n, triggers, data int) {
		t.Helper()
		calls = nil
		defs := make([]jobhost.JobDef, n)
		for i := range defs {
			defs[i] = jobhost.NewJob(fmt.Sprintf("j%d", i), "p")
			defs[i].Data = json.RawMessage(`{"a":"` + strings.Repeat("x", data) + `"}`)
			for k := range triggers {
				defs[i].Triggers = append(defs[i].Triggers, jobhost.NewTrigger(fmt.Sprintf("t%d", k), "every 1m"))
			}
		}
		for i, r := range c.Schedule(t.Context(), defs) {
			if r.Err != nil || r.Value.Name != defs[i].Name {
				t.Fatalf("item %d of %d: got %v, %v", i, n, r.Value, r.Err)
			}
		}
		if len(calls) < 2 {
			t.Errorf("%d items went in %v", n, calls)
		}
	}
	batch(2500, 1, 0)
	batch(200, jobhost.MaxTriggers, 0)
	batch(12, 0, 1<<20-100)
}

func TestABodyThatIsEncodedIsRefused(t *testing.T) {
	resp, body := call(t, handler(steady()), "POST", "/v1/jobs/a/trigger", "\x1f\x8b", "Content-Type", "application/json", "Content-Encoding", "gzip")
	if resp.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(body, "want it plain") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}
