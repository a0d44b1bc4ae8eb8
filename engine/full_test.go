package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
)

// fill is a story on a store in a file that a chatty job has filled, and whose history is not old enough to go.
func fill(t *testing.T, story func(w *world, noisy jobhost.JobDef, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobhost.db")
		open := func() *boltstore.Store {
			s, err := boltstore.Open(path, boltstore.Config{MaxSize: 4 << 20})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		store := open()
		w := newWorld(t, store)
		w.reopen = func() jobhost.Store {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store = open()
			return store
		}
		t.Cleanup(func() { _ = store.Close() })
		w.cfg.Log = nil
		noisy := job("noisy", "cron * * * * * *")
		w.does("noisy", func(_ context.Context, c jobhost.Call) jobhost.Outcome {
			for i := range 3000 {
				c.Sink.Log(0, fmt.Sprintf("%d %s", i, strings.Repeat("x", 60)))
			}
			return jobhost.Outcome{}
		})
		w.applies(noisy, job("other", "cron 0 0 * * * *"))
		stop := w.serve()
		w.until(5*minute + second/2)
		is(w, "what is wrong", jobhost.CodeOf(w.eng().Problem()), jobhost.StoreFull)
		story(w, noisy, stop)
		w.end()
	})
}

func (w *world) applies(defs ...jobhost.JobDef) {
	w.Helper()
	if err := w.eng().Apply(w.Context(), defs); err != nil {
		w.Fatal(err)
	}
}

// goesOn checks that a job fires again within ten seconds.
func (w *world) goesOn(name jobhost.Name) {
	w.Helper()
	from := w.cfg.Now()
	w.until(from.Sub(t0) + 10*second)
	rs := w.runs(name)
	if len(rs) == 0 || rs[len(rs)-1].StartedAt.Before(from) {
		w.Errorf("job %q does not fire again: %d runs; %v", name, len(rs), w.eng().Problem())
	}
}

func TestAFullStoreCanBeMadeToFit(t *testing.T) {
	other := job("other", "cron 0 0 * * * *")

	t.Run("keeping less history is taken from the files, and makes room at once", func(t *testing.T) {
		fill(t, func(w *world, noisy jobhost.JobDef, stop func()) {
			noisy.HistoryLimit = 2
			w.applies(noisy, other)
			w.goesOn("noisy")
			w.until(7 * minute)
			is(w, "what is wrong", w.eng().Problem(), nil)
			stop()
		})
	})

	t.Run("a job is paused, and another still runs", func(t *testing.T) {
		fill(t, func(w *world, _ jobhost.JobDef, stop func()) {
			is(w, "pause", w.eng().Pause(w.Context(), []jobhost.Target{{Job: "noisy", Reason: "too loud"}})[0].Err, nil)
			is(w, "resume", w.eng().Resume(w.Context(), []jobhost.Target{{Job: "noisy"}})[0].Err, nil)
			stop()
		})
	})

	t.Run("a job that is deleted takes its history with it", func(t *testing.T) {
		fill(t, func(w *world, _ jobhost.JobDef, stop func()) {
			is(w, "delete", w.eng().Delete(w.Context(), []jobhost.Name{"noisy"})[0].Err, nil)
			w.until(6 * minute)
			is(w, "runs of the deleted job", len(w.runs("noisy")), 0)
			w.define(job("third", "cron * * * * * *"))
			w.goesOn("third")
			stop()
		})
	})

	t.Run("what makes room is not refused along with what needs it", func(t *testing.T) {
		fill(t, func(w *world, _ jobhost.JobDef, stop func()) {
			var enqueued error
			over := make(chan struct{})
			go func() {
				defer close(over)
				enqueued = w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "other"}})[0].Err
			}()
			synctest.Wait()
			is(w, "pause", w.eng().Pause(w.Context(), []jobhost.Target{{Job: "noisy"}})[0].Err, nil)
			<-over
			is(w, "enqueue", jobhost.CodeOf(enqueued), jobhost.StoreFull)
			stop()
		})
	})

	t.Run("those who ask do not wait for each other", func(t *testing.T) {
		fill(t, func(w *world, _ jobhost.JobDef, stop func()) {
			began := w.cfg.Now()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					err := w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "other"}})[0].Err
					is(w, "enqueue", jobhost.CodeOf(err), jobhost.StoreFull)
				})
			}
			all.Wait()
			if took := w.cfg.Now().Sub(began); took > 2*w.cfg.PollInterval {
				w.Errorf("20 requests took %v, want at most two poll intervals", took)
			}
			stop()
		})
	})

	t.Run("a start on a full store takes less history from the files, and serves", func(t *testing.T) {
		fill(t, func(w *world, noisy jobhost.JobDef, stop func()) {
			stop()
			w.restart()
			noisy.HistoryLimit = 2
			w.applies(noisy, other, job("new", "cron * * * * * *"))
			stop = w.serve()
			w.goesOn("new")
			is(w, "applied", w.eng().Applied(), true)
			w.goesOn("noisy")
			stop()
		})
	})

	t.Run("a start on a full store whose files name a new job waits for room, and takes what makes it", func(t *testing.T) {
		fill(t, func(w *world, noisy jobhost.JobDef, stop func()) {
			stop()
			w.restart()
			w.applies(noisy, other, job("new", "cron * * * * * *"))
			stop = w.serve()
			w.until(6 * minute)
			is(w, "applied", w.eng().Applied(), false)
			is(w, "what is wrong", jobhost.CodeOf(w.eng().Problem()), jobhost.StoreFull)
			noisy.HistoryLimit = 2
			w.applies(noisy, other, job("new", "cron * * * * * *"))
			w.goesOn("new")
			is(w, "applied", w.eng().Applied(), true)
			stop()
		})
	})
}

