// Package telemetry gives every run a trace of its own in any OpenTelemetry backend (SPEC 24).
//
// [New] reads the standard OTEL_* environment and returns a [Telemetry]. Its [Telemetry.Middleware] opens one root span
// per run; its [Telemetry.Shutdown] sends what is left. Nothing global is set: no tracer provider, no propagator, no
// error handler.
//
// The trace id is the run's id and the root span's id is the id's last 16 digits, so that a run id pasted into a
// backend finds the run, and a retry can link to the first run of its chain without having seen its span.
//
// The call that the middleware hands on has the root span as its [github.com/jobhost/jobhost.Span], for spans below it: those
// of the plugin, and those of its requests, which are of kind client.
//
// What bites:
//
//   - Without an exporter or an endpoint in the environment there is no span at all, and plugins get no traceparent. An
//     unsampled one would switch tracing off in the services that they call.
//   - A collector that is slow or gone never delays a run. Spans wait in a queue of OTEL_BSP_MAX_QUEUE_SIZE (2048) and
//     are dropped when it is full. A failed export is one log line a minute.
//   - A root span starts when the run's record says, on the engine's clock, and lasts as long as the monotonic clock
//     measured. A step of the wall clock during the run shows in neither.
//   - Metrics and logs are not exported.
package telemetry
