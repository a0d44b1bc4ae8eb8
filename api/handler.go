package api

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jobhost/jobhost"
)

// The bounds of a request.
const (
	MaxBody   = 4 << 20  // bytes of a request about one job
	MaxBatch  = 16 << 20 // bytes of a batch
	MaxItems  = 1000     // items of a batch
	MaxValues = 100_000  // JSON values of a request, those in data left out
)

// Config configures [NewHandler] and [NewServer]. Start from [Defaults].
type Config struct {
	Version string           // of the program, for the OpenAPI document
	Ready   func() error     // why the process is not ready, nil when it is; nil: always ready
	Self    func() Self      // the answering node; nil: it does not tell
	Now     func() time.Time // the clock of the deadlines below; nil: no write deadlines
	Log     *slog.Logger     // panics and connection errors; nil: nowhere
	Store   StoreKeeper      // of the scheduler; nil: its store has no file

	// Grants says in words what this node lets a job with a plugin use. It names no secret and no value of a variable, and is
	// called by several goroutines. Nil: no job may use anything.
	Grants func(job, plugin jobhost.Name) []string

	HeaderTimeout time.Duration // for the head of a request
	BodyTimeout   time.Duration // for the body of a request
	WriteTimeout  time.Duration // for a client to take one piece of an answer
	IdleTimeout   time.Duration // for the next request on a connection
	Linger        time.Duration // once the server stops, for requests that end by themselves
	StopTimeout   time.Duration // after that, for requests that were told to end
}

// Defaults returns the configuration to start from.
func Defaults() Config {
	return Config{
		Version: "dev", HeaderTimeout: 5 * time.Second, BodyTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, Linger: 500 * time.Millisecond, StopTimeout: 5 * time.Second,
	}
}

// handler is what the operations share.
type handler struct {
	s      jobhost.Scheduler
	cfg    Config
	bodies *budget
}

// NewHandler serves s. The handler asks for no credentials: who can reach it can steer s.
func NewHandler(s jobhost.Scheduler, cfg Config) http.Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	h := &handler{s: s, cfg: cfg, bodies: &budget{left: bodiesInFlight}}
	mux := http.NewServeMux()
	a := humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "jobhost", Version: cfg.Version, Description: "Steers the scheduler of a job host."},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			},
		},
		OpenAPIPath:                  "/openapi",
		Formats:                      map[string]huma.Format{"application/json": boundedJSON, "json": boundedJSON},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{problems},
	})
	a.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	a.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { h.admit(framedContext{ctx}, next) })
	h.probes(mux)
	h.jobs(a)
	h.definitions(a)
	h.batches(a)
	h.runs(a)
	h.replay(a)
	h.logs(a)
	h.nodes(a)
	h.store(a)
	return h.guard(routes(mux))
}

// problems replaces the framework's own error body.
func problems(_ huma.Context, _ string, v any) (any, error) {
	if m, ok := v.(*huma.ErrorModel); ok {
		return fromModel(m), nil
	}
	return v, nil
}

// framedContext changes the framework's choice of a status.
type framedContext struct{ below }

// below has another name than its method Context, so that it can be embedded.
type below huma.Context

func (c framedContext) SetStatus(status int) { c.below.SetStatus(framed(status)) }

// Unwrap lets the adapter find the request below.
func (c framedContext) Unwrap() huma.Context { return c.below }

func (h *handler) probes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := h.cfg.Ready(); err != nil {
			p := problemOf(r.Context(), err)
			p.Status, p.Title = http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)
			writeProblem(w, p)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ready\n"))
	})
}

// routes answers with a problem where mux knows no route.
func routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refusal := &refusal{head: http.Header{}}
		h.ServeHTTP(refusal, r)
		if allow := refusal.head.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
		}
		p := newProblem(refusal.status, "no route for "+r.Method+" "+r.URL.Path)
		p.Hint = "/openapi.json lists the routes"
		writeProblem(w, p)
	})
}

// refusal keeps the status of the mux's own answer and drops its text.
type refusal struct {
	head   http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.head }
func (r *refusal) WriteHeader(status int)      { r.status = status }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }

// guard surrounds every request: a panic becomes a problem, and a client that does not take its answer is dropped.
func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := &guarded{ResponseWriter: w, cfg: &h.cfg}
		defer h.rescue(g, r)
		h.hurry(w, r)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(g, r)
		g.extend() // what is still to be flushed is a write too
	})
}

// hurry bounds the time for a body that nobody reads: net/http reads some of it, to use the connection again.
func (h *handler) hurry(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && h.cfg.Now != nil && h.cfg.BodyTimeout > 0 {
		// A reader without deadlines, such as a test's, has no slow client.
		_ = http.NewResponseController(w).SetReadDeadline(h.cfg.Now().Add(h.cfg.BodyTimeout))
	}
}

// rescue is deferred around a request.
func (h *handler) rescue(g *guarded, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler || g.lost { //nolint:errorlint // the very value, as net/http compares it
		panic(http.ErrAbortHandler) // a client that is gone is no failure of ours
	}
	h.cfg.Log.ErrorContext(r.Context(), "request failed", slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	if g.started {
		panic(http.ErrAbortHandler) // the answer is cut: the client must see that
	}
	p := newProblem(http.StatusInternalServerError, "the server failed to answer; its log says why")
	p.Code = jobhost.Unexpected
	writeProblem(g, p)
}

// guarded moves the write deadline along with each write.
type guarded struct {
	http.ResponseWriter

	cfg     *Config
	started bool
	headed  bool // the head is written
	lost    bool // the client takes no more
}

// WriteHeader writes one head. The framework tries another when a client is gone, which net/http would complain about.
func (g *guarded) WriteHeader(status int) {
	if g.headed {
		return
	}
	g.headed = true
	g.extend()
	g.ResponseWriter.WriteHeader(status)
}

func (g *guarded) Write(b []byte) (int, error) {
	g.extend()
	g.headed = true
	n, err := g.ResponseWriter.Write(b)
	g.lost = g.lost || err != nil
	return n, err
}

// Unwrap lets http.ResponseController reach what is below.
func (g *guarded) Unwrap() http.ResponseWriter { return g.ResponseWriter }

func (g *guarded) extend() {
	g.started = true
	if g.cfg.Now != nil && g.cfg.WriteTimeout > 0 {
		// A writer without deadlines, such as a test's, has no slow client.
		_ = http.NewResponseController(g.ResponseWriter).SetWriteDeadline(g.cfg.Now().Add(g.cfg.WriteTimeout))
	}
}

// add registers an operation. It completes what is the same for all of them.
func add[I, O any](h *handler, a huma.API, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	if op.BodyReadTimeout = h.cfg.BodyTimeout; op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = MaxBody
	}
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		releaseBody(ctx) // it is read
		out, err := do(ctx, in)
		if err != nil {
			return nil, problemOf(ctx, err)
		}
		return out, nil
	})
}
