package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config is what the environment does not say.
type Config struct {
	Version string        // of the host; becomes service.version
	Node    string        // the node's id; becomes service.instance.id
	Logger  *slog.Logger  // takes what goes wrong with exporting; slog.Default() if nil
	Flush   time.Duration // how long Shutdown waits for the last spans; 3s if zero
}

// Telemetry makes spans of runs and sends them. It is safe for concurrent use.
type Telemetry struct {
	tracer   trace.Tracer // nil when nothing is exported
	spans    sdktrace.SpanProcessor
	exporter *exporter
	flush    time.Duration
}

// New reads the OTEL_* environment of the OpenTelemetry specification and connects to nothing yet. It exports traces
// when OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and not when the
// exporter is "none" or OTEL_SDK_DISABLED is "true". service.name is "jobhost" unless OTEL_SERVICE_NAME or
// OTEL_RESOURCE_ATTRIBUTES says something else.
//
// An error names each variable that cannot be used. The caller calls [Telemetry.Shutdown] at the end.
func New(ctx context.Context, cfg Config) (*Telemetry, error) {
	if !wanted() {
		return &Telemetry{}, nil
	}
	if err := checkEnv(); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	next, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter for %s: %w", exporterEnv(), err)
	}
	if autoexport.IsNoneSpanExporter(next) {
		return &Telemetry{}, nil
	}
	return start(ctx, cfg, next)
}

func start(ctx context.Context, cfg Config, next sdktrace.SpanExporter) (*Telemetry, error) {
	res, err := resourceOf(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w; want key=value pairs separated by commas", err)
	}
	t := &Telemetry{exporter: &exporter{next: next, log: cfg.Logger}, flush: cfg.Flush}
	if t.exporter.log == nil {
		t.exporter.log = slog.Default()
	}
	if t.flush == 0 {
		t.flush = 3 * time.Second
	}
	t.spans = sdktrace.NewBatchSpanProcessor(t.exporter)
	t.tracer = sdktrace.NewTracerProvider(
		sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(idGenerator{}),
		sdktrace.WithSpanProcessor(t.spans),
	).Tracer("github.com/jobhost/jobhost/telemetry", trace.WithInstrumentationVersion(cfg.Version))
	return t, nil
}

// Enabled reports whether spans are made and sent.
func (t *Telemetry) Enabled() bool { return t.tracer != nil }

// Shutdown sends the spans that wait and then stops sending. It returns within [Config.Flush], earlier when ctx ends,
// and its error says that spans may be lost. Call it once no run is in progress, with a context that has not ended: spans
// that end later are dropped. A second call does nothing.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if !t.Enabled() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.flush)
	defer cancel()
	err := t.spans.Shutdown(ctx)
	t.exporter.abort()
	if err != nil {
		return fmt.Errorf("telemetry: the last spans may be lost: %w", err)
	}
	return nil
}
