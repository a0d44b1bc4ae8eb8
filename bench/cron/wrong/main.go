// Command wrong prints who is wrong on which of the cron vectors: for each library how many lines it gets right, refuses
// although they are valid, accepts although they are not, answers with other times, panics over, or does not finish.
// The lines follow the rules of jobhost; where another library has other rules on purpose, it is wrong by these.
//
// With -v it also prints the first lines of each kind, and with -category the counts by the category of the line.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jobhost/jobhost/bench/cron"
	jobhost "github.com/jobhost/jobhost/cron"
)

// vector is a line of cron.jsonl.
type vector struct {
	Expr     string
	TZ       string
	From     time.Time
	Next     []time.Time
	End      bool
	Error    bool
	Category string `json:"cat"`
	Note     string
	Why      string
}

// verdict is what a library makes of a line.
type verdict int

const (
	right verdict = iota
	refuses
	accepts
	otherTimes
	panics
	hangs
)

var verdicts = []string{"right", "refuses valid", "accepts invalid", "other times", "panics", "does not finish"}

func main() {
	file := flag.String("vectors", "../cron/testdata/cron.jsonl", "the vectors")
	category := flag.Bool("category", false, "count by category")
	verbose := flag.Int("v", 0, "print so many lines of each kind that a library gets wrong")
	flag.Parse()
	if err := run(os.Stdout, *file, *category, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, file string, category bool, verbose int) error {
	vectors, err := read(file)
	if err != nil {
		return err
	}
	counts := map[string]map[verdict]int{}     // by library
	wrong := map[string]map[string]int{}       // by library and category
	lines := map[string]map[verdict][]vector{} // by library
	categories := map[string]int{}
	for _, v := range vectors {
		categories[v.Category]++
	}
	for _, p := range cron.Peers() {
		counts[p.Name], wrong[p.Name], lines[p.Name] = map[verdict]int{}, map[string]int{}, map[verdict][]vector{}
		for _, v := range vectors {
			j := judge(p, v)
			counts[p.Name][j]++
			if j != right {
				wrong[p.Name][v.Category]++
				lines[p.Name][j] = append(lines[p.Name][j], v)
			}
			if counts[p.Name][hangs] > 3 {
				return fmt.Errorf("%s does not finish on too many lines, the last is %q", p.Name, v.Expr)
			}
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "library\t")
	for _, name := range verdicts {
		fmt.Fprint(table, name, "\t")
	}
	fmt.Fprintf(table, "of %d\t\n", len(vectors))
	for _, p := range cron.Peers() {
		fmt.Fprint(table, p.Name, "\t")
		for j := range verdicts {
			fmt.Fprint(table, counts[p.Name][verdict(j)], "\t")
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if category {
		fmt.Fprintln(w, "\nwrong, by category")
		if err := byCategory(w, categories, wrong); err != nil {
			return err
		}
	}
	for _, p := range cron.Peers() {
		for j, name := range verdicts {
			for _, v := range lines[p.Name][verdict(j)][:min(verbose, len(lines[p.Name][verdict(j)]))] {
				fmt.Fprintf(w, "%s %s: %q in %q after %v: %s%s\n", p.Name, name, v.Expr, v.TZ, v.From.Format(time.RFC3339), v.Note, v.Why)
			}
		}
	}
	return nil
}

func byCategory(w io.Writer, categories map[string]int, wrong map[string]map[string]int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "category\tlines\t")
	for _, p := range cron.Peers() {
		fmt.Fprint(table, p.Name, "\t")
	}
	fmt.Fprintln(table)
	for _, c := range slices.Sorted(maps.Keys(categories)) {
		fmt.Fprint(table, cmp.Or(c, "errors"), "\t", categories[c], "\t")
		for _, p := range cron.Peers() {
			fmt.Fprint(table, wrong[p.Name][c], "\t")
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// judge asks a library about a line. A library that does not answer in two seconds is left alone.
func judge(p cron.Peer, v vector) verdict {
	answer := make(chan verdict, 1)
	go func() {
		defer func() {
			if recover() != nil {
				answer <- panics
			}
		}()
		answer <- ask(p, v)
	}()
	select {
	case a := <-answer:
		return a
	case <-time.After(2 * time.Second):
		return hangs
	}
}

func ask(p cron.Peer, v vector) verdict {
	zone, err := jobhost.LoadZone(v.TZ)
	if err != nil {
		return refuses
	}
	next, err := p.Parse(v.Expr, zone)
	switch {
	case v.Error && err == nil:
		return accepts
	case v.Error:
		return right
	case err != nil:
		return refuses
	}
	at := v.From
	for _, want := range v.Next {
		if at = next(at); !at.Equal(want) {
			return otherTimes
		}
	}
	if v.End && !next(at).IsZero() {
		return otherTimes
	}
	return right
}

func read(file string) ([]vector, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var vs []vector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(vs)+1, err)
		}
		vs = append(vs, v)
	}
	return vs, lines.Err()
}
