//go:build unix

// Command compare runs the same guests in jobhost, in plain wazero and in Extism, and prints what an isolated run costs
// and what metering costs. Each figure is the median over processes of their own, in turns.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost/bench/guests"
	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
	"github.com/jobhost/jobhost/bench/internal/usage"
)

// order is what one process measures.
type order struct {
	Subject string
	File    string
	Input   string
	Cache   string
	Least   int           // runs
	For     time.Duration // how long runs are repeated
	Profile string        // where the processor profile goes; empty: none is taken
}

func main() { child.Main(take, run) }

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	c := &comparison{out: w}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	tables := flags.String("tables", "isolated,work", "tables to print, with commas")
	languages := flags.String("languages", "go,c,rust,assemblyscript,spin,fib", "guests, with commas; spin and fib compute only")
	flags.IntVar(&c.runs, "runs", 5, "processes for each figure, of which the median is shown")
	flags.DurationVar(&c.lasts, "for", time.Second, "how long a process repeats its run")
	flags.StringVar(&c.profiles, "profiles", "", "a folder that takes a processor profile of each")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	c.languages = strings.Split(*languages, ",")
	if c.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	for table := range strings.SplitSeq(*tables, ",") {
		switch table {
		case "isolated":
			err = c.isolated(ctx)
		case "work":
			err = c.work(ctx)
		default:
			err = fmt.Errorf("there is no table %q; want isolated or work", table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// comparison is one call of the command.
type comparison struct {
	out       io.Writer
	dir       string // for compiled code
	languages []string
	runs      int
	lasts     time.Duration
	profiles  string
}

// take measures in a process of its own.
func take(o order) (_ report.Values, err error) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // as jobhost's command does
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == o.Subject })]
	l, err := s.load(ctx, o.File, o.Cache)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	input := []byte(o.Input)
	first, err := l.run(ctx, input) // what only the first run pays is not taken
	if err != nil {
		return nil, err
	}
	if o.Profile != "" {
		f, err := os.Create(o.Profile)
		if err != nil {
			return nil, err
		}
		stop, err := child.Profile(f)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, began, cpu := 0, time.Now(), usage.Self.CPU()
	for ; n < o.Least || time.Since(began) < o.For; n++ {
		if _, err := l.run(ctx, input); err != nil {
			return nil, err
		}
	}
	wall, used := time.Since(began), usage.Self.CPU()-cpu
	runtime.ReadMemStats(&after)
	sum := sha256.Sum256(first)
	return report.Values{
		"cpu":    float64(used.Nanoseconds()) / 1000 / float64(n), // µs
		"wall":   float64(wall.Nanoseconds()) / 1000 / float64(n),
		"heap":   float64(after.TotalAlloc-before.TotalAlloc) / 1024 / float64(n), // KiB
		"answer": float64(binary.BigEndian.Uint32(sum[:])),
	}, nil
}

