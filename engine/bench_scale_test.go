//go:build unix

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/jobtest"
)

// manyJobs are jobs with a cron trigger each, none of which is due while a benchmark runs.
func manyJobs(n int) []jobhost.JobDef {
	next := time.Now().UTC().AddDate(0, 0, 2)
	defs := make([]jobhost.JobDef, n)
	for i := range defs {
		text := fmt.Sprintf("cron %d %d %d %d *", i%60, i/60%24, next.Day(), next.Month())
		defs[i] = jobhost.NewJob(fmt.Sprintf("idle-%06d", i), "p", jobhost.NewTrigger("t", text))
	}
	return defs
}

// scheduleAll defines jobs a part at a time, so that a commit stays short.
func scheduleAll(b *testing.B, s jobhost.Store, defs []jobhost.JobDef) {
	b.Helper()
	e, err := New(s, native(func(jobhost.Call) {}), Defaults())
	if err != nil {
		b.Fatal(err)
	}
	for part := range slices.Chunk(defs, 1000) {
		schedule(b, e, part)
	}
}

// wide has room for a thousand runs at once.
func wide() Config {
	cfg := Defaults()
	cfg.MaxConcurrentRuns, cfg.AcquireBatchSize = 1000, 1000
	return cfg
}

// begin serves in the background until the returned function is called.
func begin(b *testing.B, e *Engine) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := e.Serve(ctx); err != nil {
			b.Error(err)
		}
	})
	return func() {
		cancel()
		serving.Wait()
	}
}

func awaitServing(e *Engine) {
	for e.State() != Serving {
		time.Sleep(100 * time.Microsecond)
	}
}

// gathering collects what runs say about themselves until there are n of it.
type gathering struct {
	mu  sync.Mutex
	got []time.Duration
	all chan struct{}
	n   int
}

func gather(n int) *gathering { return &gathering{n: n, all: make(chan struct{})} }

func (g *gathering) add(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.got = append(g.got, d); len(g.got) == g.n {
		close(g.all)
	}
}

func (g *gathering) report(b *testing.B) {
	b.Helper()
	slices.Sort(g.got)
	b.ReportMetric(ms(g.got[g.n/2]), "p50-ms")
	b.ReportMetric(ms(g.got[g.n*99/100]), "p99-ms")
	b.ReportMetric(ms(g.got[g.n-1]), "max-ms")
}

// BenchmarkExclusiveBacklog fires 1,000 triggers of one exclusive job that are due at one instant: each waits for the end of
// the one before it.
func BenchmarkExclusiveBacklog(b *testing.B) {
	const n = 1000
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				g := gather(n)
				e, err := New(s.open(b), native(func(jobhost.Call) { g.add(0) }), Defaults())
				if err != nil {
					b.Fatal(err)
				}
				d := jobhost.NewJob("j", "p")
				due := time.Now().UTC().Truncate(time.Second)
				for i := range n {
					d.Triggers = append(d.Triggers, jobhost.NewTrigger(fmt.Sprintf("t%04d", i), "once "+due.Format(time.RFC3339)))
				}
				schedule(b, e, []jobhost.JobDef{d})
				began := time.Now()
				stop := begin(b, e)
				<-g.all
				b.ReportMetric(n/time.Since(began).Seconds(), "firings/s")
				stop()
			}
		})
	}
}

// BenchmarkLatenessAmongMany is BenchmarkLateness with 100,000 other jobs in the store.
func BenchmarkLatenessAmongMany(b *testing.B) {
	const n, others, apart = 1000, 100_000, 10_007 * time.Microsecond
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			store := s.open(b)
			scheduleAll(b, store, manyJobs(others))
			for b.Loop() {
				g := gather(n)
				e, err := New(store, native(func(c jobhost.Call) { g.add(time.Since(c.Run.ScheduledAt)) }), Defaults())
				if err != nil {
					b.Fatal(err)
				}
				stop := begin(b, e)
				awaitServing(e)
				first := time.Now().Add(2 * time.Second)
				defs := make([]jobhost.JobDef, n)
				for i := range defs {
					defs[i] = onceAt(i, first.Add(time.Duration(i)*apart))
				}
				schedule(b, e, defs)
				<-g.all
				stop()
				g.report(b)
			}
		})
	}
}

// BenchmarkSameMinute takes the time from the due instant until the last of 10,000 jobs has started: with the default
// options, and with 1,000 slots and batches of 1,000.
func BenchmarkSameMinute(b *testing.B) {
	const n = 10_000
	for _, s := range benchStores {
		for name, cfg := range map[string]Config{"default": Defaults(), "wide": wide()} {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					g := gather(n)
					e, err := New(s.open(b), native(func(c jobhost.Call) { g.add(time.Since(c.Run.ScheduledAt)) }), cfg)
					if err != nil {
						b.Fatal(err)
					}
					due := time.Now().Add(3 * time.Second)
					defs := make([]jobhost.JobDef, n)
					for i := range defs {
						defs[i] = onceAt(i, due)
					}
					for part := range slices.Chunk(defs, 1000) {
						schedule(b, e, part)
					}
					stop := begin(b, e)
					<-g.all
					stop()
					slices.Sort(g.got)
					b.ReportMetric(ms(g.got[0]), "first-ms")
					b.ReportMetric(ms(g.got[n-1]), "last-ms")
				}
			})
		}
	}
}

