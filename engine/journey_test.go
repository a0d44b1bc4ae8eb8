package engine

import (
	"context"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

// journeyEnd is when the last life of the journey is asked to stop.
const journeyEnd = 175500 * time.Millisecond

// A journey is a story of three lives of a process on one store. The first has a schedule, retries, an exclusive job that
// blocks itself, a pause that ends in misfires of every policy, requests, a reload, a deletion and a cancelled run, and
// dies with runs in progress. The second recovers, makes up for what it missed and stops in order. The store may crash at
// any commit of both. The last life goes on with what is left, to its end.
type journey struct {
	*testing.T

	open   func() jobhost.Store // the store's data, opened again after the life before
	began  time.Time
	crash  int // at which commit, counted over both lives; 0: never
	when   jobtest.When
	count  int             // commits so far
	sure   map[string]bool // what was confirmed to the outside
	asked  jobhost.RunID
	ended  bool // the store has crashed, so the last life comes next
	paused []jobhost.Target
}

// What is confirmed to the outside, and so must hold for ever.
const (
	sureDefined  = "the files are in the store"
	sureAsked    = "a run is enqueued"
	sureDeleted  = "a job is deleted"
	sureCanceled = "a run is cancelled"
)

// journeyFiles are what the files define. In the second edition one job is changed, one is new and one gone.
func journeyFiles(edition int) []jobhost.JobDef {
	retried := job("retried", "cron 8,38 * * * * *")
	retried.Retry = &jobhost.RetryPolicy{MaxRetries: 2, Delay: 3 * second}
	recovered := jobhost.NewJob("recovered", "p", jobhost.NewTrigger("t", "cron */20 * * * * *"), jobhost.NewTrigger("u", "cron */20 * * * * *"))
	recovered.RequestsRecovery = true
	long := job("long", "cron 30 * * * * *")
	long.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: second}
	local := job("local", "cron */10 * * * * *")
	local.RunOnEveryInstance, local.RequestsRecovery = true, true
	defs := []jobhost.JobDef{retried, recovered, long, local, jobhost.NewJob("asked", "p"), jobhost.NewJob("manual", "p"), job("interval", "every 7s"), job("counted", "every 4s x3")}
	for name, policy := range map[jobhost.Name]jobhost.Misfire{"all": jobhost.MisfireRunAll, "skips": jobhost.MisfireSkip, "once": jobhost.MisfireRunOnce} {
		d := job(name, "cron */5 * * * * *")
		d.Triggers[0].Misfire = policy
		defs = append(defs, d)
	}
	if edition == 1 {
		return append(defs, job("changed", "every 6s"), job("dropped", "cron */5 * * * * *"))
	}
	return append(defs, job("changed", "cron */6 * * * * *"), job("added", "cron */5 * * * * *"))
}

// travel lives the first two lives. Without a crash they end as the story says.
func (j *journey) travel() {
	j.sure = map[string]bool{}
	j.paused = []jobhost.Target{{Job: "all"}, {Job: "skips"}, {Job: "once"}}
	j.life("n1", journeyFiles(1), 40500*time.Millisecond, j.firstLife, false)
	if !j.ended {
		time.Sleep(15 * second) // longer than the misfire threshold
		j.life("n2", journeyFiles(2), 110500*time.Millisecond, j.secondLife, true)
	}
}

func (j *journey) firstLife(w *world, at func(time.Duration, func(ctx context.Context, e *Engine))) {
	at(500*time.Millisecond, func(ctx context.Context, e *Engine) {
		j.sure[sureDefined] = e.Applied()
		_ = e.Schedule(ctx, []jobhost.JobDef{job("gone", "cron */5 * * * * *")})
	})
	at(5500*time.Millisecond, func(ctx context.Context, e *Engine) {
		rs := e.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "asked", At: t0.Add(8500 * time.Millisecond), IdempotencyKey: "k"}})
		j.asked, j.sure[sureAsked] = rs[0].Value, rs[0].Err == nil
	})
	at(10500*time.Millisecond, func(ctx context.Context, e *Engine) { _ = e.Pause(ctx, j.paused) })
	at(12500*time.Millisecond, func(ctx context.Context, e *Engine) {
		j.sure[sureDeleted] = e.Delete(ctx, []jobhost.Name{"gone"})[0].Err == nil
	})
	at(16500*time.Millisecond, func(ctx context.Context, e *Engine) { _ = e.Apply(ctx, journeyFiles(2)) })
	at(20500*time.Millisecond, func(ctx context.Context, e *Engine) {
		_ = e.Schedule(ctx, []jobhost.JobDef{job("changed", "every 9s")})
	})
	at(22500*time.Millisecond, func(ctx context.Context, e *Engine) {
		w.aside.Go(func() { _ = e.Trigger(ctx, []jobhost.TriggerRequest{{Job: "manual"}}) })
	})
	at(27500*time.Millisecond, func(ctx context.Context, e *Engine) { _ = e.Resume(ctx, j.paused) })
	at(33500*time.Millisecond, func(ctx context.Context, e *Engine) {
		open, err := e.Runs(ctx, jobhost.RunQuery{Job: "long", States: []jobhost.RunState{jobhost.RunRunning}})
		if err == nil && len(open) == 1 {
			_ = e.CancelRuns(ctx, []jobhost.RunID{open[0].ID})
		}
	})
	at(36500*time.Millisecond, func(ctx context.Context, e *Engine) {
		ended, err := e.Runs(ctx, jobhost.RunQuery{Job: "long", States: []jobhost.RunState{jobhost.RunCanceled}})
		j.sure[sureCanceled] = err == nil && len(ended) == 1
	})
}

