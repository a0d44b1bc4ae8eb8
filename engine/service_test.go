package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

// Serving states, sources, events, and what status says.
func TestService(t *testing.T) {
	eachStore(t, "S-171 before it serves an engine fires nothing, leads nothing and has stored no file job", func(w *world) {
		w.cfg.Leader = memstore.NewElection()
		w.not["slow"] = ""
		d := job("slow", "cron 0 0 * * *")
		d.Plugin = "slow"
		if err := w.eng().Apply(w.Context(), []jobhost.JobDef{d}); err != nil {
			w.Fatal(err)
		}
		w.define(job("j", "cron * * * * * *"), jobhost.NewJob("asked", "p"))
		stop := w.serve()
		w.until(10500 * time.Millisecond)
		is(w, "state", w.eng().State(), Started)
		is(w, "runs", len(w.runs("j")), 0)
		is(w, "leads", w.eng().IsLeader(), false)
		is(w, "stored", jobhost.CodeOf(w.eng().Status(w.Context(), []jobhost.Name{"slow"})[0].Err), jobhost.NotFoundJob)
		is(w, "S-173 a request is accepted", (<-w.startManual("asked")).Value.State, jobhost.RunSucceeded)
		w.ready("slow")
		w.until(12500 * time.Millisecond)
		is(w, "state", w.eng().State(), Serving)
		is(w, "leads", w.eng().IsLeader(), true)
		is(w, "source", w.eng().Status(w.Context(), []jobhost.Name{"slow"})[0].Value.Source, jobhost.SourceFile)
		if len(w.runs("j")) == 0 {
			w.Error("it serves and fires nothing")
		}
		stop()
	})

	eachStore(t, "a file job whose plugin is broken ends the start", func(w *world) {
		w.not["slow"] = "it is no WebAssembly module"
		d := job("slow", "cron 0 0 * * *")
		d.Plugin = "slow"
		if err := w.eng().Apply(w.Context(), []jobhost.JobDef{d}); err != nil {
			w.Fatal(err)
		}
		err := w.eng().Serve(w.Context())
		is(w, "code", jobhost.CodeOf(err), jobhost.NotFoundPlugin)
		is(w, "state", w.eng().State(), Stopped)
	})

	eachStore(t, "S-175 a run whose start is committed is dispatched or Lost, and its slot does not fire again", func(w *world) {
		w.define(job("j", "cron 0 * * * *"))
		ctx, cancel := context.WithCancel(w.Context())
		w.store = &watched{w.store, cancel} // the stop comes with the claim's commit
		over := make(chan error, 1)
		w.until(hour)
		e := w.eng()
		w.engine.store = w.store
		w.aside.Go(func() { over <- e.Serve(ctx) })
		is(w, "error", <-over, nil)
		rs := w.runs("j")
		for _, r := range rs {
			is(w, "state", r.State, jobhost.RunSucceeded)
		}
		w.restart()
		w.poll()
		slots := map[time.Time]int{}
		for _, r := range w.runs("j") {
			slots[r.ScheduledAt]++
			is(w, "times fired", slots[r.ScheduledAt], 1)
		}
	})

	eachStore(t, "S-186 a sink that fails or panics changes nothing", func(w *world) {
		var mu sync.Mutex
		var topics []jobhost.Topic
		w.cfg.Sinks = []jobhost.EventSink{
			func(jobhost.Event) error { return errors.New("no") },
			func(jobhost.Event) error { panic("never") },
			func(e jobhost.Event) error {
				mu.Lock()
				defer mu.Unlock()
				topics = append(topics, e.Topic)
				return nil
			},
		}
		d := job("j", "once 2026-01-05T00:00:10Z")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: second}
		w.fails("j")
		stop := w.serve()
		w.define(d)
		w.until(20 * second)
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "j"}})
		w.eng().Resume(w.Context(), []jobhost.Target{{Job: "j"}})
		w.eng().Delete(w.Context(), []jobhost.Name{"j"})
		stop()
		want := []jobhost.Topic{
			jobhost.TopicJobScheduled, jobhost.TopicRunStarted, jobhost.TopicRunFailed, jobhost.TopicRunRetry, jobhost.TopicRunStarted,
			jobhost.TopicRunFailed, jobhost.TopicJobPaused, jobhost.TopicJobResumed, jobhost.TopicJobDeleted,
		}
		if !slices.Equal(topics, want) {
			w.Errorf("topics are\n%v, want\n%v", topics, want)
		}
	})

	eachStore(t, "S-187 without a sink nothing is published, and a late listener hears what comes", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		<-w.startManual("j")
		ctx, cancel := context.WithTimeout(w.Context(), minute)
		defer cancel()
		heard := make(chan []string, 1)
		w.aside.Go(func() {
			var all []string
			for e, err := range w.eng().Events(ctx) {
				all = append(all, fmt.Sprint(e.Topic, err))
			}
			heard <- all
		})
		synctest.Wait()
		<-w.startManual("j")
		time.Sleep(2 * minute)
		is(w, "heard", fmt.Sprint(<-heard), "[scheduling.run.started<nil> scheduling.run.succeeded<nil> context deadline exceeded]")
		stop()
	})

	eachStore(t, "an explanation names the first reason", func(w *world) {
		w.define(job("paused", "every 1h"), job("busy", "cron * * * * *"), job("over", "once 2026-01-04T00:00:00Z"), job("later", "every 1h"), jobhost.NewJob("bare", "p"))
		answer := func(name jobhost.Name) string {
			x, err := w.eng().Explain(w.Context(), name)
			if err != nil {
				w.Fatal(err)
			}
			if len(x.Triggers) == 0 {
				return x.Answer
			}
			return x.Triggers[0].Answer
		}
		is(w, "before the start", answer("later"), "the scheduler is not serving: it is Created")
		stop := w.serve()
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "paused", Reason: "moving house"}})
		w.takes("busy", hour)
		w.startManual("busy")
		w.until(61 * second)
		is(w, "paused", answer("paused"), "the job is paused: moving house")
		is(w, "over", answer("over"), "it has no next due and never fires again: its instant, 2026-01-04T00:00:00Z, was before it was defined")
		is(w, "later", answer("later"), "it is not due yet")
		is(w, "bare", answer("bare"), "it has no trigger, so it runs only on request")
		is(w, "busy", answer("busy"), fmt.Sprintf("run %s is in progress, and the job must not run concurrently", w.only("busy").ID))
		stop()
	})
}

