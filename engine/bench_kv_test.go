//go:build unix

package engine

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// keeper is a runner whose runs store values until told to end.
type keeper struct {
	native

	left    *atomic.Int64 // writes to do
	failure chan error    // of size one
}

func (k keeper) Run(ctx context.Context, c jobhost.Call) jobhost.Outcome {
	value := make([]byte, 100)
	for i := 0; k.left.Add(-1) >= 0; i++ {
		if err := c.KV.Set(ctx, strconv.Itoa(i%10), value); err != nil {
			select {
			case k.failure <- err:
			default: // one is enough
			}
			return jobhost.Outcome{Code: "E_KV"}
		}
	}
	return jobhost.Outcome{}
}

// BenchmarkValues counts durable writes of 100 bytes by one run, and by 50 runs at once.
func BenchmarkValues(b *testing.B) {
	for _, s := range benchStores {
		for _, runs := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/runs=%d", s.name, runs), func(b *testing.B) {
				k := keeper{left: new(atomic.Int64), failure: make(chan error, 1)}
				e, err := New(s.open(b), k, Defaults())
				if err != nil {
					b.Fatal(err)
				}
				d := jobhost.NewJob("j", "p")
				d.AllowConcurrent = true
				schedule(b, e, []jobhost.JobDef{d})
				ctx, cancel := context.WithCancel(b.Context())
				var serving sync.WaitGroup
				serving.Go(func() { _ = e.Serve(ctx) })
				for e.State() != Serving {
					time.Sleep(time.Millisecond)
				}
				const writes = 1000
				reqs := make([]jobhost.TriggerRequest, runs)
				for i := range reqs {
					reqs[i].Job = "j"
				}
				for b.Loop() {
					k.left.Store(writes)
					e.Trigger(ctx, reqs)
				}
				cancel()
				serving.Wait()
				select {
				case err := <-k.failure:
					b.Fatal(err)
				default:
				}
				b.ReportMetric(writes*float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			})
		}
	}
}
