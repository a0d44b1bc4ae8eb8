package jobhost

import (
	"context"
	"errors"
	"time"
)

// Runner runs jobs on this node.
type Runner interface {
	// Run runs one call of a plugin and returns when it is over. The end of ctx is the hard end: Run returns within
	// 250 ms of it, whatever the plugin does, and context.Cause(ctx) says why. It never panics on the plugin's account.
	Run(ctx context.Context, call Call) Outcome
	// Plugins lists the plugins that jobs can refer to, also those that are not ready.
	Plugins(ctx context.Context) ([]Plugin, error)
}

// Replayer is a [Runner] that keeps the modules it has run.
type Replayer interface {
	Runner
	// Replay is Run with the module that has the digest, whatever its plugin is by now. The plugin's clock starts at
	// call.Run.ScheduledAt, and unless granted is set it may use nothing beside its input. A module that is not kept any
	// more gives [NotFoundPlugin].
	Replay(ctx context.Context, call Call, digest string, granted bool) Outcome
}

// Call is what a [Runner] gets.
type Call struct {
	Run         Run // with its merged data
	Plugin      Name
	Deadline    time.Time       // zero: none. The context ends then too
	Stop        <-chan struct{} // closed when the run is asked to stop, some time before the context ends
	Traceparent string          // W3C trace context for the plugin
	Sink        RunSink
	Span        Span // the run's own span, which its middleware ends; nil: nothing is traced
	KV          KV   // the job's durable values; nil: it has none
}

// RunSink takes what a run says while it goes on. It never blocks and copies what it keeps.
type RunSink interface {
	// Log takes one line. Levels are those of log/slog.
	Log(level int, msg string)
	// Progress takes how far the run is: done of total, which is 0 when it is not known. It is shown live, and the last
	// one counts.
	Progress(done, total int64, msg string)
}

// Span is a span of a run's trace. It is for one goroutine at a time.
type Span interface {
	// Child starts a span below this one.
	Child(name string) Span
	// SetAttribute and Event add what is to be known about the span. After End they do nothing.
	SetAttribute(key, value string)
	Event(name string)
	// End ends the span, as a failure unless ok.
	End(ok bool)
	// Traceparent is the W3C trace context for whatever is called within the span.
	Traceparent() string
}

// KV holds the durable values of a run's job: checkpoints that survive attempts, restarts and nodes. All jobs have values of
// their own, and those of a job go with it. Calls wait for the store and return context.Cause(ctx) when ctx ends first.
type KV interface {
	// Get returns a value of its own, and false when there is none.
	Get(ctx context.Context, key string) ([]byte, bool, error)
	// Set stores a value durably. It fails with [ErrRunOver] once the run is not Running on record, and with [ErrFull] when
	// the job's keys and values together would have more than 1 MiB.
	Set(ctx context.Context, key string, value []byte) error
	// Delete removes a key, which need not exist. It fails as Set does.
	Delete(ctx context.Context, key string) error
	// Keys lists the keys with a prefix, sorted.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// The failures of [KV] that are the plugin's business.
var (
	ErrRunOver = errors.New("the run is over")
	ErrFull    = errors.New("the job's values have reached their limit")
)

// Outcome is what came of a call. The zero value is a success without output.
type Outcome struct {
	Code       Code // empty: success. A failure has one of ours or the plugin's own
	Message    string
	Permanent  bool // a failure that is not worth a retry
	Output     []byte
	Digest     string // SHA-256 of the module, in hexadecimal
	Fuel       uint64
	PeakMemory uint64
}

// Plugin is a loaded job type.
type Plugin struct {
	Key     Name   `json:"key"`
	File    string `json:"file,omitempty"`
	Digest  string `json:"digest,omitempty"` // SHA-256 of the module, in hexadecimal
	Kind    string `json:"kind,omitempty"`   // "command" or "reactor"
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"` // why it is not ready
}

// RunFunc runs one call, as [Runner.Run] does.
type RunFunc func(ctx context.Context, call Call) Outcome

// Middleware surrounds a run with something of its own: tracing, metrics, logging. It calls next exactly once.
type Middleware func(next RunFunc) RunFunc

type runKey struct{}

// ContextWithRun returns a context that carries a run.
func ContextWithRun(ctx context.Context, r Run) context.Context {
	return context.WithValue(ctx, runKey{}, r)
}

// RunFromContext returns the run that a context of [Runner.Run] or of a [Middleware] belongs to.
func RunFromContext(ctx context.Context) (Run, bool) {
	r, ok := ctx.Value(runKey{}).(Run)
	return r, ok
}
