package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// mostCompletions and mostCommands bound one turn, so that one commit stays short.
const (
	mostCompletions = 1000
	mostCommands    = 1000
)

// memory is what turns remember between each other. Only a turn touches it.
type memory struct {
	held       held      // what cannot start here
	plugins    plugins   // as of listed
	listed     time.Time // zero: never
	reconciled bool
	doubtful   []move          // of local triggers, decided by turns whose outcome is unknown
	unsure     []jobhost.RunID // may have been started by turns whose outcome is unknown
	most       int             // completions per turn while turns fail; 0: they do not
	full       bool            // the store was full: nothing is claimed or asked of it until outcomes are stored and room was made
	cramped    bool            // not even outcomes could be stored: first room is made
	apart      bool            // the store was full: commands and claims have turns of their own, until commands are stored
	asked      bool            // the last turn of those was the commands'
	flushed    time.Time       // when logs of runs in progress were last stored
	logs       []logChunks     // taken from them and not stored yet
	cleaned    time.Time
	locals     locals
	orphaned   map[jobhost.Name]bool // jobs that no live node's files define
	last       time.Time             // of the last turn, to see a clock that goes back
	intervals  bool                  // the dues of intervals were checked since the clock last went back
	cleaning   cleaning
	sizes      map[jobhost.Name]int // bytes of jobs' values, on a private store; not of all
}

// Serve waits until the plugins of the file jobs are ready, fires triggers until ctx ends, and then stops: it drains for
// DrainDelay, refuses requests, waits up to ShutdownTimeout for the runs in progress, cancels the rest and waits until their
// ends are recorded. It returns nil after an orderly stop, the error of a file job that cannot run here, or the store's
// error. An engine serves once.
func (e *Engine) Serve(ctx context.Context) error {
	e.mu.Lock()
	if e.looping || e.state >= Stopping {
		e.mu.Unlock()
		return errStopped
	}
	e.state, e.looping = Started, true
	e.mu.Unlock()
	work := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	e.doDuties(work)
	over := make(chan struct{})
	var attending sync.WaitGroup
	attending.Go(func() { e.attend(work, over) })
	for _, s := range e.cfg.Sinks {
		l := e.events.listen()
		e.events.sinks.Go(func() { e.events.feed(s, l, e.stopped) })
	}
	err := e.serve(ctx, work, timer)
	err = errors.Join(err, e.stop(work, timer))
	close(over)
	attending.Wait()
	err = errors.Join(err, e.leave(work))
	e.end()
	return err
}

// serve is Serve from Started to the end of ctx.
func (e *Engine) serve(ctx, work context.Context, timer *time.Timer) error {
	ready, problem := make(chan struct{}), error(nil)
	go func() {
		defer close(ready)
		problem = e.awaitPlugins(ctx)
	}()
	e.loop(work, ready, timer)
	if problem != nil || ctx.Err() != nil {
		return problem
	}
	if err := e.enterService(ctx, work); err != nil {
		return err
	}
	e.loop(work, ctx.Done(), timer)
	if e.cfg.DrainDelay > 0 {
		e.set(Draining)
		e.loop(work, e.drainFor(e.cfg.DrainDelay), timer)
	}
	return nil
}