// BenchmarkFiringsOnASlowDisk is BenchmarkFirings over a bolt file whose commits take 5 ms longer.
func BenchmarkFiringsOnASlowDisk(b *testing.B) {
	const n = 10_000
	bolt := benchStores[1]
	for b.Loop() {
		g := gather(n)
		e, err := New(jobtest.Slow(bolt.open(b), 5*time.Millisecond), native(func(jobhost.Call) { g.add(0) }), wide())
		if err != nil {
			b.Fatal(err)
		}
		defs := make([]jobhost.JobDef, n)
		due := time.Now().Add(-time.Second)
		for i := range defs {
			defs[i] = onceAt(i, due)
		}
		for part := range slices.Chunk(defs, 1000) {
			schedule(b, e, part)
		}
		began := time.Now()
		stop := begin(b, e)
		<-g.all
		for {
			done, err := e.CountRuns(b.Context(), jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunSucceeded}})
			if err != nil {
				b.Fatal(err)
			}
			if done == n {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		b.ReportMetric(n/time.Since(began).Seconds(), "firings/s")
		stop()
	}
}

// BenchmarkTriggerStart takes the time from a Trigger call until the job's first statement, beside that of a commit of the
// same store, which changes one value. p99-commits is the one's p99 in those of the other.
func BenchmarkTriggerStart(b *testing.B) {
	bolt := benchStores[1]
	for _, s := range []struct {
		name string
		open func(b *testing.B) jobhost.Store
		n    int
	}{
		{"bolt", bolt.open, 2000},
		{"bolt, 5 ms slower", func(b *testing.B) jobhost.Store { b.Helper(); return jobtest.Slow(bolt.open(b), 5*time.Millisecond) }, 400},
	} {
		b.Run(s.name, func(b *testing.B) {
			store := s.open(b)
			started := make(chan time.Time, 1)
			e, err := New(store, native(func(jobhost.Call) { started <- time.Now() }), Defaults())
			if err != nil {
				b.Fatal(err)
			}
			schedule(b, e, []jobhost.JobDef{jobhost.NewJob("j", "p")})
			stop := begin(b, e)
			awaitServing(e)
			for b.Loop() {
				var commits, starts []time.Duration
				for i := range s.n { // in turns, so that both meet the same disturbances
					began := time.Now()
					if err := store.Update(b.Context(), func(tx jobhost.Tx) error { return tx.PutValue("", "bench", fmt.Append(nil, i)) }); err != nil {
						b.Fatal(err)
					}
					commits = append(commits, time.Since(began))
					began = time.Now()
					if _, err := jobhost.One(e.Trigger(b.Context(), []jobhost.TriggerRequest{{Job: "j"}})); err != nil {
						b.Fatal(err)
					}
					starts = append(starts, (<-started).Sub(began))
				}
				slices.Sort(commits)
				slices.Sort(starts)
				p99 := func(d []time.Duration) time.Duration { return d[len(d)*99/100] }
				b.ReportMetric(ms(commits[s.n/2]), "commit-p50-ms")
				b.ReportMetric(ms(p99(commits)), "commit-p99-ms")
				b.ReportMetric(ms(starts[s.n/2]), "start-p50-ms")
				b.ReportMetric(ms(p99(starts)), "start-p99-ms")
				b.ReportMetric(p99(starts).Seconds()/p99(commits).Seconds(), "p99-commits")
			}
			stop()
		})
	}
}

// BenchmarkLoad starts on a bolt file with 100,000 jobs: the time until it serves, until it has fired a trigger that was
// due, and what is on the heap afterwards for each trigger that waits.
func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	file := filepath.Join(b.TempDir(), "jobhost.db")
	open := func() *boltstore.Store {
		s, err := boltstore.Open(file, boltstore.Config{})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := open()
	scheduleAll(b, s, manyJobs(n))
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	if info, err := os.Stat(file); err == nil {
		b.ReportMetric(float64(info.Size())/n, "file-B/trigger")
	}
	for b.Loop() {
		before := heap()
		began := time.Now()
		s := open()
		fired := gather(1)
		e, err := New(s, native(func(jobhost.Call) { fired.add(0) }), Defaults())
		if err != nil {
			b.Fatal(err)
		}
		stop := begin(b, e)
		awaitServing(e)
		serving := time.Since(began)
		schedule(b, e, []jobhost.JobDef{onceAt(0, time.Now())})
		<-fired.all
		first := time.Since(began)
		time.Sleep(2 * time.Second)
		used := heap() - before
		stop()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(ms(serving), "serving-ms")
		b.ReportMetric(ms(first), "fired-ms")
		b.ReportMetric(float64(used)/n, "heap-B/trigger")
	}
}

// heap is how many bytes live on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
