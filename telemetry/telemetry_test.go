package telemetry_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/telemetry"
)

var started = time.Date(2026, time.January, 5, 10, 0, 0, 250_000_000, time.UTC)

// newRun makes a run as an engine would, with ids that are the same in every execution of the test.
func newRun(dice *rand.Rand) jobhost.Run {
	var random [10]byte
	for i := range random {
		random[i] = byte(dice.Uint32())
	}
	return jobhost.Run{
		ID: jobhost.NewRunID(started, random), Job: "invoices", Trigger: "nightly", Kind: jobhost.KindSchedule, Attempt: 1,
		ScheduledAt: started.Add(-250 * time.Millisecond), StartedAt: started, Node: "node-1", State: jobhost.RunRunning,
	}
}

func newDice() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func start(t *testing.T, cfg telemetry.Config) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func shutdown(t *testing.T, tel *telemetry.Telemetry) {
	t.Helper()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// returning is a run that ends with out.
func returning(out jobhost.Outcome) jobhost.RunFunc {
	return func(context.Context, jobhost.Call) jobhost.Outcome { return out }
}

func TestRunSpan(t *testing.T) {
	t.Run("S-194 has the run's facts and an error status, and a retry links to the first run", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{Version: "v1.2.3", Node: "node-1"})
		dice := newDice()
		first := newRun(dice)
		second := newRun(dice)
		second.Kind, second.Attempt, second.RetryOf = jobhost.KindRetry, 2, first.ID
		failure := jobhost.Outcome{Code: "INVOICE_LOCKED", Message: "invoice 7 is locked", Digest: "abc123"}
		success := jobhost.Outcome{Digest: "abc123", Output: []byte("42")}

		got := tel.Middleware()(returning(failure))(t.Context(), jobhost.Call{Run: first, Plugin: "invoicer"})
		if diff := cmp.Diff(got, failure); diff != "" {
			t.Errorf("the outcome changed on its way (-got +want):\n%s", diff)
		}
		tel.Middleware()(returning(success))(t.Context(), jobhost.Call{Run: second, Plugin: "invoicer"})
		shutdown(t, tel)

		s := recv.span(t, first.ID.SpanID())
		checkRoot(t, s, first)
		want := map[string]any{
			"jobhost.run.id": string(first.ID), "jobhost.run.job": "invoices", "jobhost.run.trigger": "nightly",
			"jobhost.run.kind": "Schedule", "jobhost.run.attempt": int64(1), "jobhost.run.node": "node-1",
			"jobhost.run.plugin": "invoicer", "jobhost.run.scheduled_at": "2026-01-05T10:00:00Z",
			"jobhost.run.lateness": 0.25, "jobhost.run.digest": "abc123",
			"jobhost.run.error_code": "INVOICE_LOCKED", "error.type": "plugin",
		}
		if diff := cmp.Diff(attributes(s.GetAttributes()), want); diff != "" {
			t.Errorf("attributes of the first run (-got +want):\n%s", diff)
		}
		if c, m := s.GetStatus().GetCode(), s.GetStatus().GetMessage(); c != otlp.Status_STATUS_CODE_ERROR || m != "INVOICE_LOCKED: invoice 7 is locked" {
			t.Errorf("status of the first run is %v %q", c, m)
		}

		s = recv.span(t, second.ID.SpanID())
		checkRoot(t, s, second)
		as := attributes(s.GetAttributes())
		if as["jobhost.run.retry_of"] != string(first.ID) || as["jobhost.run.attempt"] != int64(2) || as["jobhost.run.kind"] != "Retry" {
			t.Errorf("attributes of the retry: %v", as)
		}
		if as["error.type"] != nil || s.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET {
			t.Errorf("the retry succeeded, but error.type is %v and the status %v", as["error.type"], s.GetStatus())
		}
		checkLink(t, s, "retry_of", first.ID)

		wantResource := map[string]any{"service.name": "jobhost", "service.version": "v1.2.3", "service.instance.id": "node-1"}
		for k, v := range wantResource {
			if recv.resource[k] != v {
				t.Errorf("resource attribute %s is %v, want %v", k, recv.resource[k], v)
			}
		}
	})
	t.Run("of a recovery links to the lost run", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		dice := newDice()
		lost, run := newRun(dice), newRun(dice)
		run.Kind, run.RecoveryOf = jobhost.KindRecovery, lost.ID
		tel.Middleware()(returning(jobhost.Outcome{}))(t.Context(), jobhost.Call{Run: run})
		shutdown(t, tel)
		checkLink(t, recv.span(t, run.ID.SpanID()), "recovery_of", lost.ID)
	})
	t.Run("of a manual run has no trigger, no link and no error", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		run := newRun(newDice())
		run.Kind, run.Trigger = jobhost.KindManual, ""
		tel.Middleware()(returning(jobhost.Outcome{}))(t.Context(), jobhost.Call{Run: run})
		shutdown(t, tel)
		s := recv.span(t, run.ID.SpanID())
		as := attributes(s.GetAttributes())
		for _, k := range []string{"jobhost.run.trigger", "jobhost.run.retry_of", "jobhost.run.recovery_of", "jobhost.run.error_code", "error.type"} {
			if v, ok := as[k]; ok {
				t.Errorf("attribute %s is %v, want none", k, v)
			}
		}
		if len(s.GetLinks()) != 0 {
			t.Errorf("links: %v", s.GetLinks())
		}
	})
	t.Run("survives text that is not UTF-8", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		run := newRun(newDice())
		out := jobhost.Outcome{Code: "BAD\xff", Message: "caf\xe9 " + strings.Repeat("x", 2*jobhost.MaxErrorMessage)}
		tel.Middleware()(returning(out))(t.Context(), jobhost.Call{Run: run})
		shutdown(t, tel)
		m := recv.span(t, run.ID.SpanID()).GetStatus().GetMessage()
		if !strings.HasPrefix(m, "BAD\uFFFD: caf\uFFFD xxx") || len(m) > jobhost.MaxErrorMessage+64 {
			t.Errorf("status message of %d bytes: %.40q", len(m), m)
		}
	})
	t.Run("ends as a failure when the run panics, and the panic goes on", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		run := newRun(newDice())
		panicking := func(context.Context, jobhost.Call) jobhost.Outcome { panic("out of cheese") }
		func() {
			defer func() {
				if r := recover(); r != "out of cheese" {
					t.Errorf("recovered %v", r)
				}
			}()
			tel.Middleware()(panicking)(t.Context(), jobhost.Call{Run: run})
		}()
		shutdown(t, tel)
		as := attributes(recv.span(t, run.ID.SpanID()).GetAttributes())
		if as["jobhost.run.error_code"] != string(jobhost.Unexpected) || as["error.type"] != "unexpected" {
			t.Errorf("attributes: %v", as)
		}
	})
}

