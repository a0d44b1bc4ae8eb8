package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// logEvery is the shortest time between two lines about failed exports.
const logEvery = time.Minute

// exporter sends batches and never fails: what cannot be sent is logged and forgotten, because the batch processor
// would hand the error to a global handler that prints it each time.
type exporter struct {
	next sdktrace.SpanExporter
	log  *slog.Logger

	mu      sync.Mutex
	aborted bool
	cancel  context.CancelFunc // of the export in progress
	failing bool               // the last export failed
	lost    int                // spans that were not sent since the last line
	logged  time.Time          // when that was
}

// ExportSpans sends a batch. It blocks until the collector has answered, the exporter gave up, or abort was called.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.begin(cancel) {
		cancel()
	}
	err := e.next.ExportSpans(ctx, spans)
	e.report(ctx, len(spans), err)
	return nil
}

// Shutdown releases what the exporter holds.
func (e *exporter) Shutdown(ctx context.Context) error { return e.next.Shutdown(ctx) }

// abort ends an export in progress and those that follow.
func (e *exporter) abort() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.aborted = true
	if e.cancel != nil {
		e.cancel()
	}
}

func (e *exporter) begin(cancel context.CancelFunc) (aborted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = cancel
	return e.aborted
}

// report says that exporting fails, at most once in logEvery, and that it works again.
func (e *exporter) report(ctx context.Context, spans int, err error) {
	lost, speak := e.count(spans, err != nil, time.Now())
	switch {
	case !speak:
	case err == nil:
		e.log.InfoContext(ctx, "traces are exported again", slog.Int("lost", lost))
	default:
		e.log.WarnContext(ctx, "traces not exported", slog.Int("lost", lost), slog.Any("error", err))
	}
}

// count keeps the account of lost spans and says whether it is time to speak of them.
func (e *exporter) count(spans int, failed bool, now time.Time) (lost int, speak bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if failed {
		e.lost += spans
		speak = e.logged.IsZero() || now.Sub(e.logged) >= logEvery
	} else {
		speak = e.failing
	}
	e.failing = failed
	if !speak {
		return 0, false
	}
	lost, e.lost = e.lost, 0
	if failed {
		e.logged = now
	}
	return lost, true
}
