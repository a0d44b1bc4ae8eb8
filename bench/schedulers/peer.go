//go:build unix

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/jobhost/jobhost/bench/internal/server"
)

// scheduler is one scheduler under test, in its own process and with nothing registered.
type scheduler interface {
	// begin starts it. A second call does nothing.
	begin() error
	// at registers a job for each instant, which calls start with its number. The jobs have nothing else to do.
	at(instants []time.Time, start func(i int)) error
	// recurring registers n recurring jobs, none of which is due soon.
	recurring(n int) error
	// close stops it.
	close() error
}

// settler is a scheduler that is not all there when begin returns.
type settler interface {
	// settle waits until it is.
	settle() error
}

// backlogger is a scheduler that keeps jobs while it does not run.
type backlogger interface {
	// backlog registers n jobs that are due at once. The scheduler has not begun.
	backlog(n int, start func(i int)) error
}

// excluder is a scheduler that can keep the runs of one job apart without losing any of them.
type excluder interface {
	// exclusive makes one job due n times and sees to it that the scheduler begins. It returns the instant from which the
	// runs can start.
	exclusive(n int, start func(i int)) (due time.Time, err error)
}

// recorder is a scheduler that writes down how jobs ended.
type recorder interface {
	// recorded tells whether the ends of n jobs are in its store.
	recorded(n int) (bool, error)
}

// peer is a scheduler that can be measured.
type peer struct {
	name   string
	lead   time.Duration // how long registering takes at most, for what [scheduler.at] is given; 5s if zero
	server string        // that it needs: "", "postgres", "redis", "redis-durable" or "dkron"
	open   func(o order) (scheduler, error)
}

var peers = []peer{
	{name: "jobhost-memory", open: openJobhost(inMemory, false)},
	{name: "jobhost-memory-wide", open: openJobhost(inMemory, true)},
	{name: "jobhost-bolt", open: openJobhost(inBolt, false)},
	{name: "jobhost-bolt-wide", open: openJobhost(inBolt, true)},
	{name: "robfig", open: openRobfig},
	{name: "gocron", open: openGocron},
	{name: "go-quartz", open: openQuartz, lead: 10 * time.Second},
	{name: "river", server: "postgres", open: openRiver(riverDefault, riverScheduled)},
	{name: "river-tuned", server: "postgres", open: openRiver(riverTuned, riverScheduled)},
	{name: "river-periodic", server: "postgres", open: openRiver(riverDefault, riverPeriodic)},
	{name: "asynq", server: "redis", open: openAsynq(false)},
	{name: "asynq-tuned", server: "redis", open: openAsynq(true)},
	{name: "asynq-durable", server: "redis-durable", open: openAsynq(true)},
	{name: "dkron", server: "dkron", open: openDkron, lead: 30 * time.Second},
}

// recurringSpec is one of many cron expressions that differ in minute, hour and day and are due half a year from now.
func recurringSpec(i int, now time.Time) string {
	return fmt.Sprintf("%d %d %d %d *", i%60, i/60%24, 1+i/1440%28, int(now.AddDate(0, 6, 0).Month()))
}

// start starts the server that a peer needs, if it needs one.
func (p peer) start(o options) (*server.Server, error) {
	switch p.server {
	case "postgres":
		return server.Postgres()
	case "redis":
		return server.Redis(false)
	case "redis-durable":
		return server.Redis(true)
	case "dkron":
		if o.Dkron == "" {
			return nil, errors.New("-dkron names no program")
		}
		return server.Dkron(o.Dkron)
	}
	return nil, nil
}
