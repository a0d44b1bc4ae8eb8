package telemetry_test

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/telemetry"
)

// named returns the span of a name that has come.
func (r *receiver) named(t *testing.T, name string) *otlp.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == name {
			return s
		}
	}
	t.Fatalf("no span %q among %d", name, len(r.spans))
	return nil
}

func TestSpansBelowTheRun(t *testing.T) {
	recv := newReceiver(t)
	tel := start(t, telemetry.Config{})
	run := newRun(newDice())
	var traceparent string
	body := func(_ context.Context, call jobhost.Call) jobhost.Outcome {
		if got := call.Span.Traceparent(); got != call.Traceparent {
			t.Errorf("the root span's traceparent is %q, the run's %q", got, call.Traceparent)
		}
		call.Span.Event("began")
		step := call.Span.Child("step\xff")
		step.SetAttribute("rows", "12")
		step.SetAttribute("server.port", "443")
		step.SetAttribute("http.response.status_code", "no number")
		step.SetAttribute("note\xff", strings.Repeat("é", 4<<10))
		step.Event("half\xff way")
		request := step.(interface {
			Client(name string) jobhost.Span
		}).Client("GET")
		traceparent = request.Traceparent()
		request.End(true)
		step.End(false)
		step.End(true)
		step.SetAttribute("late", "x")
		step.Event("late")
		return jobhost.Outcome{}
	}
	tel.Middleware()(body)(t.Context(), jobhost.Call{Run: run})
	shutdown(t, tel)

	root, step, request := recv.span(t, run.ID.SpanID()), recv.named(t, "step\uFFFD"), recv.named(t, "GET")
	id := hex.EncodeToString
	if id(step.GetTraceId()) != string(run.ID) || id(step.GetParentSpanId()) != run.ID.SpanID() || step.GetKind() != otlp.Span_SPAN_KIND_INTERNAL {
		t.Errorf("the step has trace %x, parent %x, kind %v", step.GetTraceId(), step.GetParentSpanId(), step.GetKind())
	}
	if id(request.GetParentSpanId()) != id(step.GetSpanId()) || request.GetKind() != otlp.Span_SPAN_KIND_CLIENT {
		t.Errorf("the request has parent %x, kind %v", request.GetParentSpanId(), request.GetKind())
	}
	if want := "00-" + string(run.ID) + "-" + id(request.GetSpanId()) + "-01"; traceparent != want {
		t.Errorf("traceparent is %s, want %s", traceparent, want)
	}
	want := map[string]any{"rows": "12", "server.port": int64(443), "http.response.status_code": "no number", "note\uFFFD": strings.Repeat("é", 2<<10)}
	if diff := cmp.Diff(attributes(step.GetAttributes()), want); diff != "" {
		t.Error(diff)
	}
	if es := step.GetEvents(); len(es) != 1 || es[0].GetName() != "half\uFFFD way" {
		t.Errorf("events of the step: %v", es)
	}
	if es := root.GetEvents(); len(es) != 1 || es[0].GetName() != "began" {
		t.Errorf("events of the run: %v", es)
	}
	if step.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || request.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET {
		t.Errorf("status of the step %v, of the request %v", step.GetStatus(), request.GetStatus())
	}
	// The engine's clock shows another time than this machine's. All of the trace is on the engine's.
	for _, s := range []*otlp.Span{step, request} {
		if s.GetStartTimeUnixNano() < root.GetStartTimeUnixNano() || s.GetEndTimeUnixNano() > root.GetEndTimeUnixNano() {
			t.Errorf("%s is from %v to %v, outside of the run", s.GetName(), time.Unix(0, int64(s.GetStartTimeUnixNano())), time.Unix(0, int64(s.GetEndTimeUnixNano())))
		}
	}
}

func TestWithoutTelemetryTheCallHasNoSpan(t *testing.T) {
	clearEnv(t)
	tel := start(t, telemetry.Config{})
	body := func(_ context.Context, call jobhost.Call) jobhost.Outcome {
		if call.Span != nil {
			t.Errorf("the span is %v", call.Span)
		}
		return jobhost.Outcome{}
	}
	tel.Middleware()(body)(t.Context(), jobhost.Call{Run: newRun(newDice())})
}
