package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// An Engine runs jobs by their triggers. It implements [jobhost.Scheduler].
type Engine struct {
	cfg    Config
	store  jobhost.Store
	runner jobhost.Runner
	chain  jobhost.RunFunc
	log    *slog.Logger
	plans  *plans
	rules  rules
	wake   chan struct{}  // of size one: look again
	runs   sync.WaitGroup // the goroutines of runs

	turning token // one turn at a time; guards the fields of the turn's memory

	memory

	duties  duties
	events  events
	hurry   chan struct{} // closed when a stop is to wait for nothing
	stopped chan struct{} // closed when the engine has stopped

	syncing token // one change of what the files define at a time

	recast map[jobhost.Name]bool // calendars that have changed and whose triggers are not planned anew yet

	mu sync.Mutex // guards what goroutines tell each other

	state      State
	looping    bool // Serve turns; a command need not turn by itself
	active     map[jobhost.RunID]*active
	replays    map[*active]bool                   // in progress beside the scheduler
	done       []*ending                          // in the order of their ends
	cmds       []*command                         // in the order they came
	pulse      chan struct{}                      // closed and replaced when something was queued or recorded
	heldNow    held                               // a copy for those who ask why
	localNow   map[jobhost.TriggerKey]local       // the same
	orphansNow map[jobhost.Name]bool              // jobs that no live node's files define
	trouble    trouble                            // what kept turns from being done
	born       time.Time                          // of the node's record
	before     time.Time                          // the last heartbeat of a process that had this node's id before
	leadUntil  time.Time                          // until when the lease is believed, by the monotonic clock
	files      map[jobhost.Name]jobhost.JobDef    // what the files define
	unsynced   bool                               // files are not in the store yet
	hurried    bool                               // hurry is closed
	waiters    map[jobhost.RunID]chan jobhost.Run // of size one; told the recorded end of a run
}

// State is where an engine stands between its start and its stop (SPEC 20).
type State uint8

// The states of an engine.
const (
	Created  State = iota // nothing runs yet
	Started               // waits for the plugins of file jobs, takes requests
	Serving               // fires triggers
	Draining              // fires no triggers, takes requests
	Stopping              // takes no requests, waits for its runs
	Stopped
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"Created", "Started", "Serving", "Draining", "Stopping", "Stopped"}[s]
}

var _ jobhost.Scheduler = (*Engine)(nil)

// New makes an engine over a store and a runner, both of which stay the caller's to close, after Serve has returned. It
// reports every bad value of the configuration at once.
func New(store jobhost.Store, runner jobhost.Runner, cfg Config) (*Engine, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.NodeID == "" {
		cfg.NodeID = NewNodeID()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		cfg: cfg, store: store, runner: runner, log: cfg.Log,
		turning: newToken(), syncing: newToken(), duties: duties{mu: newToken()},
		plans:   &plans{calendars: cfg.Calendars},
		rules:   rules{cfg.MisfireThreshold, cfg.PollInterval},
		wake:    make(chan struct{}, 1),
		pulse:   make(chan struct{}),
		active:  map[jobhost.RunID]*active{},
		replays: map[*active]bool{},
		waiters: map[jobhost.RunID]chan jobhost.Run{},
		hurry:   make(chan struct{}),
		stopped: make(chan struct{}),
	}
	e.events.log = cfg.Log
	e.chain = runner.Run
	for _, m := range slices.Backward(cfg.Middleware) {
		e.chain = m(e.chain)
	}
	return e, nil
}

// NodeID is the identity of this node.
func (e *Engine) NodeID() string { return e.cfg.NodeID }

// State is where the engine stands.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// RunningCount is how many runs are in progress on this node.
func (e *Engine) RunningCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.active)
}

// now is the wall clock in the form that is stored.
func (e *Engine) now() time.Time { return e.cfg.Now().Round(0).UTC().Truncate(precision) }

// nudge makes the loop look again.
func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default: // already told
	}
}

// signal tells those who wait that something was queued or recorded. The caller holds mu.
func (e *Engine) signal() {
	close(e.pulse)
	e.pulse = make(chan struct{})
}

// waiting reports whether outcomes or commands wait for a turn.
func (e *Engine) waiting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.done) > 0 || len(e.cmds) > 0
}

// queue puts commands into the next turn, and does that turn itself when no loop runs.
func (e *Engine) queue(ctx context.Context, cmds ...*command) error {
	for _, c := range cmds {
		c.done = make(chan error, 1)
	}
	e.mu.Lock()
	if e.state == Stopped {
		e.mu.Unlock()
		return errStopped
	}
	e.cmds = append(e.cmds, cmds...)
	alone := !e.looping
	e.signal()
	e.mu.Unlock()
	e.nudge()
	if alone {
		e.turnAlone(ctx)
	}
	return nil
}

// turnAlone turns until no command is queued. What cannot even be tried is answered with the store's error.
func (e *Engine) turnAlone(ctx context.Context) {
	for {
		_, _, err := e.turn(ctx, false)
		if err != nil {
			e.refuse(err)
			return
		}
		e.mu.Lock()
		left := len(e.cmds)
		e.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// wait waits for the answer. The end of ctx ends the waiting only.
func (c *command) wait(ctx context.Context) error {
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errStopped = &jobhost.Error{
	Code: jobhost.NotServing, Op: "engine", Msg: "the scheduler is not running on this instance",
	Hint: "it is not started yet, or is stopping",
}
