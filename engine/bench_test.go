//go:build unix

package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/memstore"
)

var benchStores = []struct {
	name string
	open func(b *testing.B) jobhost.Store
}{
	{"memory", func(*testing.B) jobhost.Store { return memstore.New(memstore.Config{}) }},
	{"bolt", func(b *testing.B) jobhost.Store {
		b.Helper()
		s, err := boltstore.Open(filepath.Join(b.TempDir(), "jobhost.db"), boltstore.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}},
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func schedule(b *testing.B, e *Engine, defs []jobhost.JobDef) {
	b.Helper()
	for _, r := range e.Schedule(b.Context(), defs) {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func onceAt(i int, at time.Time) jobhost.JobDef {
	return jobhost.NewJob(fmt.Sprintf("job-%06d", i), "p", jobhost.NewTrigger("t", "once "+at.UTC().Format(time.RFC3339Nano)))
}

// BenchmarkFirings counts firings that are due at one instant, end to end: claimed, started, run, recorded. 1,000 slots,
// batches of 1,000.
func BenchmarkFirings(b *testing.B) {
	const n = 10_000
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			var took, used time.Duration
			for b.Loop() {
				b.StopTimer()
				cfg := Defaults()
				cfg.MaxConcurrentRuns, cfg.AcquireBatchSize = 1000, 1000
				e, err := New(s.open(b), native(func(jobhost.Call) {}), cfg)
				if err != nil {
					b.Fatal(err)
				}
				defs := make([]jobhost.JobDef, n)
				due := time.Now().Add(-time.Second)
				for i := range defs {
					defs[i] = onceAt(i, due)
				}
				schedule(b, e, defs)
				ctx, cancel := context.WithCancel(b.Context())
				b.StartTimer()
				began, cpuBegan := time.Now(), cpu()
				var serving sync.WaitGroup
				serving.Go(func() { _ = e.Serve(ctx) })
				for ended := 0; ended < n; {
					time.Sleep(5 * time.Millisecond)
					ended, _ = e.CountRuns(ctx, jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunSucceeded}})
				}
				took, used = took+time.Since(began), used+cpu()-cpuBegan
				b.StopTimer()
				cancel()
				serving.Wait()
				b.StartTimer()
			}
			all := float64(b.N) * n
			b.ReportMetric(all/took.Seconds(), "firings/s")
			b.ReportMetric(float64(used.Microseconds())/all, "cpu-µs/firing")
		})
	}
}

// BenchmarkLateness takes the time from the due instant to the first statement of the job, for 1,000 once triggers
// 10.007 ms apart.
func BenchmarkLateness(b *testing.B) {
	const n, apart = 1000, 10_007 * time.Microsecond
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				var mu sync.Mutex
				var late []time.Duration
				all := make(chan struct{})
				runner := native(func(c jobhost.Call) {
					l := time.Since(c.Run.ScheduledAt)
					mu.Lock()
					defer mu.Unlock()
					if late = append(late, l); len(late) == n {
						close(all)
					}
				})
				e, err := New(s.open(b), runner, Defaults())
				if err != nil {
					b.Fatal(err)
				}
				defs := make([]jobhost.JobDef, n)
				first := time.Now().Add(2 * time.Second)
				for i := range defs {
					defs[i] = onceAt(i, first.Add(time.Duration(i)*apart))
				}
				schedule(b, e, defs)
				ctx, cancel := context.WithCancel(b.Context())
				var serving sync.WaitGroup
				serving.Go(func() { _ = e.Serve(ctx) })
				<-all
				cancel()
				serving.Wait()
				slices.Sort(late)
				b.ReportMetric(ms(late[n/2]), "p50-ms")
				b.ReportMetric(ms(late[n*99/100]), "p99-ms")
				b.ReportMetric(ms(late[n-1]), "max-ms")
			}
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkTrigger takes the time from a Trigger call until the run's end is on record.
func BenchmarkTrigger(b *testing.B) {
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			e, err := New(s.open(b), native(func(jobhost.Call) {}), Defaults())
			if err != nil {
				b.Fatal(err)
			}
			schedule(b, e, []jobhost.JobDef{jobhost.NewJob("j", "p")})
			ctx, cancel := context.WithCancel(b.Context())
			var serving sync.WaitGroup
			serving.Go(func() { _ = e.Serve(ctx) })
			for e.State() != Serving {
				time.Sleep(time.Millisecond)
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := jobhost.One(e.Trigger(ctx, []jobhost.TriggerRequest{{Job: "j"}})); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			cancel()
			serving.Wait()
			slices.Sort(took)
			b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
			b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
		})
	}
}

// BenchmarkRegister defines 10,000 jobs with a cron trigger each, and then starts on a store that holds them.
func BenchmarkRegister(b *testing.B) {
	const n = 10_000
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			var start time.Duration
			for b.Loop() {
				store := s.open(b)
				defs := make([]jobhost.JobDef, n)
				for i := range defs {
					defs[i] = jobhost.NewJob(fmt.Sprintf("job-%06d", i), "p", jobhost.NewTrigger("t", fmt.Sprintf("cron %d %d 1 1 *", i%60, i/60%24)))
				}
				e, err := New(store, native(func(jobhost.Call) {}), Defaults())
				if err != nil {
					b.Fatal(err)
				}
				schedule(b, e, defs)
				again, err := New(store, native(func(jobhost.Call) {}), Defaults())
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if err := again.PollOnce(b.Context()); err != nil {
					b.Fatal(err)
				}
				start += time.Since(began)
			}
			b.ReportMetric(ms(start)/float64(b.N), "start-ms")
		})
	}
}

// BenchmarkIdle takes the share of a core that an engine uses while 100,000 triggers wait.
func BenchmarkIdle(b *testing.B) {
	const n, idle = 100_000, 10 * time.Second
	for _, s := range benchStores {
		b.Run(s.name, func(b *testing.B) {
			e, err := New(s.open(b), native(func(jobhost.Call) {}), Defaults())
			if err != nil {
				b.Fatal(err)
			}
			defs := make([]jobhost.JobDef, n)
			for i := range defs {
				defs[i] = jobhost.NewJob(fmt.Sprintf("job-%06d", i), "p", jobhost.NewTrigger("t", fmt.Sprintf("cron %d %d 1 1 *", i%60, i/60%24)))
			}
			schedule(b, e, defs)
			ctx, cancel := context.WithCancel(b.Context())
			var serving sync.WaitGroup
			serving.Go(func() { _ = e.Serve(ctx) })
			for b.Loop() {
				debug.FreeOSMemory()        // what the definitions left is not to be given back meanwhile
				time.Sleep(3 * time.Second) // the start
				before := cpu()
				time.Sleep(idle)
				b.ReportMetric(100*float64(cpu()-before)/float64(idle), "%core")
			}
			cancel()
			serving.Wait()
		})
	}
}
