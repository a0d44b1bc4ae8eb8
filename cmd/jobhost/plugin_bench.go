package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// benchReport is what jobhost plugin bench found. Times are in milliseconds.
type benchReport struct {
	File        string       `json:"file"`
	Runs        int          `json:"runs"`
	Failed      int          `json:"failed"`
	Failure     string       `json:"failure,omitempty"` // the first one
	Load        float64      `json:"loadMs"`            // from the file to compiled code, or from the cache
	First       float64      `json:"firstMs"`           // the first run, which is none of the others
	Run         distribution `json:"run"`
	Instantiate distribution `json:"instantiate"` // the part of it that makes an instance of the module
	Fuel        leastAndMost `json:"fuel"`
	Memory      leastAndMost `json:"peakMemory"` // bytes
}

// distribution is how long things took.
type distribution struct {
	Mean float64 `json:"meanMs"`
	P50  float64 `json:"p50Ms"`
	P90  float64 `json:"p90Ms"`
	P99  float64 `json:"p99Ms"`
	Max  float64 `json:"maxMs"`
}

type leastAndMost struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
}

func (c *cli) pluginBench() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use: "bench <file.wasm>", Annotations: alsoExits("3 no such file"), Short: "Run a plugin many times and say how long it takes", Args: takes(1, 1, "one file"),
		Long: `Run a plugin many times, one run after the other, as "jobhost exec" runs it once, and say how long a run takes, what of it
is making an instance of the module, and what fuel and memory it uses. The first run is told apart. Output and log are
thrown away. The exit code is 1 when a run failed.`,
		Example: `  jobhost plugin bench plugins/hello.wasm
  jobhost plugin bench plugins/csv-report.wasm -n 1000 --data @order.json --dir ./in:/in:ro -o json | jq .run.p99Ms`,
	}
	t.flags(cmd)
	form := format(cmd)
	n := cmd.Flags().IntP("runs", "n", 100, "how many runs")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if t.file = args[0]; *n < 1 || *n > 1_000_000 {
			return usage("--runs is %d; want 1 to 1000000", *n)
		}
		r, err := c.bench(t, *n)
		if err != nil {
			return err
		}
		if *form == asJSON {
			err = c.writeJSON(r)
		} else {
			err = c.describeBench(r)
		}
		if err == nil && r.Failed > 0 {
			return exit{exitFailed, fmt.Errorf("%d of %d runs failed, the first one: %s", r.Failed, r.Runs, r.Failure)}
		}
		return err
	}
	return cmd
}

// bench runs a plugin n times and once more before.
func (c *cli) bench(t trial, n int) (r benchReport, err error) {
	call, cfg, err := c.prepare(&t)
	if err != nil {
		return r, err
	}
	call.Sink = nil
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // as in a host
	ctx := context.Background()
	h, err := host.New(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer h.Close(ctx) //nolint:errcheck // the process ends
	began := time.Now()
	if _, err := h.Load(ctx, call.Plugin, t.file); err != nil {
		return r, absent(exit{exitFailed, err})
	}
	r = benchReport{File: t.file, Load: milliseconds(time.Since(began))}
	out := interruptible(func(ctx context.Context, stop <-chan struct{}) jobhost.Outcome {
		call.Stop = stop
		return r.measure(ctx, h, call, t.timeout, n)
	})
	if out.Code == jobhost.Canceled {
		return r, exit{exitFailed, fmt.Errorf("interrupted after %d runs", r.Runs)}
	}
	return r, nil
}

// measure makes the runs and the instances, and returns the last outcome.
func (r *benchReport) measure(ctx context.Context, h *host.Host, call jobhost.Call, limit time.Duration, n int) (out jobhost.Outcome) {
	runs, instances := make([]time.Duration, 0, n), make([]time.Duration, 0, n)
	for i := range n + 1 {
		call := call
		if limit > 0 {
			call.Deadline = time.Now().Add(limit)
		}
		began := time.Now()
		out = h.Run(ctx, call)
		took := time.Since(began)
		if out.Code == jobhost.Canceled {
			break
		}
		if i == 0 {
			r.First = milliseconds(took)
			r.Fuel, r.Memory = leastAndMost{out.Fuel, out.Fuel}, leastAndMost{out.PeakMemory, out.PeakMemory}
			continue
		}
		runs = append(runs, took)
		r.count(out)
		began = time.Now()
		if h.Instantiate(ctx, call) == nil {
			instances = append(instances, time.Since(began))
		}
	}
	r.Run, r.Instantiate = distributionOf(runs), distributionOf(instances)
	return out
}

func (r *benchReport) count(out jobhost.Outcome) {
	r.Runs++
	if out.Code != "" {
		if r.Failed++; r.Failed == 1 {
			r.Failure = fmt.Sprintf("%s (%s)", oneLine(out.Message), out.Code)
		}
	}
	r.Fuel = leastAndMost{min(r.Fuel.Least, out.Fuel), max(r.Fuel.Most, out.Fuel)}
	r.Memory = leastAndMost{min(r.Memory.Least, out.PeakMemory), max(r.Memory.Most, out.PeakMemory)}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// distributionOf sorts what it is given.
func distributionOf(took []time.Duration) (d distribution) {
	if len(took) == 0 {
		return d
	}
	slices.Sort(took)
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	// The least time that so many percent of all are not above.
	percentile := func(p int) float64 { return milliseconds(took[(len(took)*p+99)/100-1]) }
	return distribution{
		Mean: milliseconds(sum / time.Duration(len(took))), P50: percentile(50), P90: percentile(90), P99: percentile(99), Max: milliseconds(took[len(took)-1]),
	}
}

func (c *cli) describeBench(r benchReport) error {
	took := func(d distribution) string {
		return fmt.Sprintf("p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, most %.3f ms, mean %.3f ms", d.P50, d.P90, d.P99, d.Max, d.Mean)
	}
	between := func(l leastAndMost, show func(uint64) string) string {
		if l.Least == l.Most {
			return show(l.Least)
		}
		return show(l.Least) + " to " + show(l.Most)
	}
	return c.pairs("File", r.File, "Runs", strconv.Itoa(r.Runs), "Failed", strconv.Itoa(r.Failed),
		"Load", fmt.Sprintf("%.3f ms", r.Load), "First run", fmt.Sprintf("%.3f ms", r.First), "Run", took(r.Run), "Instantiate", took(r.Instantiate),
		"Fuel", between(r.Fuel, func(n uint64) string { return strconv.FormatUint(n, 10) }), "Peak memory", between(r.Memory, mebibytes))
}
