package main

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/jobhost/jobhost"
)

// sink is a collector on loopback: OTLP over HTTP.
type sink struct {
	url string

	mu sync.Mutex

	spans map[string]*otlp.Span   // root spans, by trace id
	below map[string][]*otlp.Span // all others
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{spans: map[string]*otlp.Span{}, below: map[string][]*otlp.Span{}}
	srv := httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	var req collector.ExportTraceServiceRequest
	err := error(nil)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(body)
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(body)
	}
	if err == nil {
		err = proto.Unmarshal(b, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() {
				if id := hex.EncodeToString(span.GetTraceId()); len(span.GetParentSpanId()) == 0 {
					s.spans[id] = span
				} else {
					s.below[id] = append(s.below[id], span)
				}
			}
		}
	}
}

// of is the root span of a run, if it has come.
func (s *sink) of(id jobhost.RunID) *otlp.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans[string(id)]
}

func attribute(span *otlp.Span, key string) any {
	for _, kv := range span.GetAttributes() {
		if kv.GetKey() == key {
			switch v := kv.GetValue().GetValue().(type) {
			case *common.AnyValue_StringValue:
				return v.StringValue
			case *common.AnyValue_IntValue:
				return v.IntValue
			}
		}
	}
	return nil
}

func TestS194EveryRunHasATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	t.Run("S-194 from the run to the collector", func(t *testing.T) {
		s := newSink(t)
		f := newFolder(t, `
jobs:
  - {name: good, plugin: guest, data: {do: [env TRACEPARENT]}}
  - name: bad
    plugin: guest
    data: {do: [exit 3], retry: [print better]}
    retry: {max_retries: 1, delay: 10ms}
`)
		f.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.url, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_BSP_SCHEDULE_DELAY=3600000"}
		p := f.serve()
		good, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "good"}}))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.api.Output(t.Context(), good.ID); err != nil || string(out) != good.ID.Traceparent(true) {
			t.Errorf("the plugin's traceparent is %q, %v; want %s", out, err, good.ID.Traceparent(true))
		}
		first, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "bad"}}))
		if err != nil {
			t.Fatal(err)
		}
		retry := p.await("retry", jobhost.RunQuery{RetryOf: first.ID, States: []jobhost.RunState{jobhost.RunSucceeded}}, some)[0]
		p.stop() // FR-52: the last spans are sent at the end

		for _, c := range []struct {
			run    jobhost.Run
			status otlp.Status_StatusCode
		}{
			{good, otlp.Status_STATUS_CODE_UNSET}, {first, otlp.Status_STATUS_CODE_ERROR}, {retry, otlp.Status_STATUS_CODE_UNSET},
		} {
			span := s.of(c.run.ID)
			if span == nil {
				t.Errorf("no span of run %s of job %s came", c.run.ID, c.run.Job)
				continue
			}
			want := map[string]any{
				"jobhost.run.id": string(c.run.ID), "jobhost.run.job": c.run.Job, "jobhost.run.kind": c.run.Kind.String(), "jobhost.run.attempt": int64(c.run.Attempt),
			}
			for key, v := range want {
				if got := attribute(span, key); got != v {
					t.Errorf("job %s: %s is %v; want %v", c.run.Job, key, got, v)
				}
			}
			if span.GetName() != "job.run "+c.run.Job || hex.EncodeToString(span.GetSpanId()) != c.run.ID.SpanID() || span.GetStatus().GetCode() != c.status {
				t.Errorf("job %s: span %q %x, status %v", c.run.Job, span.GetName(), span.GetSpanId(), span.GetStatus())
			}
		}
		if links := s.of(retry.ID).GetLinks(); len(links) != 1 || hex.EncodeToString(links[0].GetTraceId()) != string(first.ID) {
			t.Errorf("the retry has links %v; want one to the first run", links)
		}
	})
}

func TestFR52ACollectorThatIsDownDelaysNothing(t *testing.T) {
	t.Parallel()
	t.Run("FR-52 no collector", func(t *testing.T) {
		f := newFolder(t, "jobs: [{name: tick, plugin: ok, schedule: cron * * * * * *}]\n")
		f.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=100"}
		p := f.serve()
		runs := p.await("three runs", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunSucceeded}}, func(runs []jobhost.Run) bool { return len(runs) >= 3 })
		for _, r := range runs {
			if late := r.StartedAt.Sub(r.ScheduledAt); late > 500*time.Millisecond {
				t.Errorf("a run is %v late", late)
			}
		}
		began := time.Now()
		p.stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}
