package jobtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// SchedulerOpener makes the schedulers that [Scheduler] tests. Its functions are called in the bubble of a case.
type SchedulerOpener struct {
	// Store returns a new, empty store and closes it when t ends.
	Store func(t testing.TB) jobhost.Store
	// New returns a scheduler over s that runs jobs by r, with the defaults of SPEC 25 and without an election. It is not
	// started. What New starts itself has ended when t does.
	New func(t testing.TB, s jobhost.Store, r jobhost.Runner) Service
}

// Service is a scheduler and what else an instance of it does.
type Service struct {
	jobhost.Scheduler
	// Serve fires triggers and carries out requests until ctx ends, and returns when it has stopped.
	Serve func(ctx context.Context) error
	// Apply makes definitions those of the instance's files.
	Apply func(ctx context.Context, defs []jobhost.JobDef) error
}

// Scheduler tests a scheduler against the management contract of [jobhost.Scheduler] (SPEC 22): each operation, batches,
// error codes, pages, followers. What it stands on is open: the engine itself, or a client of one. Each case has a bubble
// of its own, and every closure of an Update is called twice.
func Scheduler(t *testing.T, open SchedulerOpener) {
	t.Helper()
	for _, c := range slices.Concat(defineCases, pauseCases, requestCases, cancelCases, readCases, historyCases, oneRunCases, logCases, eventCases, serviceCases, replayCases) {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, open)
				if !c.early {
					s.serve()
				}
				c.test(s)
			})
		})
	}
}

type schedulerCase struct {
	name  string
	test  func(s *service)
	early bool // the case begins before the scheduler serves
}

// service is one case under test with its scheduler.
type service struct {
	*testing.T
	Service

	began time.Time
	store *failing
	play  *actors
	stop  func() // asks the scheduler to stop, and returns when it has; nil before it serves
	aside sync.WaitGroup
}

func newService(t *testing.T, open SchedulerOpener) *service {
	t.Helper()
	s := &service{T: t, began: time.Now().UTC(), play: &actors{parts: map[jobhost.Name]jobhost.RunFunc{}}}
	s.store = &failing{Store: Twice(open.Store(t))}
	s.Service = open.New(t, s.store, s.play)
	t.Cleanup(s.aside.Wait)
	return s
}

// serve serves until the case ends or stops it, and returns when nothing moves.
func (s *service) serve() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := s.Serve(ctx); err != nil {
			s.Errorf("serve: %v", err)
		}
	}()
	s.stop = func() { cancel(); <-over }
	s.Cleanup(s.stop)
	synctest.Wait()
}

// at is an instant after the beginning of the case.
func (s *service) at(d time.Duration) time.Time { return s.began.Add(d) }

// until sleeps until an instant after the beginning, and until nothing moves.
func (s *service) until(d time.Duration) {
	time.Sleep(time.Until(s.at(d)))
	synctest.Wait()
}

// define defines jobs, which must work.
func (s *service) define(defs ...jobhost.JobDef) {
	s.Helper()
	is(s, "codes of the definitions", codes(s.Schedule(s.Context(), defs)), make([]jobhost.Code, len(defs)))
}

// run triggers a job, which must work, and returns the run as it ended.
func (s *service) run(name jobhost.Name) jobhost.Run {
	s.Helper()
	r, err := jobhost.One(s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: name}}))
	if err != nil {
		s.Fatalf("trigger %q: %v", name, err)
	}
	return r
}

// begin triggers a job without waiting for the run's end, which the channel gets. The run is in progress, or refused.
func (s *service) begin(name jobhost.Name) <-chan jobhost.Result[jobhost.Run] {
	end := make(chan jobhost.Result[jobhost.Run], 1)
	s.aside.Go(func() { end <- s.Trigger(s.Context(), []jobhost.TriggerRequest{{Job: name}})[0] })
	synctest.Wait()
	return end
}

// enqueue enqueues one run, which must work.
func (s *service) enqueue(req jobhost.EnqueueRequest) jobhost.RunID {
	s.Helper()
	id, err := jobhost.One(s.Enqueue(s.Context(), []jobhost.EnqueueRequest{req}))
	if err != nil {
		s.Fatalf("enqueue %q: %v", req.Job, err)
	}
	return id
}

// status is the status of one job.
func (s *service) status(name jobhost.Name) jobhost.JobStatus {
	s.Helper()
	st, err := jobhost.One(s.Status(s.Context(), []jobhost.Name{name}))
	if err != nil {
		s.Fatalf("status of %q: %v", name, err)
	}
	return st
}

// runs is the answer to a query of the history, which must work.
func (s *service) runs(q jobhost.RunQuery) []jobhost.Run {
	s.Helper()
	rs, err := s.Runs(s.Context(), q)
	if err != nil {
		s.Fatalf("runs: %v", err)
	}
	return rs
}

// record is a run with its data, which must be there.
func (s *service) record(id jobhost.RunID) jobhost.Run {
	s.Helper()
	r, err := s.Scheduler.Run(s.Context(), id)
	if err != nil {
		s.Fatalf("run %s: %v", id, err)
	}
	return r
}

// bare is a run as lists have it.
func bare(r jobhost.Run) jobhost.Run {
	r.Data = nil
	return r
}

// only is the only run of a job, with its data.
func (s *service) only(name jobhost.Name) jobhost.Run {
	s.Helper()
	rs := s.runs(jobhost.RunQuery{Job: name})
	if len(rs) != 1 {
		s.Fatalf("job %q has %d runs, want 1: %+v", name, len(rs), rs)
	}
	return s.record(rs[0].ID)
}

// minutely is a job with one trigger "t" that fires each full minute.
func minutely(name jobhost.Name) jobhost.JobDef {
	return jobhost.NewJob(name, "p", jobhost.NewTrigger("t", "cron 0 * * * * *"))
}

// is fails the case unless got is want.
func is[V any](s *service, what string, got, want V) {
	s.Helper()
	if d := diff(got, want); d != "" {
		s.Errorf("%s: -got +want\n%s", what, d)
	}
}

// codes are the codes of a batch's answers, see [codeOf].
func codes[V any](rs []jobhost.Result[V]) []jobhost.Code {
	out := make([]jobhost.Code, len(rs))
	for i, r := range rs {
		out[i] = codeOf(r.Err)
	}
	return out
}

// codeOf is the code of an error: "" for none, and the text of one that has no code.
func codeOf(err error) jobhost.Code {
	if code := jobhost.CodeOf(err); code != "" || err == nil {
		return code
	}
	return jobhost.Code(err.Error())
}

// code is the code of a call that answers with a value.
func code[V any](_ V, err error) jobhost.Code { return codeOf(err) }
