package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// faulty is a store whose Updates fail as a test says.
type faulty struct {
	jobhost.Store

	mu     sync.Mutex
	before func(jobhost.Tx) error // in the transaction, which fails with its error
	after  func() error           // after the commit, whose outcome is then unknown
	tried  int
}

func (s *faulty) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.tried++
	s.mu.Unlock()
	err := s.Store.Update(ctx, func(tx jobhost.Tx) error {
		if err := f(tx); err != nil || before == nil {
			return err
		}
		return before(tx)
	})
	if err == nil && after != nil {
		return after()
	}
	return err
}

func (s *faulty) set(before func(jobhost.Tx) error, after func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// poisoned is a store that cannot keep an output of "poison".
type poisoned struct{ jobhost.Store }

type poisonedTx struct{ jobhost.Tx }

func (s poisoned) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	return s.Store.Update(ctx, func(tx jobhost.Tx) error { return f(poisonedTx{tx}) })
}

func (t poisonedTx) PutOutput(id jobhost.RunID, out []byte) error {
	if string(out) == "poison" {
		return errors.New("this output cannot be stored")
	}
	return t.Tx.PutOutput(id, out)
}

func TestTurnsThatFail(t *testing.T) {
	unreachable := func(jobhost.Tx) error {
		return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "gone"}
	}

	eachStore(t, "S-188 a store that is unreachable for a while delays, and nothing more", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(job("j", "cron 0 * * * *"))
		stop := w.serve()
		w.until(hour - second)
		s.set(unreachable, nil)
		w.until(hour + 10*second)
		is(w, "runs", len(w.runs("j")), 0)
		s.set(nil, nil)
		w.until(hour + 12*second)
		isAt(w, "scheduledAt", w.only("j").ScheduledAt, hour)
		stop()
	})

	eachStore(t, "S-189 an outcome waits for the store, its slot does not", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(job("j", "cron 0 * * * *"))
		w.takes("j", 10*second)
		stop := w.serve()
		w.until(hour + second)
		s.set(unreachable, nil)
		w.until(hour + 20*second)
		is(w, "running", w.eng().RunningCount(), 0)
		is(w, "state", w.only("j").State, jobhost.RunRunning)
		_, err := jobhost.One(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}}))
		is(w, "code", jobhost.CodeOf(err), jobhost.StoreUnreachable)
		s.set(nil, nil)
		w.until(hour + 30*second)
		is(w, "state", w.only("j").State, jobhost.RunSucceeded)
		isAt(w, "ended", w.only("j").EndedAt, hour+10*second)
		stop()
	})

	eachStore(t, "S-175 what an unknown outcome has stored is run, once", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(job("j", "cron 0 * * * *"), job("i", "every 1h"), jobhost.NewJob("m", "p"))
		if _, err := jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "m", At: t0.Add(hour)}})); err != nil {
			w.Fatal(err)
		}
		stop := w.serve()
		var n atomic.Int64
		s.set(nil, func() error { // every other commit is not confirmed
			if n.Add(1)%2 == 1 {
				return errors.New("connection lost after the commit")
			}
			return nil
		})
		w.until(hour + 30*second)
		s.set(nil, nil)
		w.until(hour + 40*second)
		for _, name := range []string{"j", "i", "m"} {
			is(w, "state of "+name, w.only(name).State, jobhost.RunSucceeded)
		}
		is(w, "calls", len(w.calls), 3)
		w.waits("j", 2*hour)
		stop()
	})

	eachStore(t, "FR-54 while an outcome does not fit, requests are answered, and one that makes room is carried out", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(job("j", "cron 0 * * * *"), jobhost.NewJob("large", "p"), jobhost.NewJob("m", "p"))
		w.takes("j", 10*second)
		stop := w.serve()
		w.until(hour + second)
		s.set(func(tx jobhost.Tx) error {
			if large, err := tx.Jobs("large"); err != nil || len(large) == 0 {
				return err
			}
			return &jobhost.Error{Code: jobhost.StoreFull, Op: "test", Msg: "no space left"}
		}, nil)
		w.until(hour + 20*second)
		is(w, "state", w.only("j").State, jobhost.RunRunning)
		for range 3 {
			_, err := jobhost.One(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "m"}}))
			is(w, "code", jobhost.CodeOf(err), jobhost.StoreFull)
		}
		is(w, "deletion", w.eng().Delete(w.Context(), []jobhost.Name{"large"})[0].Err, nil)
		w.until(hour + 40*second)
		is(w, "state", w.only("j").State, jobhost.RunSucceeded)
		stop()
	})

	eachStore(t, "a run that is cancelled between its commit and its dispatch ends", func(w *world) {
		store, dispatch := &faulty{Store: w.store}, make(chan struct{})
		w.store = store
		w.cfg.CancelGrace = 0
		w.define(job("j", "once 2026-01-05T00:00:10Z"))
		w.takes("j", hour)
		stop := w.serve()
		store.set(nil, func() error { <-dispatch; return nil })
		w.until(10 * second)
		is(w, "dispatched", w.eng().RunningCount(), 0)
		answer := make(chan error, 1)
		id := w.only("j").ID
		w.aside.Go(func() { answer <- w.eng().CancelRuns(w.Context(), []jobhost.RunID{id})[0].Err })
		synctest.Wait()
		store.set(nil, nil)
		close(dispatch)
		is(w, "error", <-answer, nil)
		w.until(11 * second)
		is(w, "state", w.only("j").State, jobhost.RunCanceled)
		stop()
	})

	eachStore(t, "while an outcome cannot be stored at all, requests are refused and do not wait", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(job("j", "cron 0 * * * *"), jobhost.NewJob("m", "p"))
		w.takes("j", 10*second)
		stop := w.serve()
		w.until(hour + second)
		id := w.only("j").ID
		s.set(func(tx jobhost.Tx) error {
			if rs, err := tx.Runs(id); err != nil || rs[0].State == jobhost.RunRunning {
				return err
			}
			return errors.New("this record cannot be stored")
		}, nil)
		w.until(hour + 20*second)
		_, err := jobhost.One(w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "m"}}))
		is(w, "code", jobhost.CodeOf(err), jobhost.StoreUnreachable)
		s.set(nil, nil)
		w.until(hour + 30*second)
		is(w, "state", w.only("j").State, jobhost.RunFailed) // as its outcome is lost
		w.startManual("m")
		stop()
	})

	eachStore(t, "an outcome that cannot be stored harms no other", func(w *world) {
		w.store = poisoned{w.store}
		var defs []jobhost.JobDef
		for i := range 9 {
			defs = append(defs, job(fmt.Sprintf("j%d", i), "cron 0 * * * *"))
			w.does(defs[i].Name, func(_ context.Context, c jobhost.Call) jobhost.Outcome {
				if c.Run.Job == "j4" {
					return jobhost.Outcome{Output: []byte("poison")}
				}
				return jobhost.Outcome{Output: []byte("fine")}
			})
		}
		w.define(defs...)
		stop := w.serve()
		w.until(hour + 10*second)
		for _, d := range defs {
			r := w.only(d.Name)
			if d.Name == "j4" {
				is(w, "state", r.State, jobhost.RunFailed)
				is(w, "code", r.ErrorCode, jobhost.Unexpected)
				continue
			}
			is(w, "state", r.State, jobhost.RunSucceeded)
			out, err := w.eng().Output(w.Context(), r.ID)
			is(w, "output", string(out), "fine")
			is(w, "error", err, nil)
		}
		w.until(2*hour + second)
		is(w, "claims go on: runs", len(w.runs("j0")), 2)
		stop()
	})

	eachStore(t, "S-105 a full store claims nothing and loses nothing", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.cfg.NodeTimeout = 240 * hour
		w.define(job("j", "cron 0 * * * *"))
		stop := w.serve()
		s.set(func(jobhost.Tx) error {
			return &jobhost.Error{Code: jobhost.StoreFull, Op: "test", Msg: "no space left"}
		}, nil)
		w.until(hour + 10*second)
		is(w, "runs", len(w.runs("j")), 0)
		w.waits("j", hour)
		if s.tried > 3700 {
			w.Errorf("%d tries in an hour and ten seconds, want one in a poll interval", s.tried)
		}
		s.set(nil, nil)
		w.until(hour + 20*second)
		isAt(w, "scheduledAt", w.only("j").ScheduledAt, hour)
		stop()
	})

	eachStore(t, "the log is told of one trouble once a minute, and of its end", func(w *world) {
		s, log := &faulty{Store: w.store}, &strings.Builder{}
		w.store, w.cfg.Log = s, slog.New(slog.NewTextHandler(log, nil))
		w.cfg.NodeTimeout = 240 * hour
		w.define(job("j", "cron 0 * * * *"))
		stop := w.serve()
		w.until(hour - second/2)
		tries := 0
		s.set(func(jobhost.Tx) error {
			tries++
			return &jobhost.Error{Code: jobhost.StoreFull, Op: "test", Msg: fmt.Sprintf("%d bytes are missing", tries)}
		}, nil)
		w.until(hour + 10*minute + second/2)
		if failed, kept := strings.Count(log.String(), "a turn failed"), strings.Count(log.String(), "turns keep failing"); failed != 1 || kept != 10 {
			w.Errorf("told %d times that a turn failed, want once; %d times that turns keep failing, want 10 times", failed, kept)
		}
		s.set(unreachable, nil)
		w.until(hour + 11*minute)
		if got := strings.Count(log.String(), "gone"); got != 1 {
			w.Errorf("told %d times of another trouble, want once", got)
		}
		s.set(nil, nil)
		w.until(hour + 12*minute)
		if got := strings.Count(log.String(), "turns succeed again"); got != 1 {
			w.Errorf("told %d times of the end, want once\n%s", got, log)
		}
		stop()
	})

	eachStore(t, "the log is not told of a trouble each time that it comes back", func(w *world) {
		s, log := &faulty{Store: w.store}, &strings.Builder{}
		w.store, w.cfg.Log = s, slog.New(slog.NewTextHandler(log, nil))
		w.define(job("j", "cron * * * * * *"))
		stop := w.serve()
		w.until(minute)
		for i := range 120 {
			s.set(unreachable, nil)
			w.until(minute + time.Duration(2*i+1)*second + second/2)
			s.set(nil, nil)
			w.until(minute + time.Duration(2*i+2)*second + second/2)
			is(w, "problem", w.eng().Problem(), nil)
		}
		w.until(7 * minute)
		for text, most := range map[string]int{"a turn failed": 1, "turns keep failing": 4, "turns succeed again": 1} {
			if got := strings.Count(log.String(), text); got < 1 || got > most {
				w.Errorf("told %d times that %s, want 1 to %d times", got, text, most)
			}
		}
		stop()
	})

	eachStore(t, "a stop gives up on a store that stays away", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.define(jobhost.NewJob("j", "p"))
		w.takes("j", hour)
		ctx, cancel := context.WithCancel(w.Context())
		over := make(chan error, 1)
		e := w.eng()
		w.aside.Go(func() { over <- e.Serve(ctx) })
		w.startManual("j")
		s.set(unreachable, nil)
		cancel()
		is(w, "code", jobhost.CodeOf(<-over), jobhost.StoreUnreachable)
		if took := w.cfg.Now().Sub(t0); took < 27*second || took > 29*second {
			w.Errorf("the stop took %v, want shutdown_timeout, cancel_grace and 2s", took)
		}
	})

	eachStore(t, "an idle engine only reads", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.cfg.HousekeepingInterval, w.cfg.NodeTimeout = 24*hour, 240*hour
		w.not["q"] = readyPlugin
		d := job("held", "cron 0 * * * *")
		d.Plugin = "q"
		w.define(job("j", "cron 0 9 * * *"), d)
		stop := w.serve()
		w.until(minute)
		before := s.tried
		w.until(50 * minute)
		is(w, "commits", s.tried-before, 0)
		w.mu.Lock()
		w.not["q"] = "broken"
		w.mu.Unlock()
		w.until(2 * hour)
		if n := s.tried - before; n > 3 {
			w.Errorf("%d commits in an hour for a trigger that cannot start", n)
		}
		stop()
	})
}

