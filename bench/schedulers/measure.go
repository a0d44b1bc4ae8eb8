//go:build unix

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
	"github.com/jobhost/jobhost/bench/internal/usage"
)

// measure is one thing that is taken of each scheduler, and the table that shows it.
type measure struct {
	name    string
	title   func(o options) string
	columns []report.Column
	take    func(s scheduler, p peer, o options) (report.Values, error)
}

// patience is how long jobs may take after they were due.
const patience = 2 * time.Minute

// apart is the distance of the instants whose lateness is taken: an odd one, so that they fall on no clock tick.
const apart = 10_007 * time.Microsecond

var throughput = []report.Column{
	{Key: "rate", Title: "starts/s"},
	{Key: "durable", Title: "recorded/s"},
	{Key: "first", Title: "first start ms"},
	{Key: "cpu", Title: "own CPU µs/job"},
}

var lateness = []report.Column{
	{Key: "p50", Title: "p50 ms"},
	{Key: "p99", Title: "p99 ms"},
	{Key: "max", Title: "max ms"},
	{Key: "early", Title: "early"},
	{Key: "missed", Title: "missed"},
}

var registering = []report.Column{
	{Key: "seconds", Title: "seconds"},
	{Key: "cpu", Title: "own CPU s"},
	{Key: "heap", Title: "heap B/job"},
	{Key: "resident", Title: "resident MiB"},
	{Key: "idle", Title: "idle CPU %"},
}

var measures = []measure{
	{"due", func(o options) string {
		return fmt.Sprintf("%d jobs that are due when the scheduler starts", o.Jobs)
	}, throughput, due},
	{"instant", func(o options) string {
		return fmt.Sprintf("%d jobs that become due at one instant while it runs", o.Jobs)
	}, throughput, instant},
	{"exclusive", func(o options) string {
		return fmt.Sprintf("one job, one run at a time, due %d times", o.Triggers)
	}, throughput[:2], exclusive},
	{"late", func(o options) string {
		return fmt.Sprintf("lateness of %d starts %v apart", o.Starts, apart)
	}, lateness, late(0)},
	{"late-among", func(o options) string {
		return fmt.Sprintf("lateness of %d starts %v apart, among 100,000 recurring jobs", o.Starts, apart)
	}, lateness, late(100_000)},
	{"register-10k", func(options) string { return "registering 10,000 recurring jobs" }, registering, register(10_000)},
	{"register-100k", func(options) string { return "registering 100,000 recurring jobs" }, registering, register(100_000)},
}

// of is the process that a scheduler is in.
func of(s scheduler) usage.Process {
	if p, ok := s.(interface{ process() usage.Process }); ok {
		return p.process()
	}
	return usage.Self
}

func due(s scheduler, _ peer, o options) (report.Values, error) {
	b, ok := s.(backlogger)
	if !ok {
		return nil, child.Skip("keeps no jobs while it does not run")
	}
	st := newStarts(o.Jobs)
	if err := b.backlog(o.Jobs, st.start); err != nil {
		return nil, err
	}
	began, cpu := time.Now(), of(s).CPU()
	if err := s.begin(); err != nil {
		return nil, err
	}
	return rate(s, st, began, func() time.Duration { return of(s).CPU() - cpu })
}

// begun starts a scheduler and waits until it is all there.
func begun(s scheduler) error {
	if err := s.begin(); err != nil {
		return err
	}
	if w, ok := s.(settler); ok {
		return w.settle()
	}
	return nil
}

func instant(s scheduler, p peer, o options) (report.Values, error) {
	if err := begun(s); err != nil {
		return nil, err
	}
	st := newStarts(o.Jobs)
	at := time.Now().Add(p.leads()).Truncate(time.Second).Add(time.Second) // whole seconds, for those that know nothing finer
	instants := make([]time.Time, o.Jobs)
	for i := range instants {
		instants[i] = at
	}
	if err := s.at(instants, st.start); err != nil {
		return nil, err
	}
	left := time.Until(at)
	if left < 0 {
		return nil, fmt.Errorf("registering took %v longer than was foreseen", -left)
	}
	time.Sleep(left - 20*time.Millisecond) // what registering costs is taken elsewhere
	cpu := of(s).CPU()
	return rate(s, st, at, func() time.Duration { return of(s).CPU() - cpu })
}

// leads is how long before the instants [scheduler.at] is called.
func (p peer) leads() time.Duration {
	if p.lead == 0 {
		return 5 * time.Second
	}
	return p.lead
}

