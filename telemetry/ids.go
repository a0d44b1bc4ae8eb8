package telemetry

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"

	"github.com/jobhost/jobhost"
)

// rootKey carries the ids of a root span from the middleware to the generator, and no further.
type rootKey struct{}

type rootSpan struct {
	trace trace.TraceID
	span  trace.SpanID
}

// spanOf is the root span that a run has, and false for what is no run id or has no valid span id in it.
func spanOf(id jobhost.RunID) (rootSpan, bool) {
	if _, err := jobhost.ParseRunID(string(id)); err != nil {
		return rootSpan{}, false
	}
	t, terr := trace.TraceIDFromHex(string(id))
	s, serr := trace.SpanIDFromHex(id.SpanID())
	return rootSpan{trace: t, span: s}, terr == nil && serr == nil
}

// idGenerator takes the ids of a run's root span from the context and draws all others.
type idGenerator struct{}

// NewIDs returns the ids of a root span.
func (g idGenerator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if root, ok := ctx.Value(rootKey{}).(rootSpan); ok {
		return root.trace, root.span
	}
	var t trace.TraceID
	for !t.IsValid() {
		_, _ = rand.Read(t[:]) // never fails
	}
	return t, g.NewSpanID(ctx, t)
}

// NewSpanID returns the id of a span below another.
func (idGenerator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var s trace.SpanID
	for !s.IsValid() {
		_, _ = rand.Read(s[:]) // never fails
	}
	return s
}