func (j *journey) secondLife(_ *world, at func(time.Duration, func(ctx context.Context, e *Engine))) {
	at(80500*time.Millisecond, func(ctx context.Context, e *Engine) { _ = e.Restore(ctx, []jobhost.Name{"changed"}) })
}

// life is one life of the process, until an instant after t0, until its story or a crash of the store ends it. In the end it
// stops in order, or is gone from one moment to the next.
func (j *journey) life(node string, files []jobhost.JobDef, until time.Duration, story func(*world, func(time.Duration, func(context.Context, *Engine))), inOrder bool) {
	at := 1 << 30
	if j.crash > 0 {
		at = j.crash - j.count
	}
	store := j.open()
	crash := jobtest.CrashAt(store, at, j.when)
	w := j.world(crash, node)
	w.cfg.ShutdownTimeout, w.cfg.CancelGrace = 0, 0
	ctx, die := context.WithCancel(w.ctx)
	w.ctx = ctx
	go func() { // the process is gone with its first failed commit
		select {
		case <-crash.Crashed():
		case <-ctx.Done():
		}
		die()
	}()
	e, over := w.eng(), make(chan error, 1)
	if err := e.Apply(ctx, files); err != nil {
		j.Fatal(err)
	}
	w.aside.Go(func() { over <- e.Serve(ctx) })
	sleep := func(d time.Duration) bool {
		select {
		case <-time.After(t0.Add(d).Sub(w.cfg.Now())):
			return true
		case <-ctx.Done():
			return false
		}
	}
	story(w, func(d time.Duration, do func(context.Context, *Engine)) {
		if sleep(d) {
			do(ctx, e)
		}
	})
	j.ended = !sleep(until)
	if !inOrder {
		crash.Crash()
	}
	die()
	if err := <-over; err != nil && inOrder && !j.ended {
		select {
		case <-crash.Crashed():
		default:
			j.Errorf("serve: %v", err)
		}
	}
	w.end()
	select {
	case <-crash.Crashed():
		j.ended = j.ended || inOrder
	default:
	}
	j.count += crash.Commits()
}

// lastLife goes on with what is left, asks again for what may not have been heard, and stops in order.
func (j *journey) lastLife() *world {
	w := j.world(j.open(), "n3")
	w.takes("long", second)
	if err := w.eng().Apply(w.Context(), journeyFiles(2)); err != nil {
		j.Fatal(err)
	}
	stop := w.serve()
	for _, r := range w.eng().Resume(w.Context(), j.paused) {
		is(w, "resuming", r.Err, nil)
	}
	again := w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "asked", IdempotencyKey: "k"}})
	is(w, "asking again", again[0].Err, nil)
	if j.sure[sureAsked] {
		is(w, "the run that was promised", again[0].Value, j.asked)
	}
	w.until(journeyEnd)
	stop()
	w.end()
	return w
}

// world is a world whose clock and jobs are the journey's.
func (j *journey) world(store jobhost.Store, node string) *world {
	w := newWorld(j.T, store)
	w.began, w.cfg.NodeID, w.cfg.Log = j.began, node, nil
	w.cfg.MisfireThreshold = 10 * second
	w.fails("retried")
	w.takes("recovered", 3*second)
	w.takes("gone", 3*second)
	w.takes("interval", second)
	w.takes("manual", 2*second)
	w.takes("long", hour)
	return w
}
