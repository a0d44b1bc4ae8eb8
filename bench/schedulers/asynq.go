//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/hibiken/asynq"
)

// asynqPeer is hibiken/asynq on an empty Redis server. What it uses of processor time is
// without the server's.
type asynqPeer struct {
	redis     asynq.RedisClientOpt
	client    *asynq.Client
	tuned     bool
	server    *asynq.Server    // nil until it is started
	scheduler *asynq.Scheduler // nil unless there are recurring tasks
	start     func(i int)
}

// openAsynq opens it with the 100 workers that others have too. Tuned, it looks for scheduled tasks ten times a second
// instead of every 5 s.
func openAsynq(tuned bool) func(order) (scheduler, error) {
	return func(o order) (scheduler, error) {
		p := &asynqPeer{redis: asynq.RedisClientOpt{Network: "unix", Addr: o.Server.Address}, tuned: tuned, start: func(int) {}}
		p.client = asynq.NewClient(p.redis)
		return p, nil
	}
}

func (p *asynqPeer) begin() error { return p.work(100) }

func (p *asynqPeer) work(workers int) error {
	if p.server != nil {
		return nil
	}
	cfg := asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel}
	if p.tuned {
		cfg.DelayedTaskCheckInterval = 100 * time.Millisecond
	}
	p.server = asynq.NewServer(p.redis, cfg)
	return p.server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		p.start(int(binary.LittleEndian.Uint32(t.Payload())))
		return nil
	}))
}

func task(i int) *asynq.Task {
	return asynq.NewTask("noop", binary.LittleEndian.AppendUint32(nil, uint32(i))) //nolint:gosec // at most a million
}

func (p *asynqPeer) at(instants []time.Time, start func(int)) error {
	p.start = start
	for i, at := range instants {
		if _, err := p.client.Enqueue(task(i), asynq.ProcessAt(at)); err != nil {
			return err
		}
	}
	return nil
}

func (p *asynqPeer) backlog(n int, start func(int)) error {
	p.start = start
	for i := range n {
		if _, err := p.client.Enqueue(task(i)); err != nil {
			return err
		}
	}
	return nil
}

// exclusive has one worker: there is no other way to keep runs apart.
func (p *asynqPeer) exclusive(n int, start func(int)) (time.Time, error) {
	if err := p.backlog(n, start); err != nil {
		return time.Time{}, err
	}
	return time.Now(), p.work(1)
}

func (p *asynqPeer) recurring(n int) error {
	p.scheduler = asynq.NewScheduler(p.redis, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	for i := range n {
		if _, err := p.scheduler.Register(recurringSpec(i, time.Now()), task(i)); err != nil {
			return err
		}
	}
	return p.scheduler.Start()
}

// recorded counts what was processed today, which is all that is kept of a task that ended well.
func (p *asynqPeer) recorded(n int) (bool, error) {
	in := asynq.NewInspector(p.redis)
	q, err := in.GetQueueInfo("default")
	if err := errors.Join(err, in.Close()); err != nil {
		return false, err
	}
	return q.ProcessedTotal >= n, nil
}

func (p *asynqPeer) close() error {
	if p.scheduler != nil {
		p.scheduler.Shutdown()
	}
	if p.server != nil {
		p.server.Shutdown()
	}
	return p.client.Close()
}