// figures measures a guest in each of the subjects, in turns. All have to give the same answer.
func (c *comparison) figures(ctx context.Context, g guests.Guest, input string, names ...string) (map[string]report.Values, error) {
	file, err := g.Build(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string][]report.Values{}
	for range c.runs {
		for _, name := range names {
			cache := filepath.Join(c.dir, name)
			if err := os.MkdirAll(cache, 0o700); err != nil {
				return nil, err
			}
			o := order{Subject: name, File: file, Input: input, Cache: cache, Least: 2, For: c.lasts}
			if c.profiles != "" {
				o.Profile = filepath.Join(c.profiles, fmt.Sprintf("%s-%s-%x.prof", g.Name, name, sha256.Sum256([]byte(input))))
			}
			v, err := child.Run(ctx, limit, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all[name] = append(all[name], v)
		}
	}
	medians := map[string]report.Values{}
	for name, vs := range all {
		medians[name] = report.Median(vs)
	}
	for _, name := range names[1:] {
		if medians[name]["answer"] != medians[names[0]]["answer"] {
			return nil, fmt.Errorf("%s and %s give different answers", name, names[0])
		}
	}
	return medians, nil
}

// isolated takes runs that read their input and answer: an instance, a call, the end.
func (c *comparison) isolated(ctx context.Context) error {
	var rows []report.Row
	for _, g := range guests.Languages {
		if !slices.Contains(c.languages, g.Name) {
			continue
		}
		row := report.Row{Name: g.Name}
		m, err := c.figures(ctx, g, `{"do":"hello"}`, "jobhost", "wazero", "extism")
		if err != nil {
			row.Note = note(err)
		} else {
			row.Values = report.Values{
				"jobhost": m["jobhost"]["cpu"], "wazero": m["wazero"]["cpu"], "extism": m["extism"]["cpu"],
				"by wazero": m["jobhost"]["cpu"] / m["wazero"]["cpu"], "by extism": m["jobhost"]["cpu"] / m["extism"]["cpu"],
				"wall": m["jobhost"]["wall"], "wazero wall": m["wazero"]["wall"], "extism wall": m["extism"]["wall"],
				"heap": m["jobhost"]["heap"], "wazero heap": m["wazero"]["heap"], "extism heap": m["extism"]["heap"],
			}
		}
		rows = append(rows, row)
	}
	return report.Table(c.out, "an isolated run that reads its input and answers", []report.Column{
		{Key: "jobhost", Title: "jobhost CPU µs"},
		{Key: "wazero", Title: "wazero"},
		{Key: "extism", Title: "extism"},
		{Key: "by wazero", Title: "jobhost/wazero"},
		{Key: "by extism", Title: "jobhost/extism"},
		{Key: "wall", Title: "jobhost wall µs"},
		{Key: "wazero wall", Title: "wazero"},
		{Key: "extism wall", Title: "extism"},
		{Key: "heap", Title: "jobhost heap KiB"},
		{Key: "wazero heap", Title: "wazero"},
		{Key: "extism heap", Title: "extism"},
	}, rows)
}

// work takes runs that compute.
func (c *comparison) work(ctx context.Context) error {
	works := []struct{ name, input string }{
		{"sort", `{"do":"sort","n":500000}`},
		{"sha256", `{"do":"sha256","n":8}`},
		{"json", `{"do":"json","n":20000}`},
	}
	var rows []report.Row
	answers := map[string]float64{} // by work: the same in all languages
	row := func(g guests.Guest, name, input string) {
		r := report.Row{Name: name}
		m, err := c.figures(ctx, g, input, "jobhost", "unmetered", "wazero")
		if err != nil {
			r.Note = note(err)
			rows = append(rows, r)
			return
		}
		if a, known := answers[input]; known && a != m["jobhost"]["answer"] {
			r.Note = "gives another answer than the language before"
		}
		answers[input] = m["jobhost"]["answer"]
		ms := func(subject string) float64 { return m[subject]["cpu"] / 1000 }
		r.Values = report.Values{
			"jobhost": ms("jobhost"), "unmetered": ms("unmetered"), "wazero": ms("wazero"),
			"cost": 100 * (ms("jobhost")/ms("unmetered") - 1), "their cost": 100 * (ms("wazero")/ms("unmetered") - 1),
		}
		rows = append(rows, r)
	}
	for _, g := range guests.Languages {
		for _, w := range works {
			if slices.Contains(c.languages, g.Name) {
				row(g, g.Name+" "+w.name, w.input)
			}
		}
	}
	for _, g := range []guests.Guest{guests.Spin, guests.Fib} {
		if slices.Contains(c.languages, g.Name) {
			row(g, g.Name, fmt.Sprintf(`{"guest":%q}`, g.Name))
		}
	}
	return report.Table(c.out, "a run that computes", []report.Column{
		{Key: "jobhost", Title: "jobhost CPU ms"},
		{Key: "unmetered", Title: "unmetered"},
		{Key: "wazero", Title: "wazero with an end"},
		{Key: "cost", Title: "metering %"},
		{Key: "their cost", Title: "wazero's end %"},
	}, rows)
}

// note is as much of an error as fits under a table.
func note(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
