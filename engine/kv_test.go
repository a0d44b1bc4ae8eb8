package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// within runs f as a run of a job that is there already, while the engine serves.
func (w *world) within(job jobhost.Name, f func(ctx context.Context, c jobhost.Call)) {
	w.Helper()
	w.does(job, func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
		f(ctx, c)
		return jobhost.Outcome{}
	})
	r := <-w.startManual(job)
	is(w, "error of the run", r.Err, nil)
	is(w, "state of the run", r.Value.State, jobhost.RunSucceeded)
}

// has checks one of a job's values; "(none)" stands for one that is not there.
func (w *world) has(ctx context.Context, kv jobhost.KV, key, want string) {
	w.Helper()
	v, ok, err := kv.Get(ctx, key)
	is(w, "error of Get", err, nil)
	if !ok {
		v = []byte("(none)")
	}
	is(w, fmt.Sprintf("value of %q", key), string(v), want)
}

// sets stores a value and fails the story if that fails.
func (w *world) sets(ctx context.Context, kv jobhost.KV, key, value string) {
	w.Helper()
	if err := kv.Set(ctx, key, []byte(value)); err != nil {
		w.Errorf("Set %q: %v", key, err)
	}
}

// refuses checks that a write fails with an error.
func (w *world) refuses(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("the write answers %v, want %v", err, want)
	}
}

