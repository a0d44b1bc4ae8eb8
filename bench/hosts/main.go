//go:build unix

// Command hosts measures what jobhost itself promises: how fast it starts with many plugins, what a flood of log lines
// costs, and that computing guests disturb neither other jobs nor the host. It prints a table for each.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
)

// order is what one process measures.
type order struct {
	Measure string
	Case    string
	Options options
	Cache   string // a folder for compiled code, of the case
}

// options are the sizes of the measures.
type options struct {
	Plugins   int
	Lines     int
	Guests    int           // that compute
	Ticks     time.Duration // how long the starts of the no-op job are watched
	Collects  int           // collections that are timed
	Writes    int           // of durable values, in each run
	GoFile    string        // guests
	CFile     string
	ProfileIn string // a folder for processor profiles; empty: none
}

// measure is one thing that is taken, in cases that are the lines of its table: a
// case may find in the cache what those before it have left.
type measure struct {
	name    string
	title   func(o options) string
	columns []report.Column
	cases   []string
	take    func(ctx context.Context, o order) (report.Values, error)
}

var measures = []measure{starting, logging, fairness, collecting, keeping}

func main() { child.Main(takeOne, run) }

func run(ctx context.Context, w io.Writer, args []string) error {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	flags := flag.NewFlagSet("hosts", flag.ContinueOnError)
	which := flags.String("measures", strings.Join(names, ","), "measures, with commas")
	runs := flags.Int("runs", 3, "processes for each figure, of which the median is shown")
	var o options
	flags.IntVar(&o.Plugins, "plugins", 50, "plugins to start with")
	flags.IntVar(&o.Lines, "lines", 1_000_000, "lines of log")
	flags.IntVar(&o.Guests, "guests", 32, "guests that compute beside the no-op job")
	flags.DurationVar(&o.Ticks, "ticks", 100*time.Second, "how long the starts of the no-op job are watched")
	flags.IntVar(&o.Collects, "collects", 100, "garbage collections that are timed")
	flags.IntVar(&o.Writes, "writes", 2000, "durable values that are written, in all")
	flags.StringVar(&o.ProfileIn, "profiles", "", "a folder that takes a processor profile of each case")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if err := o.build(ctx); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*which, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("there is no measure %q; want some of %s", name, strings.Join(names, ", "))
		}
		rows, err := measures[i].rows(ctx, o, *runs)
		if err != nil {
			return err
		}
		if err := report.Table(w, measures[i].title(o), measures[i].columns, rows); err != nil {
			return err
		}
	}
	return nil
}

// rows takes each case in processes of its own, in turns.
func (m measure) rows(ctx context.Context, o options, runs int) ([]report.Row, error) {
	rows := make([]report.Row, len(m.cases))
	values := make([][]report.Values, len(m.cases))
	for range runs {
		cache, err := os.MkdirTemp("", "bench-") // of one turn: what the first case leaves the second finds
		if err != nil {
			return nil, err
		}
		for i, c := range m.cases {
			rows[i].Name = c
			v, err := child.Run(ctx, 10*time.Minute, order{Measure: m.name, Case: c, Options: o, Cache: cache})
			if ctx.Err() != nil {
				return nil, errors.Join(context.Cause(ctx), os.RemoveAll(cache))
			}
			if err != nil {
				rows[i].Note, _, _ = strings.Cut(err.Error(), "\n")
				continue
			}
			values[i] = append(values[i], v)
		}
		if err := os.RemoveAll(cache); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		rows[i].Values = report.Median(values[i])
	}
	return rows, nil
}

// takeOne measures in a process of its own.
func takeOne(o order) (report.Values, error) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // as jobhost's command does
	m := measures[slices.IndexFunc(measures, func(m measure) bool { return m.name == o.Measure })]
	if o.Options.ProfileIn != "" {
		f, err := os.CreateTemp(o.Options.ProfileIn, m.name+"-"+strings.ReplaceAll(o.Case, " ", "-")+"-*.prof")
		if err != nil {
			return nil, err
		}
		stop, err := child.Profile(f)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	return m.take(context.Background(), o)
}