func TestErrorTypeHasFewValues(t *testing.T) {
	recv := newReceiver(t)
	tel := start(t, telemetry.Config{})
	dice := newDice()
	for code, want := range map[jobhost.Code]string{
		jobhost.TimedOut: "timeout", jobhost.Canceled: "cancellation", jobhost.NotFoundPlugin: "plugin_not_found",
		jobhost.Unexpected: "unexpected", "E1": "plugin", "E2": "plugin",
	} {
		run := newRun(dice)
		run.Trigger = want
		tel.Middleware()(returning(jobhost.Outcome{Code: code}))(t.Context(), jobhost.Call{Run: run})
	}
	shutdown(t, tel)
	if recv.count() != 6 {
		t.Fatalf("%d spans arrived, want 6", recv.count())
	}
	for _, s := range recv.spans {
		if as := attributes(s.GetAttributes()); as["error.type"] != as["jobhost.run.trigger"] {
			t.Errorf("error.type of %v is %v, want %v", as["jobhost.run.error_code"], as["error.type"], as["jobhost.run.trigger"])
		}
	}
}

func TestTraces(t *testing.T) {
	t.Run("FR-52 N runs are N traces, and other spans of a run are below its root", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		dice := newDice()
		const n = 20
		runs := make([]jobhost.Run, n)
		body := func(ctx context.Context, _ jobhost.Call) jobhost.Outcome {
			tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer("test")
			_, child := tracer.Start(ctx, "child")
			child.End()
			_, root := tracer.Start(ctx, "elsewhere", trace.WithNewRoot())
			root.End()
			return jobhost.Outcome{}
		}
		for i := range runs {
			runs[i] = newRun(dice)
			tel.Middleware()(body)(t.Context(), jobhost.Call{Run: runs[i]})
		}
		shutdown(t, tel)
		if recv.count() != 3*n {
			t.Fatalf("%d spans arrived, want %d", recv.count(), 3*n)
		}
		traces := map[string][]string{}
		for _, s := range recv.spans {
			id := hex.EncodeToString(s.GetTraceId())
			traces[id] = append(traces[id], s.GetName())
			if s.GetName() == "child" {
				if parent := hex.EncodeToString(s.GetParentSpanId()); parent != jobhost.RunID(id).SpanID() {
					t.Errorf("the child in trace %s has the parent %s, want %s", id, parent, jobhost.RunID(id).SpanID())
				}
			}
		}
		if len(traces) != 2*n {
			t.Errorf("%d traces, want one for each run and one for each root of its own", len(traces))
		}
		for _, r := range runs {
			checkRoot(t, recv.span(t, r.ID.SpanID()), r)
			if len(traces[string(r.ID)]) != 2 {
				t.Errorf("trace %s has the spans %q, want the run and its child", r.ID, traces[string(r.ID)])
			}
		}
	})
	t.Run("FR-52 a run inside of another trace is a root all the same", func(t *testing.T) {
		recv := newReceiver(t)
		tel := start(t, telemetry.Config{})
		run := newRun(newDice())
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
		tel.Middleware()(returning(jobhost.Outcome{}))(ctx, jobhost.Call{Run: run})
		shutdown(t, tel)
		checkRoot(t, recv.span(t, run.ID.SpanID()), run)
	})
	t.Run("a ratio samples run ids evenly", func(t *testing.T) {
		recv := newReceiver(t)
		t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
		tel := start(t, telemetry.Config{})
		dice := newDice()
		sampled := 0
		for range 2000 {
			tel.Middleware()(func(_ context.Context, call jobhost.Call) jobhost.Outcome {
				if strings.HasSuffix(call.Traceparent, "-01") {
					sampled++
				}
				return jobhost.Outcome{}
			})(t.Context(), jobhost.Call{Run: newRun(dice)})
		}
		shutdown(t, tel)
		if sampled < 140 || sampled > 260 || recv.count() != sampled {
			t.Errorf("%d of 2000 runs were sampled and %d arrived, want about 200", sampled, recv.count())
		}
	})
}

