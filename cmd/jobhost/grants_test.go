package main

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/jobhost/jobhost"
)

// trigger runs a job once and returns the run, its output and its log.
func (p *process) trigger(job string) (r jobhost.Run, output, log string) {
	p.Helper()
	r, err := jobhost.One(p.api.Trigger(p.Context(), []jobhost.TriggerRequest{{Job: job}}))
	if err != nil {
		p.Fatal(err)
	}
	if r.State == jobhost.RunSucceeded {
		out, err := p.api.Output(p.Context(), r.ID)
		if err != nil {
			p.Fatal(err)
		}
		output = string(out)
	}
	var lines []string
	for e, err := range p.api.Log(p.Context(), r.ID, jobhost.LogQuery{}) {
		if err != nil {
			p.Fatal(err)
		}
		lines = append(lines, e.Msg)
	}
	return r, output, strings.Join(lines, "\n")
}

func TestWhatARunIsGrantedAtAHost(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(site.Close)
	f := newFolder(t, fmt.Sprintf(`
jobs:
  - {name: keeps, plugin: guest, data: {do: [keep page 7]}, grants: {kv: true}}
  - {name: denied, plugin: guest, data: {do: [kept page]}}
  - {name: asks, plugin: guest, data: {do: ["get %[1]s/"]}, grants: {http: [{host: "%[1]s", private: true}]}}
  - {name: asks.others, plugin: guest, data: {do: ["get %[1]s/"]}, grants: {http: [{host: "%[1]s"}]}}
  - name: hushes
    plugin: guest
    data: {do: [say the word is sesame-open, env TOKEN, exit 3]}
    grants: &hush {secrets: {TOKEN: {env: JH_TOKEN}}}
  - {name: tells, plugin: guest, data: {do: [env TOKEN]}, grants: *hush}
  - {name: misses, plugin: guest, data: {do: []}, grants: {secrets: {TOKEN: {file: gone}}}}
  - {name: short, plugin: guest, data: {do: []}, grants: {secrets: {PIN: {env: JH_PIN}}}}
`, site.URL))
	f.env = []string{"JH_TOKEN=sesame-open", "JH_PIN=123"}
	p := f.serve()

	if r, _, log := p.trigger("keeps"); r.State != jobhost.RunSucceeded {
		t.Errorf("a value cannot be kept: %+v, log %q", r, log)
	}
	if _, out, log := p.trigger("denied"); out != "-2 " || !strings.HasPrefix(log, "capability_denied: kv_get") {
		t.Errorf("without a grant the output is %q, the log %q", out, log)
	}
	if _, out, log := p.trigger("asks"); out != "418" {
		t.Errorf("the site answers %q, log %q", out, log)
	}
	if _, out, log := p.trigger("asks.others"); out != "-2" || !strings.Contains(log, "127.0.0.1, which is not public") {
		t.Errorf("a private address answers %q, log %q", out, log)
	}
	if _, out, _ := p.trigger("tells"); out != "***" {
		t.Errorf("the output is %q", out)
	}
	if r, _, log := p.trigger("hushes"); r.State != jobhost.RunFailed || log != "the word is ***\nexiting with 3" {
		t.Errorf("run %+v, log %q", r, log)
	}
	if r, _, _ := p.trigger("misses"); r.ErrorCode != jobhost.Unexpected || !strings.HasPrefix(r.ErrorMessage, "secret TOKEN: stat gone: no such file") {
		t.Errorf("without its secret the run is %+v", r)
	}
	p.stop()
	for _, want := range []string{"grants[misses].secrets.TOKEN: runs of the job fail without it: stat gone", "grants[short].secrets.PIN: has 3 bytes; one of less than 4 is not hidden"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log of the host lacks %q", want)
		}
	}

	// What is kept is there after a restart, for its own job alone.
	f.write("jobhost.yaml", `
jobs:
  - {name: keeps, plugin: guest, data: {do: [kept page]}, grants: {kv: true}}
  - {name: other, plugin: guest, data: {do: [kept page]}, grants: {kv: true}}
`)
	p = f.serve()
	if _, out, log := p.trigger("keeps"); out != "1 7" {
		t.Errorf("after a restart the value is %q, log %q", out, log)
	}
	if _, out, _ := p.trigger("other"); out != "-1 " {
		t.Errorf("another job has %q", out)
	}
	p.stop()
}

func TestARequestOfAPluginIsPartOfItsRunsTrace(t *testing.T) {
	t.Parallel()
	came := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { came <- req.Header.Get("Traceparent") }))
	t.Cleanup(site.Close)
	s := newSink(t)
	f := newFolder(t, fmt.Sprintf(`
jobs: [{name: asks, plugin: guest, data: {do: ["get %[1]s/path?key=x"]}, grants: {http: [{host: "%[1]s", private: true}]}}]
`, site.URL))
	f.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.url, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_BSP_SCHEDULE_DELAY=3600000"}
	p := f.serve()
	r, out, log := p.trigger("asks")
	if out != "200" {
		t.Fatalf("the site answers %q, log %q", out, log)
	}
	p.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	spans := s.below[string(r.ID)]
	if len(spans) != 1 {
		t.Fatalf("%d spans below the run's", len(spans))
	}
	span := spans[0]
	if want := "00-" + string(r.ID) + "-" + hex.EncodeToString(span.GetSpanId()) + "-01"; <-came != want {
		t.Errorf("the site was not told %s", want)
	}
	if span.GetName() != http.MethodGet || span.GetKind() != otlp.Span_SPAN_KIND_CLIENT || hex.EncodeToString(span.GetParentSpanId()) != r.ID.SpanID() {
		t.Errorf("the span is %v", span)
	}
	if got := attribute(span, "url.full"); got != site.URL+"/path" {
		t.Errorf("url.full is %v", got)
	}
	if got := attribute(span, "http.response.status_code"); got != int64(http.StatusOK) {
		t.Errorf("the status is %v", got)
	}
}