func TestLogsAndOutputs(t *testing.T) {
	eachStore(t, "a log keeps its first and its last lines and marks what is missing", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		line := strings.Repeat("x", 1000)
		w.does("j", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			for i := range 1000 {
				c.Sink.Log(i%8, fmt.Sprintf("%d %s", i, line))
			}
			return jobhost.Outcome{Output: []byte("done")}
		})
		stop := w.serve()
		r := <-w.startManual("j")
		var got []jobhost.LogEntry
		for e, err := range w.eng().Log(w.Context(), r.Value.ID, jobhost.LogQuery{}) {
			is(w, "error", err, nil)
			got = append(got, e)
		}
		is(w, "first", strings.Fields(got[0].Msg)[0], "0")
		is(w, "last", strings.Fields(got[len(got)-1].Msg)[0], "999")
		size, gaps := 0, 0
		for i, e := range got {
			size += len(e.Msg)
			if strings.Contains(e.Msg, "missing") {
				gaps++
			} else if i > 0 && e.Seq != got[i-1].Seq+1 {
				w.Errorf("entry %d follows %d", e.Seq, got[i-1].Seq)
			}
		}
		is(w, "gaps", gaps, 1)
		if size > logHead+logTail || size < logTail {
			w.Errorf("%d bytes are kept", size)
		}
		out, err := w.eng().Output(w.Context(), r.Value.ID)
		is(w, "output", string(out), "done")
		is(w, "error", err, nil)
		stop()
	})

	eachStore(t, "what a run has said is stored while it goes on", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			c.Sink.Log(0, "early")
			<-ctx.Done()
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.startManual("j")
		w.until(10 * second)
		w.view(func(tx jobhost.Tx) error {
			chunks, err := tx.Log(w.only("j").ID)
			is(w, "chunks", len(chunks), 1)
			return err
		})
		stop()
	})
}

