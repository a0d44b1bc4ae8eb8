// Package report turns what was measured into tables.
package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Values are the figures of one measurement, by a key of the measurement's own.
type Values map[string]float64

// Column is a figure that a table shows.
type Column struct{ Key, Title string }

// Row is a line of a table. Its note stands below the table, and without values it is all that is said of it.
type Row struct {
	Name   string
	Values Values
	Note   string
}

// Table writes rows under a title. A figure that a row lacks is a dash.
func Table(w io.Writer, title string, columns []Column, rows []Row) error {
	if _, err := fmt.Fprintf(w, "\n%s\n\n", title); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = io.WriteString(t, strings.Join(cells, "\t")+"\n") } // Flush says what went wrong
	head := []string{""}
	for _, c := range columns {
		head = append(head, c.Title)
	}
	line(head...)
	for _, r := range rows {
		if len(r.Values) == 0 {
			continue
		}
		cells := []string{r.Name}
		for _, c := range columns {
			cells = append(cells, figure(r.Values, c.Key))
		}
		line(cells...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Note != "" {
			if _, err := fmt.Fprintf(w, "%s: %s\n", r.Name, r.Note); err != nil {
				return err
			}
		}
	}
	return nil
}

func figure(v Values, key string) string {
	f, ok := v[key]
	if !ok {
		return "–"
	}
	return Number(f)
}

// Number writes a figure with about three digits.
func Number(f float64) string {
	digits := 3
	switch a := max(f, -f); {
	case a >= 100:
		digits = 0
	case a >= 10:
		digits = 1
	case a >= 1:
		digits = 2
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

// Median takes the median of each figure over the repetitions that have it.
func Median(all []Values) Values {
	by := map[string][]float64{}
	for _, v := range all {
		for k, f := range v {
			by[k] = append(by[k], f)
		}
	}
	m := Values{}
	for k, fs := range by {
		m[k] = Quantile(fs, 0.5)
	}
	return m
}

// Quantile returns the value below which a share q of the figures lies, and sorts them. There must be at least one.
func Quantile(figures []float64, q float64) float64 {
	slices.Sort(figures)
	return figures[min(int(q*float64(len(figures))), len(figures)-1)]
}