// TestAnExclusiveJobThatHasFilledTheStore has one run in progress and as many behind it as fit, each with 20 kB of data.
func TestAnExclusiveJobThatHasFilledTheStore(t *testing.T) {
	queueUp := func(t *testing.T, name string, story func(w *world)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "jobhost.db")
				store, err := boltstore.Open(path, boltstore.Config{MaxSize: 4 << 20})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, store)
				w.cfg.Log = nil
				t.Cleanup(func() { _ = store.Close() })
				w.forever("large")
				large := jobhost.NewJob("large", "p")
				large.HistoryLimit = 5
				w.define(large, jobhost.NewJob("other", "p"))
				ctx, kill := context.WithCancel(w.Context())
				e := w.eng()
				w.aside.Go(func() { _ = e.Serve(ctx) })
				w.startManual("large")
				data := fmt.Appendf(nil, `{"pad":%q}`, strings.Repeat("x", 20_000))
				n := 0
				for ; jobhost.CodeOf(e.Problem()) != jobhost.StoreFull; n++ {
					if _, err := jobhost.One(e.Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "large", Data: data}})); err != nil {
						is(w, "error", jobhost.CodeOf(err), jobhost.StoreFull)
						break
					}
				}
				if n < 50 {
					w.Fatalf("%d runs fit, want more", n)
				}
				w.until(minute)
				story(w)
				kill()
				w.end()
			})
		})
	}
	nothingWaits := func(w *world) {
		w.Helper()
		waiting, err := w.eng().Runs(w.Context(), jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunPending}})
		is(w, "error", err, nil)
		is(w, "runs that wait", len(waiting), 0)
		_, err = jobhost.One(w.eng().Enqueue(w.Context(), []jobhost.EnqueueRequest{{Job: "other"}}))
		is(w, "error", err, nil)
	}

	queueUp(t, "makes room when it is deleted", func(w *world) {
		is(w, "delete", w.eng().Delete(w.Context(), []jobhost.Name{"large"})[0].Err, nil)
		w.until(3 * minute)
		nothingWaits(w)
	})
}