func TestPluginGetsTraceparent(t *testing.T) {
	run := newRun(newDice())
	for _, tt := range []struct {
		name, sampler, disabled, want string
	}{
		{"sampled by default", "", "", "00-" + string(run.ID) + "-" + run.ID.SpanID() + "-01"},
		{"with a clear flag when the sampler drops the run", "always_off", "", "00-" + string(run.ID) + "-" + run.ID.SpanID() + "-00"},
		{"not at all when the SDK is disabled", "", "true", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			newReceiver(t)
			t.Setenv("OTEL_TRACES_SAMPLER", tt.sampler)
			t.Setenv("OTEL_SDK_DISABLED", tt.disabled)
			tel := start(t, telemetry.Config{})
			var got string
			tel.Middleware()(func(_ context.Context, call jobhost.Call) jobhost.Outcome {
				got = call.Traceparent
				return jobhost.Outcome{}
			})(t.Context(), jobhost.Call{Run: run})
			shutdown(t, tel)
			if got != tt.want {
				t.Errorf("traceparent is %q, want %q", got, tt.want)
			}
		})
	}
}

func checkRoot(t *testing.T, s *otlp.Span, r jobhost.Run) {
	t.Helper()
	if got := hex.EncodeToString(s.GetTraceId()); got != string(r.ID) {
		t.Errorf("trace id is %s, want the run id %s", got, r.ID)
	}
	if s.GetName() != "job.run "+r.Job || len(s.GetParentSpanId()) != 0 || s.GetKind() != otlp.Span_SPAN_KIND_INTERNAL {
		t.Errorf("span %q of kind %v has the parent %x, want an internal root %q", s.GetName(), s.GetKind(), s.GetParentSpanId(), "job.run "+r.Job)
	}
	if got := s.GetStartTimeUnixNano(); got != uint64(r.StartedAt.UnixNano()) {
		t.Errorf("span starts at %d, want the run's start %d", got, r.StartedAt.UnixNano())
	}
	if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
		t.Errorf("span ends at %d, before it starts at %d", s.GetEndTimeUnixNano(), s.GetStartTimeUnixNano())
	}
}

func checkLink(t *testing.T, s *otlp.Span, kind string, to jobhost.RunID) {
	t.Helper()
	got := make([]string, 0, 1)
	for _, l := range s.GetLinks() {
		got = append(got, fmt.Sprintf("%v %x %x", attributes(l.GetAttributes())["jobhost.link.kind"], l.GetTraceId(), l.GetSpanId()))
	}
	want := []string{fmt.Sprintf("%s %s %s", kind, to, to.SpanID())}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("links (-got +want):\n%s", diff)
	}
}
