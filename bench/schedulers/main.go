//go:build unix

// Command schedulers measures jobhost beside other schedulers for Go and prints a table for each measure. Each figure is
// the median over several processes of their own, in turns, so that all schedulers meet the same disturbances. PostgreSQL
// and Redis are started for those that need them, anew for each process; without them their schedulers are left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
	"github.com/jobhost/jobhost/bench/internal/server"
)

// order is what one process measures.
type order struct {
	Peer    string
	Measure string
	Options options
	Server  *server.Server // that the scheduler needs
}

// options are the sizes of the measures.
type options struct {
	Jobs     int           // due at one instant
	Triggers int           // of the exclusive job
	Starts   int           // whose lateness is taken
	Idle     time.Duration // over which idle CPU is taken
	Dkron    string        // its program
}

func main() { child.Main(measureOne, run) }

func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("schedulers", flag.ContinueOnError)
	names := flags.String("peers", "", "schedulers to measure, with commas; all if empty: "+strings.Join(peerNames(), ","))
	which := flags.String("measures", "", "measures, with commas; all if empty: "+strings.Join(measureNames(), ","))
	runs := flags.Int("runs", 3, "processes for each figure, of which the median is shown")
	limit := flags.Duration("limit", 5*time.Minute, "longest time of one process")
	var o options
	flags.IntVar(&o.Jobs, "jobs", 10_000, "jobs that are due at one instant")
	flags.IntVar(&o.Triggers, "triggers", 1000, "triggers of the exclusive job")
	flags.IntVar(&o.Starts, "starts", 1000, "starts whose lateness is taken")
	flags.DurationVar(&o.Idle, "idle", 10*time.Second, "time over which idle CPU is taken")
	flags.StringVar(&o.Dkron, "dkron", "", "the program of Dkron, which is left out without one")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if o.Dkron != "" {
		program, err := filepath.Abs(o.Dkron) // it is started in another folder
		if err != nil {
			return err
		}
		o.Dkron = program
	}
	chosen, err := choose(peers, *names, func(p peer) string { return p.name })
	if err != nil {
		return err
	}
	measures, err := choose(measures, *which, func(m measure) string { return m.name })
	if err != nil {
		return err
	}
	for _, m := range measures {
		rows := make([]report.Row, len(chosen))
		values := make([][]report.Values, len(chosen))
		for i, p := range chosen {
			rows[i].Name = p.name
		}
		for range *runs {
			for i, p := range chosen {
				if rows[i].Note != "" {
					continue
				}
				v, err := one(ctx, p, m, o, *limit)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					rows[i].Note = firstLine(err)
					continue
				}
				values[i] = append(values[i], v)
			}
		}
		for i := range rows {
			rows[i].Values = report.Median(values[i])
		}
		if err := report.Table(w, m.title(o), m.columns, rows); err != nil {
			return err
		}
	}
	return nil
}

// one measures one scheduler once, with a server of its own.
func one(ctx context.Context, p peer, m measure, o options, limit time.Duration) (_ report.Values, err error) {
	s, err := p.start(o)
	if err != nil {
		return nil, fmt.Errorf("left out: %s", firstLine(err))
	}
	if s != nil {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	v, err := child.Run(ctx, limit, order{Peer: p.name, Measure: m.name, Options: o, Server: s})
	if skip, ok := errors.AsType[*child.SkipError](err); ok {
		return nil, fmt.Errorf("left out: %s", skip.Reason)
	}
	return v, err
}

// firstLine is as much of an error as fits into a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// measureOne measures in a process of its own.
func measureOne(o order) (_ report.Values, err error) {
	p := peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == o.Peer })]
	m := measures[slices.IndexFunc(measures, func(m measure) bool { return m.name == o.Measure })]
	s, err := p.open(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return m.take(s, p, o.Options)
}

func peerNames() (names []string) {
	for _, p := range peers {
		names = append(names, p.name)
	}
	return names
}

func measureNames() (names []string) {
	for _, m := range measures {
		names = append(names, m.name)
	}
	return names
}

// choose returns the items that the list names, or all of them.
func choose[T any](all []T, list string, name func(T) string) (chosen []T, err error) {
	if list == "" {
		return all, nil
	}
	for n := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(t T) bool { return name(t) == n })
		if i < 0 {
			var names []string
			for _, t := range all {
				names = append(names, name(t))
			}
			return nil, fmt.Errorf("there is no %q; want some of %s", n, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
