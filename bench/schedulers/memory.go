//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/reugn/go-quartz/job"
	"github.com/reugn/go-quartz/quartz"
	"github.com/robfig/cron/v3"
)

// robfigPeer is robfig/cron v3. It has no jobs that run once; a Schedule of one's own is what it offers instead.
// An addition before its start is cheaper, so it starts after the first ones.
type robfigPeer struct{ cron *cron.Cron }

func openRobfig(order) (scheduler, error) { return robfigPeer{cron.New()}, nil }

// robfigOnce is a schedule with one instant.
type robfigOnce time.Time

func (o robfigOnce) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

func (p robfigPeer) begin() error { return nil }

func (p robfigPeer) at(instants []time.Time, start func(int)) error {
	for i, at := range instants {
		p.cron.Schedule(robfigOnce(at), cron.FuncJob(func() { start(i) }))
	}
	p.cron.Start() // does nothing the second time
	return nil
}

func (p robfigPeer) recurring(n int) error {
	for i := range n {
		if _, err := p.cron.AddFunc(recurringSpec(i, time.Now()), func() {}); err != nil {
			return err
		}
	}
	p.cron.Start()
	return nil
}

// exclusive uses the wrapper that makes the runs of a job wait for each other.
func (p robfigPeer) exclusive(n int, start func(int)) (time.Time, error) { //nolint:unparam // as excluder has it
	due := time.Now().Add(2 * time.Second)
	next := 0 // guarded by the wrapper
	one := cron.NewChain(cron.DelayIfStillRunning(cron.DiscardLogger)).Then(cron.FuncJob(func() {
		start(next)
		next++
	}))
	for range n {
		p.cron.Schedule(robfigOnce(due), one)
	}
	p.cron.Start()
	return due, nil
}

func (p robfigPeer) close() error {
	<-p.cron.Stop().Done()
	return nil
}

// gocronPeer is go-co-op/gocron v2 with its default settings.
type gocronPeer struct{ scheduler gocron.Scheduler }

func openGocron(order) (scheduler, error) {
	s, err := gocron.NewScheduler()
	return &gocronPeer{s}, err
}

func (p *gocronPeer) begin() error {
	p.scheduler.Start()
	return nil
}

func (p *gocronPeer) at(instants []time.Time, start func(int)) error {
	for i, at := range instants {
		if err := p.once(at, func() { start(i) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *gocronPeer) once(at time.Time, f func()) error {
	_, err := p.scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartDateTime(at)), gocron.NewTask(f))
	return err
}

func (p *gocronPeer) recurring(n int) error {
	for i := range n {
		if _, err := p.scheduler.NewJob(gocron.CronJob(recurringSpec(i, time.Now()), false), gocron.NewTask(func() {})); err != nil {
			return err
		}
	}
	return nil
}

// exclusive limits the scheduler to one run at a time: a job's own singleton mode knows one schedule for each job.
func (p *gocronPeer) exclusive(n int, start func(int)) (time.Time, error) {
	one, err := gocron.NewScheduler(gocron.WithLimitConcurrentJobs(1, gocron.LimitModeWait))
	if err != nil {
		return time.Time{}, err
	}
	err = p.scheduler.Shutdown()
	p.scheduler = one
	one.Start()
	due := time.Now().Add(2 * time.Second)
	return due, errors.Join(err, p.at(slices.Repeat([]time.Time{due}, n), start))
}

func (p *gocronPeer) close() error { return p.scheduler.Shutdown() }

// quartzPeer is reugn/go-quartz. A start later than its threshold of 100 ms would be dropped, so that is raised. Its
// trigger for a single run takes a delay; one of our own takes an instant, which is exact.
type quartzPeer struct{ scheduler quartz.Scheduler }

func openQuartz(order) (scheduler, error) {
	s, err := quartz.NewStdScheduler(quartz.WithOutdatedThreshold(time.Minute))
	return &quartzPeer{s}, err
}

// quartzOnce is a trigger with one instant.
type quartzOnce struct {
	at   time.Time
	done bool
}

func (o *quartzOnce) NextFireTime(int64) (int64, error) {
	if o.done {
		return 0, quartz.ErrTriggerExpired
	}
	o.done = true
	return o.at.UnixNano(), nil
}

func (o *quartzOnce) Description() string { return "once" }

func (p *quartzPeer) begin() error {
	p.scheduler.Start(context.Background())
	return nil
}

func (p *quartzPeer) at(instants []time.Time, start func(int)) error {
	for i, at := range instants {
		if err := p.add(fmt.Sprintf("once-%d", i), &quartzOnce{at: at}, func() { start(i) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *quartzPeer) add(name string, t quartz.Trigger, f func()) error {
	j := job.NewFunctionJob(func(context.Context) (bool, error) { f(); return true, nil })
	return p.scheduler.ScheduleJob(quartz.NewJobDetail(j, quartz.NewJobKey(name)), t)
}

// recurring puts a second in front, which this library wants, and a question mark for one of the two kinds of day.
func (p *quartzPeer) recurring(n int) error {
	for i := range n {
		spec := recurringSpec(i, time.Now())
		t, err := quartz.NewCronTrigger("0 " + spec[:len(spec)-1] + "?")
		if err != nil {
			return err
		}
		if err := p.add(fmt.Sprintf("cron-%d", i), t, func() {}); err != nil {
			return err
		}
	}
	return nil
}

// exclusive uses the scheduler's blocking execution: it has no way to keep the runs of one job apart.
func (p *quartzPeer) exclusive(n int, start func(int)) (time.Time, error) {
	one, err := quartz.NewStdScheduler(quartz.WithOutdatedThreshold(time.Minute), quartz.WithBlockingExecution())
	if err != nil {
		return time.Time{}, err
	}
	p.scheduler = one
	due := time.Now().Add(2 * time.Second)
	return due, errors.Join(p.begin(), p.at(slices.Repeat([]time.Time{due}, n), start))
}

func (p *quartzPeer) close() error {
	p.scheduler.Stop()
	return nil
}