func TestValues(t *testing.T) {
	eachStore(t, "values survive attempts and restarts, and are the job's own", func(w *world) {
		d := jobhost.NewJob("j", "p")
		d.Retry = &jobhost.RetryPolicy{MaxRetries: 1, Delay: second}
		w.define(d, jobhost.NewJob("j.k", "p"))
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			if c.Run.Attempt == 1 {
				w.sets(ctx, c.KV, "at", "half")
				return jobhost.Outcome{Code: "E_BROKEN"}
			}
			w.has(ctx, c.KV, "at", "half")
			w.sets(ctx, c.KV, "at", "done")
			w.sets(ctx, c.KV, "", "empty key")
			w.sets(ctx, c.KV, "empty", "")
			w.sets(ctx, c.KV, "\x00\xff/../", "odd")
			return jobhost.Outcome{}
		})
		stop := w.serve()
		<-w.startManual("j")
		w.until(5 * second)
		stop()
		if w.reopen != nil {
			w.restart()
		} else {
			w.engine = nil
		}
		stop = w.serve()
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			w.has(ctx, c.KV, "at", "done")
			w.has(ctx, c.KV, "", "empty key")
			w.has(ctx, c.KV, "empty", "")
			w.has(ctx, c.KV, "\x00\xff/../", "odd")
			keys, err := c.KV.Keys(ctx, "")
			is(w, "error of Keys", err, nil)
			is(w, "keys", fmt.Sprintf("%q", keys), `["" "\x00\xff/../" "at" "empty"]`)
			keys, err = c.KV.Keys(ctx, "a")
			is(w, "error of Keys", err, nil)
			is(w, "keys with a", fmt.Sprint(keys), "[at]")
			is(w, "error of Delete", c.KV.Delete(ctx, "at"), nil)
			is(w, "error of Delete of what is not there", c.KV.Delete(ctx, "at"), nil)
			w.has(ctx, c.KV, "at", "(none)")
		})
		w.within("j.k", func(ctx context.Context, c jobhost.Call) {
			keys, err := c.KV.Keys(ctx, "")
			is(w, "error of Keys", err, nil)
			is(w, "keys of another job", len(keys), 0)
		})
		stop()
	})

	eachStore(t, "no key of a run reaches the engine's own values", func(w *world) {
		w.cfg.Leader = memstore.NewElection()
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		w.until(second)
		own := func() (text string) {
			w.view(func(tx jobhost.Tx) error {
				v, _, err := tx.Value("", ledUntilKey)
				text = string(v)
				return err
			})
			return text
		}
		before := own()
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			for _, key := range []string{ledUntilKey, "\x00" + ledUntilKey, "/" + ledUntilKey, "../" + ledUntilKey} {
				w.has(ctx, c.KV, key, "(none)")
				w.sets(ctx, c.KV, key, "mine")
				is(w, "error of Delete", c.KV.Delete(ctx, key), nil)
			}
			keys, err := c.KV.Keys(ctx, "")
			is(w, "error of Keys", err, nil)
			is(w, "keys", len(keys), 0)
		})
		is(w, "the engine's own value", own(), before)
		if before == "" {
			w.Error("the engine has stored nothing of its own")
		}
		stop()
	})

	eachStore(t, "the limit is exact at the byte, and what is deleted makes room", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		full := strings.Repeat("x", abi.MaxValue)
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			size := 0
			for i := range abi.MaxValues/abi.MaxValue - 1 {
				key := fmt.Sprintf("k%02d", i)
				w.sets(ctx, c.KV, key, full)
				size += len(key) + len(full)
			}
			rest := abi.MaxValues - size - len("last")
			w.refuses(c.KV.Set(ctx, "last", []byte(full[:rest+1])), jobhost.ErrFull)
			w.has(ctx, c.KV, "last", "(none)")
			w.sets(ctx, c.KV, "last", full[:rest])
			w.refuses(c.KV.Set(ctx, "", []byte("x")), jobhost.ErrFull)
			w.refuses(c.KV.Set(ctx, "k", nil), jobhost.ErrFull)
			w.sets(ctx, c.KV, "", "") // nothing needs no room
			w.sets(ctx, c.KV, "k00", full[:len(full)-2])
			w.sets(ctx, c.KV, "k", "y")
			w.refuses(c.KV.Set(ctx, "z", nil), jobhost.ErrFull)
		})
		stop()
		if w.reopen != nil {
			w.restart()
		} else {
			w.engine = nil
		}
		stop = w.serve()
		w.within("j", func(ctx context.Context, c jobhost.Call) { // counted anew
			w.refuses(c.KV.Set(ctx, "z", nil), jobhost.ErrFull)
			is(w, "error of Delete", c.KV.Delete(ctx, "k"), nil)
			w.sets(ctx, c.KV, "z", "2")
			w.refuses(c.KV.Set(ctx, "y", nil), jobhost.ErrFull)
			is(w, "error of Delete", c.KV.Delete(ctx, "k07"), nil)
			w.sets(ctx, c.KV, "k07", full)
			w.refuses(c.KV.Set(ctx, "y", nil), jobhost.ErrFull)
			for _, err := range []error{
				c.KV.Set(ctx, strings.Repeat("k", abi.MaxKey+1), nil),
				c.KV.Set(ctx, "k00", make([]byte, abi.MaxValue+1)),
			} {
				is(w, "code", jobhost.CodeOf(err), jobhost.InvalidDefinition)
			}
		})
		stop()
	})

	eachStore(t, "a run that is over reads and does not write", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		var old jobhost.KV
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			old = c.KV
			w.sets(ctx, old, "k", "1")
		})
		w.refuses(old.Set(w.Context(), "k", []byte("2")), jobhost.ErrRunOver)
		w.refuses(old.Delete(w.Context(), "k"), jobhost.ErrRunOver)
		w.has(w.Context(), old, "k", "1")
		stop()
		w.refuses(old.Set(w.Context(), "k", []byte("3")), errStopped)
	})

	eachStore(t, "a run whose job is deleted has nothing to write to", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			w.sets(ctx, c.KV, "k", strings.Repeat("x", abi.MaxValue))
			is(w, "error of Delete", w.eng().Delete(ctx, []jobhost.Name{"j"})[0].Err, nil)
			w.has(ctx, c.KV, "k", "(none)")
			w.refuses(c.KV.Set(ctx, "k", nil), jobhost.ErrRunOver)
			w.refuses(c.KV.Delete(ctx, "k"), jobhost.ErrRunOver)
		})
		w.define(jobhost.NewJob("j", "p"))
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			keys, err := c.KV.Keys(ctx, "")
			is(w, "error of Keys", err, nil)
			is(w, "keys of a job of the same name", len(keys), 0)
			for i := range abi.MaxValues/abi.MaxValue - 1 { // all the room is its own
				w.sets(ctx, c.KV, strconv.Itoa(i), strings.Repeat("y", abi.MaxValue))
			}
		})
		stop()
	})

	eachStore(t, "a local job has its values under its name", func(w *world) {
		d := jobhost.NewJob("j", "p")
		d.RunOnEveryInstance = true
		w.define(d)
		stop := w.serve()
		w.within("j", func(ctx context.Context, c jobhost.Call) { w.sets(ctx, c.KV, "k", "v") })
		w.within("j", func(ctx context.Context, c jobhost.Call) { w.has(ctx, c.KV, "k", "v") })
		stop()
	})

	eachStore(t, "a run that is asked to stop can still keep its place", func(w *world) {
		w.define(jobhost.NewJob("j", "p"))
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			<-c.Stop
			w.sets(ctx, c.KV, "at", "7")
			return jobhost.Outcome{Code: jobhost.Canceled}
		})
		stop := w.serve()
		w.startManual("j")
		w.eng().StopNow()
		stop()
		is(w, "state", w.only("j").State, jobhost.RunCanceled)
		w.view(func(tx jobhost.Tx) error {
			v, _, err := tx.Value("j", "at")
			is(w, "value", string(v), "7")
			return err
		})
	})

	eachStore(t, "without a loop a run's writes are carried out all the same", func(w *world) {
		w.define(job("j", "once 2026-01-05T00:00:00Z"))
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			w.sets(ctx, c.KV, "k", "v")
			w.has(ctx, c.KV, "k", "v")
			return jobhost.Outcome{}
		})
		w.poll()
		is(w, "state", w.only("j").State, jobhost.RunSucceeded)
	})

	onCluster(t, "a run that was declared lost does not write, its recovery does", 2, func(ws []*world) {
		a, b := ws[0], ws[1]
		stop := serveAll(ws)
		a.define(recovered("j", "cron 0 0 1 * * *"))
		late := make(chan error, 1)
		a.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			a.sets(ctx, c.KV, "at", "1")
			time.Sleep(10 * minute) // frozen
			late <- c.KV.Set(context.WithoutCancel(ctx), "at", []byte("2"))
			return jobhost.Outcome{}
		})
		b.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			b.has(ctx, c.KV, "at", "1")
			b.sets(ctx, c.KV, "at", "recovered")
			return jobhost.Outcome{}
		})
		a.startManual("j")
		a.until(second)
		a.cutOff(true)
		b.until(9 * minute)
		is(b, "state", b.runs("j")[0].State, jobhost.RunLost)
		a.cutOff(false)
		a.refuses(<-late, jobhost.ErrRunOver)
		b.view(func(tx jobhost.Tx) error {
			v, _, err := tx.Value("j", "at")
			is(b, "value", string(v), "recovered")
			return err
		})
		stop()
	})
}

