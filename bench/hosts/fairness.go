//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/jobhost/jobhost"

	"github.com/jobhost/jobhost/bench/internal/report"
)

// fairness takes how late a no-op job starts, in the host and in the guest's own first statement, and how long it takes,
// each second, beside guests that compute.
var fairness = measure{
	name: "fair",
	title: func(o options) string {
		return fmt.Sprintf("a no-op job each second for %v, beside %d computing guests", o.Ticks, o.Guests)
	},
	columns: []report.Column{
		{Key: "p50", Title: "start p50 ms"},
		{Key: "p99", Title: "p99"},
		{Key: "max", Title: "max"},
		{Key: "guest p50", Title: "in the guest p50 ms"},
		{Key: "guest p99", Title: "p99"},
		{Key: "run p50", Title: "run p50 ms"},
		{Key: "run p99", Title: "p99"},
		{Key: "starts", Title: "starts"},
	},
	cases: []string{"alone", "beside them"},
	take: func(ctx context.Context, o order) (_ report.Values, err error) {
		var mu sync.Mutex
		var late, inside, took []float64
		watch := func(next jobhost.RunFunc) jobhost.RunFunc {
			return func(ctx context.Context, call jobhost.Call) jobhost.Outcome {
				began := time.Now()
				out := next(ctx, call)
				if call.Run.Job == "noop" {
					mu.Lock()
					defer mu.Unlock()
					late = append(late, ms(began.Sub(call.Run.ScheduledAt)))
					if at, err := saidNow(out.Output); err == nil {
						inside = append(inside, ms(at.Sub(call.Run.ScheduledAt)))
					}
					took = append(took, ms(time.Since(began)))
				}
				return out
			}
		}
		guest := o.Options.CFile
		if guest == "" {
			guest = o.Options.GoFile
		}
		n, err := newNode(ctx, o, guest, o.Options.Guests+8, watch)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.close(ctx)) }()
		if o.Case != "alone" {
			if err := n.compute(ctx, o.Options.Guests); err != nil {
				return nil, err
			}
		}
		noop, err := job("noop", "now", 0, jobhost.NewTrigger("t", "cron * * * * * *"))
		if err != nil {
			return nil, err
		}
		if err := n.define(ctx, noop); err != nil {
			return nil, err
		}
		time.Sleep(o.Options.Ticks)
		mu.Lock()
		defer mu.Unlock()
		if len(inside) == 0 {
			return nil, errors.New("the no-op job did not run well")
		}
		return report.Values{
			"p50": report.Quantile(late, 0.5), "p99": report.Quantile(late, 0.99), "max": report.Quantile(late, 1),
			"guest p50": report.Quantile(inside, 0.5), "guest p99": report.Quantile(inside, 0.99),
			"run p50": report.Quantile(took, 0.5), "run p99": report.Quantile(took, 0.99), "starts": float64(len(late)),
		}, nil
	},
}

// saidNow reads the time that a guest answered with.
func saidNow(output []byte) (time.Time, error) {
	var answer struct {
		Result int64 `json:"result,string"`
	}
	err := json.Unmarshal(output, &answer)
	return time.UnixMicro(answer.Result), err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// collecting takes how long a garbage collection of the host takes beside one guest that computes.
var collecting = measure{
	name:    "gc",
	title:   func(o options) string { return fmt.Sprintf("%d garbage collections of the host", o.Collects) },
	columns: []report.Column{{Key: "p50", Title: "p50 ms"}, {Key: "p99", Title: "p99 ms"}, {Key: "max", Title: "max ms"}},
	cases:   []string{"idle", "one computing guest", "all computing guests"},
	take: func(ctx context.Context, o order) (_ report.Values, err error) {
		guest := o.Options.CFile
		if guest == "" {
			guest = o.Options.GoFile
		}
		n, err := newNode(ctx, o, guest, o.Options.Guests+8)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.close(ctx)) }()
		computing := map[string]int{"idle": 0, "one computing guest": 1, "all computing guests": o.Options.Guests}[o.Case]
		if err := n.compute(ctx, computing); err != nil {
			return nil, err
		}
		var took []float64
		for range o.Options.Collects {
			began := time.Now()
			runtime.GC()
			took = append(took, ms(time.Since(began)))
			time.Sleep(5 * time.Millisecond)
		}
		return report.Values{"p50": report.Quantile(took, 0.5), "p99": report.Quantile(took, 0.99), "max": report.Quantile(took, 1)}, nil
	},
}