// gate is a store that can be shut, so that whoever looks at it waits.
type gate struct {
	jobhost.Store

	mu   sync.Mutex
	wait chan struct{}
}

func (s *gate) shut() (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := make(chan struct{})
	s.wait = wait
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wait = nil
		close(wait)
	}
}

func (s *gate) View(ctx context.Context, f func(jobhost.Tx) error) error {
	s.mu.Lock()
	wait := s.wait
	s.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return s.Store.View(ctx, f)
}

// looks counts how often a store is looked at.
type looks struct {
	jobhost.Store

	n atomic.Int64
}

func (s *looks) View(ctx context.Context, f func(jobhost.Tx) error) error {
	s.n.Add(1)
	return s.Store.View(ctx, f)
}

// ready makes a plugin ready.
func (w *world) ready(key jobhost.Name) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.not[key] = readyPlugin
}

// FR-26: the wall clock is stepped under an engine that runs.
func TestClockSteps(t *testing.T) {
	stepped := func(name string, story func(w *world, step func(time.Duration))) {
		eachStore(t, name, func(w *world) {
			var offset atomic.Int64
			now := w.cfg.Now
			w.cfg.Now = func() time.Time { return now().Add(time.Duration(offset.Load())) }
			story(w, func(d time.Duration) {
				offset.Add(int64(d))
				time.Sleep(2 * w.cfg.PollInterval)
				synctest.Wait()
			})
		})
	}
	slots := func(w *world, name jobhost.Name) {
		w.Helper()
		seen := map[time.Time]bool{}
		for _, r := range w.runs(name) {
			if seen[r.ScheduledAt] {
				w.Errorf("%q fired twice at %v", name, r.ScheduledAt)
			}
			seen[r.ScheduledAt] = true
		}
	}

	stepped("FR-26 an hour forward is judged by the misfire policy", func(w *world, step func(time.Duration)) {
		skips := job("skips", "cron */10 * * * *")
		skips.Triggers[0].Misfire = jobhost.MisfireSkip
		w.define(job("once", "cron */10 * * * *"), skips)
		stop := w.serve()
		time.Sleep(5 * minute)
		step(hour)
		is(w, "runs of once", len(w.runs("once")), 1)
		is(w, "runs of skips", len(w.runs("skips")), 0)
		w.waits("once", 70*minute)
		stop()
	})

	stepped("FR-26 an hour back fires no slot twice and silences no interval", func(w *world, step func(time.Duration)) {
		counted := &looks{Store: w.store}
		w.store = counted
		w.define(job("cron", "cron */10 * * * *"), job("every", "every 10m"))
		stop := w.serve()
		time.Sleep(65 * minute)
		n := len(w.runs("every"))
		before := counted.n.Load()
		step(-hour)
		time.Sleep(15 * minute)
		if len(w.runs("every")) != n+1 {
			w.Errorf("%d runs of the interval in 15 minutes, want 1", len(w.runs("every"))-n)
		}
		time.Sleep(60 * minute)
		slots(w, "cron")
		if n := counted.n.Load() - before; n > 6*75*60 {
			w.Errorf("%d looks at the store in 75 minutes", n)
		}
		stop()
	})

	stepped("FR-26 a year forward and back", func(w *world, step func(time.Duration)) {
		const year = 365 * 24 * hour
		w.define(job("cron", "cron 0 * * * *"), job("every", "every 1h"))
		stop := w.serve()
		time.Sleep(90 * minute)
		step(year)
		time.Sleep(2 * hour)
		forward := len(w.runs("every"))
		step(-year)
		time.Sleep(3 * hour)
		slots(w, "cron")
		if got := len(w.runs("every")) - forward; got < 2 {
			w.Errorf("%d runs of the interval in three hours after the step back", got)
		}
		stop()
	})

	eachStore(t, "FR-26 a process that slept through the night", func(w *world) {
		gated := &gate{Store: w.store}
		w.store = gated
		w.define(job("j", "cron 0 * * * *"))
		stop := w.serve()
		w.until(30 * minute)
		open := gated.shut() // nothing turns, as in a suspended process
		w.until(9*hour + 30*minute)
		open()
		w.until(9*hour + 31*minute)
		isAt(w, "the make-up", w.only("j").ScheduledAt, 9*hour+30*minute)
		w.waits("j", 10*hour)
		stop()
	})
}
