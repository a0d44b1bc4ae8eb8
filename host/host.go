package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host/internal/wasmfile"
)

// Host loads plugins and runs them. It implements [jobhost.Runner]. It is safe for concurrent use.
type Host struct {
	cfg     Config
	log     *slog.Logger
	started time.Time

	rt       wazero.Runtime
	cache    *cache
	known    map[string]wasmfile.FuncType // the host functions, as "module.name"
	modules  modules
	slots    *slots
	total    ceiling
	memories pool
	short    sync.Once // for saying that there is no memory left for plugins
	masks    maskers
	shelf    *shelf

	ctx       context.Context //nolint:containedctx // the host's own life, which Close ends
	end       context.CancelCauseFunc
	work      sync.WaitGroup // who waits for compilations, the watcher and runs
	reading   chan struct{}  // holds a token for each file of the folder that is in memory to be compiled
	compilers compilers
	scan      sync.Mutex // one rescan at a time

	mu      sync.RWMutex
	plugins map[jobhost.Name]*plugin
	keys    keys
	grants  map[grantKey]Grant
	closed  bool
}

var _ jobhost.Runner = (*Host)(nil)

// errClosed is the cause of the end of what goes on when the host closes.
var errClosed = &jobhost.Error{Code: jobhost.Canceled, Op: "host.run", Msg: "the plugin host is closing"}

// New returns a host. When there is a plugin folder it is read at once and compiled in the background: see
// [Host.Ready]. The error names every problem of the configuration; its code is jobhost.InvalidDefinition.
func New(ctx context.Context, cfg Config) (*Host, error) {
	if err := cfg.check(); err != nil {
		return nil, &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "host.new", Msg: err.Error(), Err: err}
	}
	h := &Host{
		cfg: cfg, log: cfg.Log, started: time.Now(),
		known:     map[string]wasmfile.FuncType{},
		modules:   modules{byDigest: map[string]*module{}},
		slots:     newSlots(runtime.NumCPU()),
		total:     ceiling{limit: cfg.MaxTotalMemory},
		reading:   make(chan struct{}, 2*runtime.NumCPU()),
		compilers: newCompilers(),
		plugins:   map[jobhost.Name]*plugin{},
		grants:    grantsByKey(cfg.Grants),
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := h.open(ctx); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return h, nil
}

// open makes the runtime and reads the folder.
func (h *Host) open(ctx context.Context) error {
	h.shelf = openShelf(ctx, h.cfg.Modules, h.cfg.KeepVersions, h.log)
	if err := h.openRuntime(ctx); err != nil {
		return err
	}
	if h.cfg.Dir == "" {
		return nil
	}
	if err := h.Rescan(ctx); err != nil {
		return err
	}
	if st, err := os.Stat(h.cfg.Dir); err == nil && checksModes && st.Mode().Perm()&0o022 != 0 {
		h.log.WarnContext(ctx, "plugin folder: others may put plugins into it; chmod go-w it", slog.String("folder", h.cfg.Dir))
	}
	if h.cfg.Watch {
		return h.watch()
	}
	return nil
}

// Close ends all runs, waits for them, and frees everything. The host is unusable afterwards. A second call does
// nothing. A compilation cannot be interrupted: when one is still going on after a second, Close returns, and what the
// compilation needs is freed when it is over, or by the end of the process.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.end(errClosed)
	h.work.Wait()
	if h.rt == nil {
		return nil
	}
	freed := make(chan error, 1)
	go func() {
		h.modules.building.Wait()
		h.modules.close()
		freed <- errors.Join(h.rt.Close(context.WithoutCancel(ctx)), h.cache.close(context.WithoutCancel(ctx)))
	}()
	select {
	case err := <-freed:
		return err
	case <-time.After(closing):
		h.cache.forgive(ctx)
		h.log.WarnContext(ctx, "a plugin is still being compiled; the host does not wait for it")
		return nil
	}
}

// closing is how long [Host.Close] waits for compilations.
const closing = time.Second

// SetGrants replaces all grants, for runs that start from now on. The error names every problem; then nothing changed.
func (h *Host) SetGrants(grants []Grant) error {
	if err := h.cfg.checkGrants(grants); err != nil {
		return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "host.set_grants", Msg: err.Error(), Err: err}
	}
	h.mu.Lock()
	h.grants = grantsByKey(grants)
	h.mu.Unlock()
	return nil
}

func grantsByKey(grants []Grant) map[grantKey]Grant {
	m := make(map[grantKey]Grant, len(grants))
	for _, g := range grants {
		m[g.key()] = g
	}
	return m
}

// Plugins lists the plugins that jobs can refer to, by key, also those that are not ready. One that is ready and has a
// problem runs its last good version: the newer file is refused for the reason given.
func (h *Host) Plugins(context.Context) ([]jobhost.Plugin, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]jobhost.Plugin, 0, len(h.plugins))
	for _, key := range slices.Sorted(maps.Keys(h.plugins)) {
		list = append(list, h.plugins[key].describe())
	}
	return list, nil
}

