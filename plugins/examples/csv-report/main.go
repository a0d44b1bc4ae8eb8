// Command csv-report turns a CSV file of orders into a summary in Markdown and JSON.
//
// It is a plain WASI program that sees two directories, one to read from and one to write to. Its data says where:
//
//	{"input": "/data/orders.csv", "output": "/out", "currency": "EUR", "top": 5}
//
// main.go is about files and the data, report.go reads the orders and adds them up, render.go writes the summary, and
// amount.go has the arithmetic.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// exDataErr is the exit code that says: trying again is pointless.
const exDataErr = 65

func main() {
	if err := run(os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line is the run's error message
		if errors.Is(err, errOptions) {
			os.Exit(exDataErr)
		}
		os.Exit(1)
	}
}

// Options are the job's data.
type Options struct {
	Input    string `json:"input"`    // CSV file
	Output   string `json:"output"`   // directory for report.md and report.json; made if it is not there
	Currency string `json:"currency"` // orders in another one are counted and left out; EUR if it is not given
	Top      int    `json:"top"`      // how many products and customers are listed; 5 if it is not given
}

var errOptions = errors.New("the data is wrong")

func readOptions(r io.Reader) (Options, error) {
	o := Options{Currency: "EUR", Top: 5}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("%w: %w", errOptions, err)
	}
	var wrong []string
	if o.Input == "" {
		wrong = append(wrong, "input is missing; want the path of a CSV file")
	}
	if o.Output == "" {
		wrong = append(wrong, "output is missing; want the path of a directory")
	}
	if len(o.Currency) != 3 || strings.Trim(o.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		wrong = append(wrong, fmt.Sprintf("currency is %q; want three capital letters, such as EUR", o.Currency))
	}
	if o.Top < 1 || o.Top > 1000 {
		wrong = append(wrong, fmt.Sprintf("top is %d; want 1 to 1000", o.Top))
	}
	if len(wrong) > 0 {
		return o, fmt.Errorf("%w: %s", errOptions, strings.Join(wrong, "; ")) // in one line: it is the run's message
	}
	return o, nil
}

func run(stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := readOptions(stdin)
	if err != nil {
		return err
	}
	f, err := os.Open(o.Input)
	if err != nil {
		return err
	}
	report, err := Read(f, o)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	said := log.New(stderr, "", 0)
	for _, b := range report.Bad {
		said.Printf("line %d is left out: %s", b.Line, b.Why)
	}
	asJSON, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil { //nolint:gosec // a report is there to be read
		return err
	}
	files := []struct {
		name string
		data []byte
	}{{"report.md", Markdown(report)}, {"report.json", append(asJSON, '\n')}}
	for _, f := range files {
		if err := replace(filepath.Join(o.Output, f.name), f.data); err != nil {
			return err
		}
	}
	said.Printf("%d orders of %d customers: %s %s; %d rows left out",
		report.Orders, report.CustomerCount, report.Total, report.Currency, report.BadRows)
	return json.NewEncoder(stdout).Encode(map[string]any{
		"orders": report.Orders, "total": report.Total, "currency": report.Currency, "bad_rows": report.BadRows,
	})
}

// replace writes a file so that a reader sees the old one or the new one, also when the run is ended half-way.
func replace(path string, data []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o644); err != nil { //nolint:gosec // a report is there to be read
		return err
	}
	return os.Rename(next, path)
}
