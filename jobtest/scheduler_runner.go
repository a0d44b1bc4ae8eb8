package jobtest

import (
	"context"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// actors is a runner whose runs do what a case says, by their job. It has plugin "p", and "broken", which is not ready.
type actors struct {
	mu    sync.Mutex
	parts map[jobhost.Name]jobhost.RunFunc
}

// Run plays the part of the run's job; a job without one succeeds at once.
func (a *actors) Run(ctx context.Context, call jobhost.Call) jobhost.Outcome {
	a.mu.Lock()
	part := a.parts[call.Run.Job]
	a.mu.Unlock()
	if part == nil {
		return jobhost.Outcome{}
	}
	return part(ctx, call)
}

// Plugins lists both plugins.
func (*actors) Plugins(context.Context) ([]jobhost.Plugin, error) { return actorPlugins, nil }

var actorPlugins = []jobhost.Plugin{
	{Key: "p", File: "p.wasm", Digest: "d16e57", Kind: "command", Ready: true},
	{Key: "broken", File: "broken.wasm", Problem: "it is no module"},
}

// does says what the runs of a job do from now on.
func (s *service) does(name jobhost.Name, part jobhost.RunFunc) {
	s.play.mu.Lock()
	defer s.play.mu.Unlock()
	s.play.parts[name] = part
}

// takes makes the runs of a job last d, or until their hard end; they do not listen to requests.
func (s *service) takes(name jobhost.Name, d time.Duration) {
	s.does(name, func(ctx context.Context, _ jobhost.Call) jobhost.Outcome {
		select {
		case <-time.After(d):
			return jobhost.Outcome{}
		case <-ctx.Done():
			return jobhost.Outcome{Code: jobhost.CodeOf(context.Cause(ctx)), Message: "ended"}
		}
	})
}

// fails makes the runs of a job fail with a code of their own.
func (s *service) fails(name jobhost.Name) {
	s.does(name, func(context.Context, jobhost.Call) jobhost.Outcome {
		return jobhost.Outcome{Code: "E_OWN", Message: "as told"}
	})
}

// failing is a store whose transactions fail as long as there is an error to fail with: all of them, or if the store is full
// those that change something.
type failing struct {
	jobhost.Store

	mu  sync.Mutex
	err error
}

// fail makes transactions fail; nil mends the store.
func (s *failing) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *failing) now() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// View fails, or reads.
func (s *failing) View(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := s.now(); err != nil && jobhost.CodeOf(err) != jobhost.StoreFull {
		return err
	}
	return s.Store.View(ctx, f)
}

// Update fails, or changes.
func (s *failing) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	if err := s.now(); err != nil {
		return err
	}
	return s.Store.Update(ctx, f)
}