// writesRefused is a store that has no room for values.
type writesRefused struct{ jobhost.Store }

type writesRefusedTx struct {
	jobhost.Tx
	refused *bool
}

func (s writesRefused) Update(ctx context.Context, f func(jobhost.Tx) error) error {
	return s.Store.Update(ctx, func(tx jobhost.Tx) error {
		refused := false
		if err := f(writesRefusedTx{tx, &refused}); err != nil || !refused {
			return err
		}
		return &jobhost.Error{Code: jobhost.StoreFull, Op: "test", Msg: "no space left"}
	})
}

func (t writesRefusedTx) PutValue(job jobhost.Name, key string, value []byte) error {
	*t.refused = *t.refused || job != ""
	return t.Tx.PutValue(job, key, value)
}

func TestValuesAndFaults(t *testing.T) {
	eachStore(t, "a crash before the commit keeps the old value, one after it the new", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.cfg.NodeTimeout, w.cfg.HousekeepingInterval = 240*hour, 240*hour
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		gone := func() error { return &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "test", Msg: "gone"} }
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			w.sets(ctx, c.KV, "k", "old")
			s.set(func(jobhost.Tx) error { return gone() }, nil)
			is(w, "code", jobhost.CodeOf(c.KV.Set(ctx, "k", []byte("lost"))), jobhost.StoreUnreachable)
			s.set(nil, nil)
			w.has(ctx, c.KV, "k", "old")
			s.set(nil, gone)
			is(w, "code", jobhost.CodeOf(c.KV.Set(ctx, "k", []byte("new"))), jobhost.StoreUnreachable)
			s.set(nil, nil)
			w.has(ctx, c.KV, "k", "new")
			w.sets(ctx, c.KV, "k", "again")
			w.has(ctx, c.KV, "k", "again")
		})
		stop()
	})

	eachStore(t, "an unknown outcome does not lose count of the bytes", func(w *world) {
		s := &faulty{Store: w.store}
		w.store = s
		w.cfg.NodeTimeout, w.cfg.HousekeepingInterval = 240*hour, 240*hour
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		half := make([]byte, abi.MaxValue)
		w.within("j", func(ctx context.Context, c jobhost.Call) {
			for i := range abi.MaxValues / abi.MaxValue {
				s.set(nil, func() error { return errors.New("connection lost after the commit") })
				_ = c.KV.Set(ctx, fmt.Sprintf("%02d", i), half[:abi.MaxValue-2])
				s.set(nil, nil)
			}
			w.refuses(c.KV.Set(ctx, "k", nil), jobhost.ErrFull)
		})
		stop()
	})

	eachStore(t, "writes of many runs at once share their commits and are all there", func(w *world) {
		s := &faulty{Store: jobtest.Slow(w.store, 10*time.Millisecond)}
		w.store = s
		w.cfg.MaxConcurrentRuns = 100
		const runs, writes = 50, 20
		d := jobhost.NewJob("j", "p")
		d.AllowConcurrent = true
		w.define(d)
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			for i := range writes {
				w.sets(ctx, c.KV, fmt.Sprintf("%s %d", c.Run.ID, i), "x")
				w.sets(ctx, c.KV, "shared", string(c.Run.ID))
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.until(second) // it serves by then: who asks before that turns by himself, and the loop waits for him with a mutex
		before := s.tried
		reqs := make([]jobhost.TriggerRequest, runs)
		for i := range reqs {
			reqs[i].Job = "j"
		}
		for _, r := range w.eng().Trigger(w.Context(), reqs) {
			is(w, "error", r.Err, nil)
		}
		if n := s.tried - before; n > 6*writes {
			w.Errorf("%d commits for %d writes by %d runs at once", n, 2*runs*writes, runs)
		}
		w.view(func(tx jobhost.Tx) error {
			keys, _, err := tx.ValueKeys("j", "")
			is(w, "keys", len(keys), runs*writes+1)
			return err
		})
		stop()
	})

	eachStore(t, "two runs at once cannot pass the limit together", func(w *world) {
		d := jobhost.NewJob("j", "p")
		d.AllowConcurrent = true
		w.define(d)
		full := make([]byte, abi.MaxValue)
		refused := make(chan error, 64)
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			for i := range abi.MaxValues / abi.MaxValue {
				if err := c.KV.Set(ctx, fmt.Sprintf("%s%d", c.Run.ID, i), full); err != nil {
					refused <- err
				}
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.eng().Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}, {Job: "j"}})
		const fit = abi.MaxValues/abi.MaxValue - 1
		is(w, "refused", len(refused), 2*(fit+1)-fit)
		for range len(refused) {
			w.refuses(<-refused, jobhost.ErrFull)
		}
		w.view(func(tx jobhost.Tx) error {
			_, size, err := tx.ValueKeys("j", "")
			if size > abi.MaxValues {
				w.Errorf("the values have %d bytes", size)
			}
			return err
		})
		stop()
	})

	eachStore(t, "the end of the run's context ends the waiting", func(w *world) {
		w.store = jobtest.Slow(w.store, 3*second)
		d := jobhost.NewJob("j", "p")
		d.Timeout = second
		w.define(d)
		var took time.Duration
		var waited, refused error
		w.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			began := time.Now()
			waited = c.KV.Set(ctx, "k", nil)
			took = time.Since(began)
			refused = c.KV.Delete(ctx, "k")
			return jobhost.Outcome{}
		})
		stop := w.serve()
		r := <-w.startManual("j")
		is(w, "code of the run", r.Value.ErrorCode, jobhost.TimedOut)
		is(w, "took", took, second)
		is(w, "code", jobhost.CodeOf(waited), jobhost.TimedOut)
		is(w, "code", jobhost.CodeOf(refused), jobhost.TimedOut)
		stop()
	})

	eachStore(t, "S-105 a run that fills a full store keeps no outcome from being stored", func(w *world) {
		w.store = writesRefused{w.store}
		w.define(jobhost.NewJob("greedy", "p"), job("j", "cron */10 * * * * *"))
		var mu sync.Mutex
		told := map[jobhost.Code]bool{}
		w.does("greedy", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			for ctx.Err() == nil {
				err := c.KV.Set(ctx, "k", nil)
				mu.Lock()
				told[jobhost.CodeOf(err)] = true
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
			return jobhost.Outcome{}
		})
		stop := w.serve()
		w.startManual("greedy")
		w.until(minute + 5*second)
		ended := slices.DeleteFunc(w.runs("j"), func(r jobhost.Run) bool { return r.State != jobhost.RunSucceeded })
		if len(ended) < 4 {
			w.Errorf("%d of 6 firings are on record as ended", len(ended))
		}
		mu.Lock()
		is(w, "what the greedy run is told", fmt.Sprint(told), "map["+string(jobhost.StoreFull)+":true]")
		mu.Unlock()
		w.eng().StopNow()
		stop()
	})
}