// Run runs one call of a plugin in a fresh instance, and returns when it is over: within 250 ms of the end of ctx or of
// the call's deadline, whatever the guest does. It never panics. A plugin that is absent or not compiled yet gives
// jobhost.NotFoundPlugin at once.
func (h *Host) Run(ctx context.Context, call jobhost.Call) jobhost.Outcome {
	m, grant, schema, refused := h.begin(call)
	if m == nil {
		return refused
	}
	defer h.work.Done()
	defer h.modules.put(ctx, m)
	ctx, cancel := h.bound(ctx, call.Deadline)
	defer cancel()
	return h.perform(ctx, m, call, grant, schema)
}

// perform runs a call with a module.
func (h *Host) perform(ctx context.Context, m *module, call jobhost.Call, grant Grant, schema jobhost.DataSchema) (out jobhost.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = jobhost.Outcome{Code: jobhost.Unexpected, Message: recovered(p).Error(), Digest: m.digest}
		}
	}()
	if call.Sink == nil {
		call.Sink = deaf{}
	}
	if out, refused := refuseData(ctx, schema, call); refused {
		out.Digest = m.digest
		return out
	}
	r, err := newRun(ctx, h, m, call, grant)
	if err != nil {
		return jobhost.Outcome{Code: jobhost.Unexpected, Message: err.Error(), Digest: m.digest}
	}
	err = r.guest() //nolint:contextcheck // the run carries its context
	return r.outcome(err, time.Now())
}

// begin looks the plugin up and counts the run, both under one lock, so that neither a reload nor Close comes between.
func (h *Host) begin(call jobhost.Call) (*module, Grant, jobhost.DataSchema, jobhost.Outcome) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.plugins[call.Plugin]
	switch {
	case h.closed:
		return nil, Grant{}, nil, jobhost.Outcome{Code: jobhost.Canceled, Message: errClosed.Msg}
	case p == nil:
		return nil, Grant{}, nil, jobhost.Outcome{Code: jobhost.NotFoundPlugin, Message: fmt.Sprintf("plugin %q is not loaded", call.Plugin)}
	case p.active == nil:
		return nil, Grant{}, nil, jobhost.Outcome{
			Code:    jobhost.NotFoundPlugin,
			Message: fmt.Sprintf("plugin %q is not ready: %s", call.Plugin, orDefault(p.problem, "it is being compiled")),
		}
	}
	h.work.Add(1)
	h.modules.hold(p.active)
	return p.active, h.cfg.limits(h.grants[grantKey{call.Run.Job, call.Plugin}]), p.manifest.Data, jobhost.Outcome{}
}

// bound returns a context that also ends at the deadline and with the host. A deadline that ctx has already counts more
// than the call's: on a shared store the call's is by another clock.
func (h *Host) bound(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	end := func() { stop(); cancel(nil) }
	if _, bounded := ctx.Deadline(); bounded || deadline.IsZero() {
		return ctx, end
	}
	ctx, free := context.WithDeadline(ctx, deadline)
	return ctx, func() { free(); end() }
}

// newRun prepares a run.
func newRun(ctx context.Context, h *Host, m *module, call jobhost.Call, grant Grant) (*run, error) {
	if m.least > grant.MaxMemory {
		return nil, fmt.Errorf("the plugin needs %s of memory to start, the limit is %s; raise max_memory", size(m.least), size(grant.MaxMemory))
	}
	r := &run{
		host: h, module: m, call: call, grant: grant, ctx: ctx, input: call.Run.Data,
		slot:   slot{all: h.slots},
		memory: memory{limit: grant.MaxMemory, total: &h.total, image: m.image},
		stdout: capture{max: grant.MaxOutput},
	}
	r.until, _ = ctx.Deadline()
	r.stderr = lines{sink: call.Sink, pause: r.pause}
	if len(r.input) == 0 {
		r.input = []byte("{}")
	}
	if l, ok := call.Sink.(LogLimiter); ok {
		l.LimitLog(grant.MaxLog)
	}
	doc, err := abi.Run{
		ID: string(call.Run.ID), Job: call.Run.Job, Trigger: call.Run.Trigger, Kind: call.Run.Kind.String(),
		ScheduledAt: call.Run.ScheduledAt, Attempt: call.Run.Attempt, RetryOf: string(call.Run.RetryOf),
		Data: call.Run.Data, Deadline: call.Deadline, Node: call.Run.Node, Traceparent: call.Traceparent,
	}.Encode()
	r.document = doc
	return r, err
}

// LogLimiter is a [jobhost.RunSink] that can keep more or less of a run's log than the default. The host tells it the
// limit of the run, in bytes, before the first line.
type LogLimiter interface{ LimitLog(bytes int) }

// deaf is the sink of a call that has none.
type deaf struct{}

func (deaf) Log(int, string)               {}
func (deaf) Progress(int64, int64, string) {}
