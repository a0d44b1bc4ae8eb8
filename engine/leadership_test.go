package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

// election is a Leader that a test steers.
type election struct {
	jobhost.Leader

	mu       sync.Mutex
	previous time.Time
	fail     error
}

type steeredLease struct {
	jobhost.Lease

	previous time.Time
}

func (l steeredLease) PreviousHeldUntil() time.Time { return l.previous }

func (e *election) Acquire(ctx context.Context, r jobhost.Name, holder string, ttl time.Duration) (jobhost.Lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return nil, e.fail
	}
	l, err := e.Leader.Acquire(ctx, r, holder, ttl)
	return steeredLease{l, e.previous}, err
}

func TestLeadership(t *testing.T) {
	held := &jobhost.Error{Code: jobhost.LeaseHeld, Op: "test", Msg: "held by n9"}

	eachStore(t, "S-165 a node that does not lead fires nothing scheduled from its private store", func(w *world) {
		w.cfg.Leader = &election{Leader: memstore.NewElection(), fail: held}
		local := job("local", "cron 0 * * * * *")
		local.RunOnEveryInstance = true
		w.define(job("scheduled", "cron 0 * * * * *"), local, jobhost.NewJob("asked", "p"), jobhost.NewJob("queued", "p"))
		stop := w.serve()
		if _, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "queued"}})); err != nil {
			w.Fatal(err)
		}
		is(w, "asked", (<-w.startManual("asked")).Value.State, jobhost.RunSucceeded)
		w.until(minute + second)
		is(w, "scheduled", len(w.runs("scheduled")), 0)
		is(w, "local", len(w.runs("local")), 1)
		is(w, "queued", len(w.runs("queued")), 1)
		x, err := w.eng().Explain(w.Context(), "scheduled")
		is(w, "error", err, nil)
		is(w, "answer", x.Triggers[0].Answer, "another node leads, and this store is private")
		stop()
	})

	eachStore(t, "S-167 what the leader before had to do is not made up", func(w *world) {
		l := &election{Leader: memstore.NewElection(), fail: held}
		w.cfg.Leader = l
		w.define(job("before", "cron 0 10 * * * *"), job("after", "cron 0 20 * * * *"))
		stop := w.serve()
		w.until(25 * minute)
		l.mu.Lock()
		l.fail, l.previous = nil, t0.Add(15*minute)
		l.mu.Unlock()
		w.until(26 * minute)
		is(w, "runs of before", len(w.runs("before")), 0)
		w.waits("before", 70*minute)
		isAt(w, "the make-up of after", w.only("after").ScheduledAt, 25*minute+second) // as soon as it leads
		stop()

		w.restart() // it led until now, and takes over from itself
		again := &election{Leader: memstore.NewElection(), previous: w.cfg.Now()}
		w.cfg.Leader = again
		w.until(71 * minute)
		again.previous = w.cfg.Now()
		w.put("before", func(t *jobhost.Trigger) { t.Due, t.Ready = t0.Add(26*minute), t0.Add(26*minute) })
		stop = w.serve()
		w.until(72 * minute)
		if n := len(w.runs("before")); n == 0 {
			w.Error("a firing of this node's own time was moved on")
		}
		stop()
	})

	eachStore(t, "S-172 a draining node gives the lease away at once and goes on with its runs", func(w *world) {
		shared := memstore.NewElection()
		w.cfg.Leader, w.cfg.DrainDelay = shared, 10*second
		w.define(jobhost.NewJob("j", "p", jobhost.NewTrigger("a", "cron 0 * * * * *"), jobhost.NewTrigger("b", "cron 0 * * * * *")))
		w.takes("j", 70*second)
		stop := w.serve()
		w.until(minute + second)
		is(w, "b", w.trigger("j", "b").State, jobhost.TriggerBlocked)
		over := make(chan struct{})
		w.aside.Go(func() { defer close(over); stop() })
		time.Sleep(1500 * time.Millisecond)
		is(w, "state", w.eng().State(), Draining)
		if _, err := shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute); err != nil {
			w.Errorf("the lease is not free: %v", err)
		}
		<-over
		is(w, "runs", len(w.runs("j")), 1)
		is(w, "b", w.trigger("j", "b").State, jobhost.TriggerWaiting)
	})

	eachStore(t, "S-174 the lease is released last", func(w *world) {
		shared := memstore.NewElection()
		w.cfg.Leader, w.cfg.ShutdownTimeout = shared, 5*minute
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", 2*minute)
		stop := w.serve()
		w.startManual("j")
		over := make(chan struct{})
		w.aside.Go(func() { defer close(over); stop() })
		time.Sleep(minute) // twice the time to live
		_, err := shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute)
		is(w, "code", jobhost.CodeOf(err), jobhost.LeaseHeld)
		<-over
		is(w, "state", w.only("j").State, jobhost.RunSucceeded)
		_, err = shared.Acquire(w.Context(), w.cfg.LeaseResource, "n2", minute)
		is(w, "error", err, nil)
	})

	eachStore(t, "FR-08 an election that is unreachable is believed for the time to live and no longer", func(w *world) {
		unreachable := &jobhost.Error{Code: jobhost.LeaseUnreachable, Op: "test", Msg: "gone"}
		l := &failingLease{}
		w.cfg.Leader = l
		stop := w.serve()
		w.until(5 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		l.set(unreachable)
		w.until(25 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		w.until(45 * second)
		is(w, "leads", w.eng().IsLeader(), false)
		l.set(nil)
		w.until(60 * second)
		is(w, "leads", w.eng().IsLeader(), true)
		stop()
	})
}

// failingLease is an election whose lease can become unreachable.
type failingLease struct {
	mu    sync.Mutex
	err   error
	until time.Time
}

func (l *failingLease) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *failingLease) Acquire(_ context.Context, _ jobhost.Name, _ string, ttl time.Duration) (jobhost.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(ttl)
	return l, l.err
}
func (l *failingLease) Resource() jobhost.Name       { return "r" }
func (l *failingLease) Holder() string               { return "n1" }
func (l *failingLease) ExpiresAt() time.Time         { return l.until }
func (l *failingLease) PreviousHeldUntil() time.Time { return time.Time{} }
func (l *failingLease) Term() uint64                 { return 0 }
func (l *failingLease) Release(context.Context) error {
	return errors.New("released")
}

func (l *failingLease) Renew(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