func TestHistory(t *testing.T) {
	eachStore(t, "S-185 FR-43 ended runs go by age and by count", func(w *world) {
		w.cfg.PollInterval, w.cfg.NodeTimeout = minute, 24*hour
		few := jobhost.NewJob("few", "p", jobhost.NewTrigger("t", "cron * * * * *"))
		few.HistoryLimit = 100
		all := jobhost.NewJob("all", "p", jobhost.NewTrigger("t", "cron 0 0 * * *"))
		all.HistoryLimit = 0
		w.define(few, all, jobhost.NewJob("long", "p"))
		w.takes("long", 10*24*hour)
		stop := w.serve()
		w.startManual("long")
		w.until(12 * hour)
		if n := len(w.runs("few")); n > 101 {
			w.Errorf("%d runs are kept, want 100", n)
		}
		w.eng().Pause(w.Context(), []jobhost.Target{{Job: "few"}})
		w.until(9*24*hour + hour)
		is(w, "days kept", len(w.runs("all")), 7)
		is(w, "the long one", w.only("long").State, jobhost.RunRunning)
		stop()
	})
}

func TestFileDefinitions(t *testing.T) {
	apply := func(w *world, defs ...jobhost.JobDef) {
		w.Helper()
		if w.eng().State() == Created {
			w.eng().set(Serving)
		}
		if err := w.eng().Apply(w.Context(), defs); err != nil {
			w.Fatal(err)
		}
	}
	source := func(w *world, name string) jobhost.Source {
		w.Helper()
		r := w.eng().Status(w.Context(), []jobhost.Name{name})[0]
		if r.Err != nil {
			w.Fatal(r.Err)
		}
		return r.Value.Source
	}
	eachStore(t, "S-176 an unchanged file job keeps its state over a restart", func(w *world) {
		apply(w, job("j", "every 1h"))
		w.until(30 * minute)
		w.restart()
		apply(w, job("j", "every 60m"))
		w.waits("j", hour)
		is(w, "source", source(w, "j"), jobhost.SourceFile)
	})
	eachStore(t, "S-177 S-178 an override lives as long as its file's definition", func(w *world) {
		apply(w, job("j", "every 1h"))
		w.define(job("j", "every 2h"))
		is(w, "source", source(w, "j"), jobhost.SourceOverridden)
		apply(w, job("j", "every 1h"))
		is(w, "source", source(w, "j"), jobhost.SourceOverridden)
		w.waits("j", 2*hour)
		apply(w, job("j", "every 3h"))
		is(w, "source", source(w, "j"), jobhost.SourceFile)
		w.waits("j", 3*hour)
		w.define(job("j", "every 5h"))
		w.define(job("j", "every 3h"))
		is(w, "source after the file's own definition", source(w, "j"), jobhost.SourceFile)
	})
	eachStore(t, "FR-48 a job that is in no file any more is removed, its history stays", func(w *world) {
		apply(w, job("j", "every 1h"), job("k", "every 1h"), job("o", "every 1h"))
		w.define(job("o", "every 2h"), job("r", "every 1h"))
		w.until(hour)
		w.poll()
		apply(w, job("k", "every 1h"))
		rs := w.eng().Status(w.Context(), nil)
		var names []string
		for _, r := range rs {
			names = append(names, r.Value.Name)
		}
		is(w, "jobs", fmt.Sprint(names), "[k o r]")
		is(w, "source", source(w, "o"), jobhost.SourceRuntime)
		w.only("j")
		apply(w)
		is(w, "FR-49 an empty set is fine: jobs", len(w.eng().Status(w.Context(), nil)), 2)
	})
	eachStore(t, "every problem of the definitions is reported and nothing is changed", func(w *world) {
		bad := job("bad name", "every 0s")
		none := job("none", "every 1h")
		none.Plugin = "q"
		err := w.eng().Apply(w.Context(), []jobhost.JobDef{job("j", "every 1h"), bad, none, job("j", "every 1h")})
		for _, want := range []string{`"bad name"`, `"every 0s"`, `plugin "q"`, `"j" is defined twice`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				w.Errorf("%v does not mention %s", err, want)
			}
		}
		is(w, "jobs", len(w.eng().Status(w.Context(), nil)), 0)
	})
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"node_id":               func(c *Config) { c.NodeID = strings.Repeat("n", 256) },
		"poll_interval":         func(c *Config) { c.PollInterval = 0 },
		"max_concurrent_runs":   func(c *Config) { c.MaxConcurrentRuns = 0 },
		"acquire_batch_size":    func(c *Config) { c.AcquireBatchSize = 0 },
		"misfire_threshold":     func(c *Config) { c.MisfireThreshold = -1 },
		"history_retention":     func(c *Config) { c.HistoryRetention = -1 },
		"housekeeping_interval": func(c *Config) { c.HousekeepingInterval = 0 },
		"shutdown_timeout":      func(c *Config) { c.ShutdownTimeout = -1 },
		"cancel_grace":          func(c *Config) { c.CancelGrace = -1 },
		"drain_delay":           func(c *Config) { c.DrainDelay = -1 },
	} {
		t.Run("S-193 "+name, func(t *testing.T) {
			cfg := Defaults()
			change(&cfg)
			if _, err := New(nil, native(nil), cfg); err == nil || !strings.Contains(err.Error(), name+" is ") {
				t.Errorf("the error is %v, want one that names %s", err, name)
			}
		})
	}
}