// rate waits for all starts and, where they are recorded, for all ends.
func rate(s scheduler, st *starts, due time.Time, cpu func() time.Duration) (report.Values, error) {
	if err := st.wait(); err != nil {
		return nil, err
	}
	n := float64(len(st.of))
	first, last, err := st.firstAndLast()
	if err != nil {
		return nil, err
	}
	v := report.Values{
		"rate":  n / last.Sub(due).Seconds(),
		"first": float64(first.Sub(due).Microseconds()) / 1000,
		"cpu":   float64(cpu().Microseconds()) / n,
	}
	r, ok := s.(recorder)
	if !ok {
		return v, nil
	}
	for {
		done, err := r.recorded(len(st.of))
		switch {
		case err != nil:
			return nil, err
		case done:
			v["durable"] = n / time.Since(due).Seconds()
			v["cpu"] = float64(cpu().Microseconds()) / n
			return v, nil
		case time.Since(due) > 2*patience:
			return nil, errors.New("the ends of the jobs are not recorded")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func exclusive(s scheduler, _ peer, o options) (report.Values, error) {
	e, ok := s.(excluder)
	if !ok {
		return nil, child.Skip("cannot make the runs of a job wait for each other")
	}
	st := newStarts(o.Triggers)
	due, err := e.exclusive(o.Triggers, st.start)
	if err != nil {
		return nil, err
	}
	return rate(s, st, due, func() time.Duration { return 0 }) // that is not shown
}

// late takes how much later than its instant each job makes its first statement, with other jobs registered.
func late(others int) func(s scheduler, p peer, o options) (report.Values, error) {
	return func(s scheduler, p peer, o options) (report.Values, error) {
		if err := begun(s); err != nil {
			return nil, err
		}
		lead := p.leads()
		if others > 0 {
			if err := s.recurring(others); err != nil {
				return nil, err
			}
			lead *= 8 // some sort all jobs at each addition
		}
		first := time.Now().Add(lead).Truncate(time.Microsecond)
		instants := make([]time.Time, o.Starts)
		for i := range instants {
			instants[i] = first.Add(time.Duration(i) * apart)
		}
		st := newStarts(o.Starts)
		if err := s.at(instants, st.start); err != nil {
			return nil, err
		}
		if left := time.Until(first); left < 0 {
			return nil, fmt.Errorf("registering took %v longer than was foreseen", -left)
		}
		select {
		case <-st.all:
		case <-time.After(time.Until(instants[len(instants)-1].Add(30 * time.Second))):
		}
		return latenessOf(st, instants)
	}
}

func latenessOf(st *starts, instants []time.Time) (report.Values, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	v := report.Values{"missed": float64(st.left), "early": 0}
	var ms []float64
	for i, at := range st.of {
		if at.IsZero() {
			continue
		}
		d := at.Sub(instants[i])
		if d < 0 {
			v["early"]++
		}
		ms = append(ms, float64(d.Microseconds())/1000)
	}
	if len(ms) == 0 {
		return nil, errors.New("no job started")
	}
	v["p50"], v["p99"], v["max"] = report.Quantile(ms, 0.5), report.Quantile(ms, 0.99), report.Quantile(ms, 1)
	return v, nil
}

// register takes what n recurring jobs cost: time, memory, and processor time while none of them is due.
func register(n int) func(s scheduler, p peer, o options) (report.Values, error) {
	return func(s scheduler, _ peer, o options) (report.Values, error) {
		if err := begun(s); err != nil {
			return nil, err
		}
		heap := usage.Heap()
		resident, err := of(s).Resident()
		if err != nil {
			return nil, err
		}
		began, cpu := time.Now(), of(s).CPU()
		if err := s.recurring(n); err != nil {
			return nil, err
		}
		v := report.Values{"seconds": time.Since(began).Seconds(), "cpu": (of(s).CPU() - cpu).Seconds()}
		time.Sleep(2 * time.Second) // what goes on after the registration
		if of(s) == usage.Self {
			v["heap"] = (usage.Heap() - heap) / float64(n)
		}
		after, err := of(s).Resident()
		if err != nil {
			return nil, err
		}
		v["resident"] = (after - resident) / (1 << 20)
		cpu = of(s).CPU()
		time.Sleep(o.Idle)
		v["idle"] = 100 * (of(s).CPU() - cpu).Seconds() / o.Idle.Seconds()
		return v, nil
	}
}
