package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jobhost/jobhost"
)

// Middleware opens the root span of a run's own trace, gives the plugin its traceparent and puts the span into the call
// and into the context. It is the chain's tracing link: outside of it only panics are translated (SPEC 1). When nothing is exported
// it returns the next function as it is.
func (t *Telemetry) Middleware() jobhost.Middleware {
	return func(next jobhost.RunFunc) jobhost.RunFunc {
		if !t.Enabled() {
			return next
		}
		return func(ctx context.Context, call jobhost.Call) jobhost.Outcome { return t.run(ctx, call, next) }
	}
}

func (t *Telemetry) run(ctx context.Context, call jobhost.Call, next jobhost.RunFunc) jobhost.Outcome {
	root, ok := spanOf(call.Run.ID)
	if !ok {
		return next(ctx, call) // not a run of an engine: it has no trace
	}
	begun, started := time.Now(), call.Run.StartedAt
	if started.IsZero() {
		started = begun
	}
	_, own := t.tracer.Start(context.WithValue(ctx, rootKey{}, root), "job.run "+call.Run.Job,
		trace.WithNewRoot(),
		trace.WithTimestamp(started),
		trace.WithLinks(links(&call.Run)...),
		trace.WithAttributes(facts(&call, started)...))
	line := timeline{started, begun}
	call.Traceparent = call.Run.ID.Traceparent(own.SpanContext().IsSampled())
	call.Span = span{own, t.tracer, line}

	out := jobhost.Outcome{Code: jobhost.Unexpected, Message: "panic"} // until next has returned
	defer func() {
		conclude(own, &out)
		own.End(trace.WithTimestamp(line.now()))
	}()
	// Not the context that Start returned: that one would give the same ids to any other root span below it.
	out = next(trace.ContextWithSpan(ctx, own), call)
	return out
}

// facts are the attributes that are known before the run. Samplers see them.
func facts(call *jobhost.Call, started time.Time) []attribute.KeyValue {
	r := &call.Run
	as := append(make([]attribute.KeyValue, 0, 11),
		attribute.String("jobhost.run.id", string(r.ID)),
		attribute.String("jobhost.run.job", r.Job),
		attribute.String("jobhost.run.kind", r.Kind.String()),
		attribute.Int("jobhost.run.attempt", r.Attempt),
		attribute.String("jobhost.run.scheduled_at", r.ScheduledAt.UTC().Format(time.RFC3339Nano)),
		attribute.Float64("jobhost.run.lateness", started.Sub(r.ScheduledAt).Seconds()),
		attribute.String("jobhost.run.node", r.Node),
		attribute.String("jobhost.run.plugin", call.Plugin))
	if r.Trigger != "" {
		as = append(as, attribute.String("jobhost.run.trigger", r.Trigger))
	}
	if r.RetryOf != "" {
		as = append(as, attribute.String("jobhost.run.retry_of", string(r.RetryOf)))
	}
	if r.RecoveryOf != "" {
		as = append(as, attribute.String("jobhost.run.recovery_of", string(r.RecoveryOf)))
	}
	return as
}

// links point a retry at the first run of its chain and a recovery at the run that was lost. Whether those were sampled
// is not known here.
func links(r *jobhost.Run) []trace.Link {
	var ls []trace.Link
	add := func(kind string, id jobhost.RunID) {
		if s, ok := spanOf(id); ok {
			ls = append(ls, trace.Link{
				SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.span, Remote: true}),
				Attributes:  []attribute.KeyValue{attribute.String("jobhost.link.kind", kind)},
			})
		}
	}
	add("retry_of", r.RetryOf)
	add("recovery_of", r.RecoveryOf)
	return ls
}

// conclude adds what came of the run. Codes and messages come from guests, and text that is not UTF-8 would make the
// collector refuse the whole batch.
func conclude(span trace.Span, out *jobhost.Outcome) {
	if out.Digest != "" {
		span.SetAttributes(attribute.String("jobhost.run.digest", out.Digest))
	}
	if out.Code == "" {
		return
	}
	code := text(string(out.Code), jobhost.MaxName)
	span.SetAttributes(
		attribute.String("jobhost.run.error_code", code),
		attribute.String("error.type", errorType(out.Code)))
	if out.Message != "" {
		code += ": " + text(out.Message, jobhost.MaxErrorMessage)
	}
	span.SetStatus(codes.Error, code)
}

// errorTypes are the classes of failures that the host names. Any other code is the plugin's own, of which there may be
// many.
var errorTypes = map[jobhost.Code]string{
	jobhost.TimedOut:       "timeout",
	jobhost.Canceled:       "cancellation",
	jobhost.NotFoundPlugin: "plugin_not_found",
	jobhost.Unexpected:     "unexpected",
}

func errorType(c jobhost.Code) string {
	if class, ok := errorTypes[c]; ok {
		return class
	}
	return "plugin"
}

// text cuts s to limit bytes and replaces what is not UTF-8.
func text(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
