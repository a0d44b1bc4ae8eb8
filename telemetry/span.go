package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jobhost/jobhost"
)

// timeline is the time of a run's trace: the engine's clock at the start, the monotonic clock from there on.
type timeline struct{ started, begun time.Time }

func (l timeline) now() time.Time { return l.started.Add(time.Since(l.begun)) }

// span is a span of a run, for whoever carries the run out.
type span struct {
	trace.Span

	tracer trace.Tracer
	line   timeline
}

var _ jobhost.Span = span{}

// Child starts a span below this one.
func (s span) Child(name string) jobhost.Span { return s.start(name, trace.SpanKindInternal) }

// Client starts a span below this one that stands for a request to another service.
func (s span) Client(name string) jobhost.Span { return s.start(name, trace.SpanKindClient) }

func (s span) start(name string, kind trace.SpanKind) span {
	ctx := trace.ContextWithSpan(context.Background(), s.Span)
	_, below := s.tracer.Start(ctx, text(name, maxText), trace.WithTimestamp(s.line.now()), trace.WithSpanKind(kind)) //nolint:spancheck // its owner ends it
	return span{below, s.tracer, s.line}                                                                              //nolint:spancheck // the same
}

// maxText bounds what is said about a span, in bytes, whoever says it.
const maxText = 4 << 10

// numbers are the attributes that the OpenTelemetry conventions have as integers.
var numbers = map[string]bool{"http.response.status_code": true, "server.port": true}

// SetAttribute says something about the span. Nothing happens once it has ended.
func (s span) SetAttribute(key, value string) {
	key = text(key, maxText)
	if n, err := strconv.Atoi(value); err == nil && numbers[key] {
		s.SetAttributes(attribute.Int(key, n))
		return
	}
	s.SetAttributes(attribute.String(key, text(value, maxText)))
}

// Event notes that something happened now.
func (s span) Event(name string) {
	s.AddEvent(text(name, maxText), trace.WithTimestamp(s.line.now()))
}

// End ends the span, as a failure unless ok. Only the first call counts.
func (s span) End(ok bool) {
	if !ok {
		s.SetStatus(codes.Error, "")
	}
	s.Span.End(trace.WithTimestamp(s.line.now()))
}

// Traceparent is the W3C trace context of the span.
func (s span) Traceparent() string {
	c := s.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