// awaitPlugins waits until every plugin that a file job needs is ready. One that cannot be is an error.
func (e *Engine) awaitPlugins(ctx context.Context) error {
	const look = 20 * time.Millisecond
	for {
		list, err := e.runner.Plugins(ctx)
		if err != nil {
			return err
		}
		problems := map[jobhost.Name]string{} // of those that are not ready; "": it is being compiled
		for _, p := range list {
			if !p.Ready {
				problems[p.Key] = p.Problem
			}
		}
		waiting := false
		for _, def := range e.fileDefs() {
			problem, notReady := problems[def.Plugin]
			if problem != "" {
				return &jobhost.Error{
					Code: jobhost.NotFoundPlugin, Op: "engine.serve",
					Msg: fmt.Sprintf("job %q cannot run: plugin %q is not ready: %s", def.Name, def.Plugin, problem),
				}
			}
			waiting = waiting || notReady
		}
		if !waiting {
			return nil
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// enterService makes the engine Serving and brings the files' definitions into the store. A store that does not answer is
// asked again until ctx ends.
func (e *Engine) enterService(ctx, work context.Context) error {
	e.mu.Lock()
	if e.state != Started { // somebody asked to drain
		e.mu.Unlock()
		return nil
	}
	e.state, e.looping = Serving, false
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.looping = true
		e.mu.Unlock()
	}()
	for {
		err := e.synchronise(work)
		if code := jobhost.CodeOf(err); code != jobhost.StoreUnreachable && code != jobhost.StoreFull {
			e.doDuties(work) // the lease, before the first claim
			return err
		}
		e.log.ErrorContext(ctx, "the files' definitions cannot be stored", slog.Any("err", err))
		select {
		case <-time.After(e.cfg.PollInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// drain stops the firing of triggers; requests are still taken and runs in progress go on.
func (e *Engine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == Started || e.state == Serving {
		e.state = Draining
	}
	e.nudge()
}

func (e *Engine) set(s State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = s
}

// loop turns until over is closed, and sleeps as long as there is nothing to do.
func (e *Engine) loop(ctx context.Context, over <-chan struct{}, timer *time.Timer) {
	for {
		select {
		case <-over:
			return
		default:
		}
		_, again, err := e.turn(ctx, e.State() == Serving)
		if again && err == nil {
			continue
		}
		wait, wake := e.cfg.PollInterval, e.wake
		if err != nil {
			e.log.ErrorContext(ctx, "a turn failed", slog.Any("err", err))
			e.suffer(err)
			wake = nil // a store that fails is not asked more often because runs end
		} else {
			wait = e.sleep(ctx)
		}
		timer.Reset(wait)
		select {
		case <-over:
			return
		case <-timer.C:
		case <-wake:
		}
	}
}

// sleep is how long there is nothing to do: until the next trigger is due that could start, at most a poll interval.
func (e *Engine) sleep(ctx context.Context) time.Duration {
	e.turning.Lock()
	defer e.turning.Unlock()
	e.mu.Lock()
	idle := e.state != Serving || len(e.active) >= e.cfg.MaxConcurrentRuns
	e.mu.Unlock()
	if idle || e.full {
		return e.cfg.PollInterval
	}
	next, err := e.nextReady(ctx)
	if err != nil || next.IsZero() {
		return e.cfg.PollInterval
	}
	return min(e.cfg.PollInterval, max(0, next.Sub(e.cfg.Now())))
}

func (e *Engine) nextReady(ctx context.Context) (next time.Time, err error) {
	err = e.store.View(ctx, func(tx jobhost.Tx) (err error) {
		next, err = tx.NextReady(e.held.query(time.Time{}, 0, e.orphaned, e.oneShotsOnly()))
		return err
	})
	if local := e.locals.next(); !local.IsZero() && (next.IsZero() || local.Before(next)) {
		next = local
	}
	return next, err
}

// turn does one turn, with claims or without. It returns the runs that were started, and reports whether another turn
// should follow at once.
func (e *Engine) turn(ctx context.Context, claim bool) (runs []started, again bool, err error) {
	e.turning.Lock()
	defer e.turning.Unlock()
	now, err := e.prepare(ctx)
	if err != nil {
		e.refuse(err)
		return nil, false, err
	}
	done, cmds, slots := e.take(claim)
	e.takeLogs(now)
	nothing := len(done) == 0 && len(cmds) == 0 && len(e.logs) == 0
	if e.cramped || nothing && (e.most > 0 || e.full) { // outcomes are stored, or do not fit: make room, then go on as ever
		if e.full {
			e.cleaned = time.Time{}
		}
		_, err := e.housekeep(ctx, now)
		e.most, e.full, e.cramped = 0, false, false
		return nil, err == nil && (claim || e.waiting()), err
	}
	if nothing {
		if slots == 0 {
			again, err := e.housekeep(ctx, now)
			return nil, again, err
		}
		next, err := e.nextReady(ctx)
		if err != nil {
			return nil, false, err
		}
		if next.IsZero() || next.After(now) {
			again, err := e.housekeep(ctx, now)
			return nil, again, err
		}
	}
	t := &turn{
		cfg: &e.cfg, plans: e.plans, now: now, ids: drawIDs(now, slots), held: e.held, plugins: e.plugins, logs: e.logs,
		locals: &e.locals, inHand: e.localRuns(), orphaned: e.orphaned, oneShots: e.oneShotsOnly(), heard: e.events.wanted(), sizes: e.sizes,
	}
	err = e.store.Update(ctx, func(tx jobhost.Tx) error { return t.run(tx, done, cmds, slots) })
	if err != nil {
		again, err := e.failed(ctx, err, t, done, cmds)
		return nil, again, err
	}
	e.held, e.logs = t.newHeld, nil
	e.keepSizes(t)
	e.locals.apply(t.moves)
	if t.reread {
		e.locals.read = time.Time{}
		if err := e.locals.refresh(ctx, e, now); err != nil {
			e.log.ErrorContext(ctx, "local jobs cannot be read", slog.Any("err", err)) // the next turn tries again
		}
	}
	e.recorded(done, cmds, t)
	t.report(e.log)
	e.events.publish(t.events)
	for _, s := range t.started {
		e.dispatch(s) //nolint:contextcheck // a run outlives the turn and its caller
	}
	if _, err := e.housekeep(ctx, now); err != nil {
		e.log.ErrorContext(ctx, "housekeeping failed", slog.Any("err", err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return t.started, len(e.done) > 0 || len(e.cmds) > 0 || slots > 0 && t.slots == 0, nil
}

// prepare does what must precede the first turn, after a turn whose outcome is unknown the next, and now and then any. It
// returns the instant of the turn.
func (e *Engine) prepare(ctx context.Context) (now time.Time, err error) {
	if err := e.reconcile(ctx); err != nil {
		return now, err
	}
	if err := e.readBack(ctx); err != nil {
		return now, err
	}
	now = e.now()
	e.refresh(ctx, now)
	if err := e.locals.refresh(ctx, e, now); err != nil {
		return now, err
	}
	return now, e.mendIntervals(ctx, now)
}

// refuse answers the commands that wait for a turn which cannot even begin, with the reason.
func (e *Engine) refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cmds {
		c.done <- unconfirmed(err)
	}
	e.cmds = nil
}

// refresh asks once per poll interval which plugins can run here. When that changed, what was held is looked at again.
func (e *Engine) refresh(ctx context.Context, now time.Time) {
	if age := now.Sub(e.listed); age >= 0 && age < e.cfg.PollInterval {
		return
	}
	list, err := e.runner.Plugins(ctx)
	if err != nil {
		e.log.ErrorContext(ctx, "plugins cannot be listed", slog.Any("err", err))
		return
	}
	if ps := listPlugins(list); !maps.Equal(ps, e.plugins) {
		e.plugins, e.held.jobs = ps, nil
	}
	e.listed = now
}

// plugins maps the key of each loaded plugin to why it cannot run here; "" when it can.
type plugins map[jobhost.Name]string

func listPlugins(list []jobhost.Plugin) plugins {
	out := make(plugins, len(list))
	for _, p := range list {
		out[p.Key] = ""
		if !p.Ready {
			out[p.Key] = "plugin " + p.Key + " is not ready: " + cmp.Or(p.Problem, "it is being compiled")
		}
	}
	return out
}

// why says why a plugin cannot run here, "" when it can.
func (p plugins) why(key jobhost.Name) string {
	why, ok := p[key]
	if !ok {
		return "plugin " + key + " is not loaded on this node"
	}
	return why
}

// take removes from the queues what the next turn will do, and says how many runs it may start.
func (e *Engine) take(claim bool) (done []*ending, cmds []*command, slots int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.done), mostCompletions)
	switch {
	case e.cramped:
		return nil, nil, 0
	case e.most > 0: // turns fail: completions only
		return e.done[:min(n, e.most):min(n, e.most)], nil, 0
	case e.full: // the same, so that what asks for more room does not keep them from being stored
		return e.done[:n:n], nil, 0
	}
	m := min(len(e.cmds), mostCommands)
	if e.apart && m > 0 && claim {
		if e.asked = !e.asked; e.asked {
			claim = false
		} else {
			m = 0
		}
	}
	cmds, e.cmds = e.cmds[:m:m], e.cmds[m:]
	if claim {
		slots = max(0, min(e.cfg.AcquireBatchSize, e.cfg.MaxConcurrentRuns-len(e.active)))
	}
	return e.done[:n:n], cmds, slots
}

// logChunks is what a run in progress has said since its log was last stored.
type logChunks struct {
	run    jobhost.RunID
	chunks [][]byte
}

// takeLogs takes from runs in progress what they have said, every two seconds.
func (e *Engine) takeLogs(now time.Time) {
	if age := now.Sub(e.flushed); e.most > 0 || age >= 0 && age < logFlush {
		return
	}
	e.flushed = now
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, a := range e.active {
		if chunks := a.log.unsaved(); len(chunks) > 0 {
			e.logs = append(e.logs, logChunks{id, chunks})
		}
	}
}

// recorded takes what is stored off the queue and answers those who wait for it.
func (e *Engine) recorded(done []*ending, cmds []*command, t *turn) {
	e.mu.Lock()
	e.done = e.done[len(done):]
	for _, d := range done {
		e.tell(d)
		e.cleaning.grew(d.run.Job)
	}
	if len(e.done) == 0 {
		e.most = 0
	}
	if len(cmds) > 0 {
		e.apart = false
	}
	e.heldNow, e.localNow, e.trouble = t.newHeld, e.locals.copy(), trouble{}
	e.signal()
	e.mu.Unlock()
	for _, c := range cmds {
		c.done <- c.err
	}
}

// failed sorts out a turn that was not confirmed. The runs it may have started are read back before the next one. It reports whether a smaller
// turn should follow at once: when a record, not the store, is to blame, completions are halved until the one that cannot
// be stored stands alone, which is then stored without its output.
func (e *Engine) failed(ctx context.Context, err error, t *turn, done []*ending, cmds []*command) (again bool, _ error) {
	for _, s := range t.started {
		e.unsure = append(e.unsure, s.run.ID)
	}
	for _, c := range cmds {
		c.done <- unconfirmed(err)
	}
	e.suffer(err)
	e.doubtful = append(e.doubtful, t.moves...)
	e.sizes = nil
	full := jobhost.CodeOf(err) == jobhost.StoreFull
	e.full, e.cramped, e.apart = full, full && e.full, e.apart || full
	if e.full || jobhost.CodeOf(err) == jobhost.StoreUnreachable || len(done) == 0 {
		return false, err
	}
	switch {
	case e.most == 0:
		e.most = len(done)
	case len(done) > 1:
		e.most = (len(done) + 1) / 2
	case !done[0].degraded:
		done[0].degraded = true
		e.log.ErrorContext(ctx, "an outcome cannot be stored; it is recorded without output and log",
			slog.String("run", string(done[0].run.ID)), slog.Any("err", err))
	default: // not even so: let the others pass, then wait
		e.mu.Lock()
		e.done = append(e.done[1:], done[0])
		e.mu.Unlock()
		return false, err
	}
	return true, nil
}

func unconfirmed(err error) error {
	if jobhost.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "engine", Msg: "the store did not confirm: " + err.Error(), Err: err}
}

// readBack looks up the runs that unconfirmed turns may have started. What was stored after all is dispatched.
func (e *Engine) readBack(ctx context.Context) error {
	if len(e.unsure) == 0 {
		return nil
	}
	var found []started
	err := e.store.View(ctx, func(tx jobhost.Tx) error {
		found = found[:0]
		runs, err := tx.Runs(e.unsure...)
		if err != nil {
			return err
		}
		for _, r := range runs {
			jobs, err := tx.Jobs(r.Job)
			if err != nil {
				return err
			}
			if r.State == jobhost.RunRunning && r.Node == e.cfg.NodeID && len(jobs) == 1 && !e.holds(r.ID) {
				found = append(found, started{r, jobs[0].Job, r.Kind == jobhost.KindSchedule})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.unsure = nil
	for _, s := range found {
		e.dispatch(s) //nolint:contextcheck // a run outlives the turn and its caller
	}
	e.locals.settle(e.doubtful, found)
	e.doubtful = nil
	return nil
}

// oneShotsOnly reports whether this node may claim nothing but one-shots: its store is private and another node leads.
func (e *Engine) oneShotsOnly() bool { return !e.store.Shared() && !e.IsLeader() }

// localRuns counts the runs in progress of local jobs on this node.
func (e *Engine) localRuns() map[jobhost.Name]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out map[jobhost.Name]int
	for _, a := range e.active {
		if a.local {
			if out == nil {
				out = map[jobhost.Name]int{}
			}
			out[a.job]++
		}
	}
	return out
}

// mendIntervals sees to it that an interval's due is never later than now, or the start of its window, and the interval:
// a clock that was set back does not silence it (SPEC 12). It looks once at the start and whenever the clock went back.
func (e *Engine) mendIntervals(ctx context.Context, now time.Time) error {
	if now.Before(e.last) {
		e.log.WarnContext(ctx, "the clock went back", slog.Time("now", now))
		e.intervals = false
	}
	e.last = now
	if e.intervals {
		return nil
	}
	err := e.eachTrigger(ctx, func(t jobhost.Trigger, p *plan) (jobhost.Trigger, bool) {
		latest := later(now, p.Start).Add(p.Interval)
		if p.Kind != jobhost.Every || t.State != jobhost.TriggerWaiting || !t.Due.After(latest) {
			return t, false
		}
		return wait(t, p.next(now)), true
	})
	e.intervals = err == nil
	return err
}

// holds reports whether a run is in progress here, or its end is about to be recorded.
func (e *Engine) holds(id jobhost.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inProgress(id)
}

// drawIDs draws n ids at once.
func drawIDs(now time.Time, n int) []jobhost.RunID {
	if n == 0 {
		return nil
	}
	random := make([]byte, 10*n)
	_, _ = rand.Read(random) // never fails
	ids := make([]jobhost.RunID, n)
	for i := range ids {
		ids[i] = jobhost.NewRunID(now, [10]byte(random[10*i:]))
	}
	return ids
}
