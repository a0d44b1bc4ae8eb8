// Package child measures in a process of its own, so that memory and processor time of one measurement are not those of
// another. The command starts itself again: its main calls [Answer] first.
package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/jobhost/jobhost/bench/internal/report"
)

// variable holds the order of a child, as JSON. Its presence makes a process one.
const variable = "JOBHOST_BENCH_CHILD"

// SkipError says why something is not measured. It is no failure.
type SkipError struct{ Reason string }

func (e *SkipError) Error() string { return e.Reason }

// Skip returns a [SkipError].
func Skip(format string, args ...any) error { return &SkipError{fmt.Sprintf(format, args...)} }

// answer is what a child prints in its last line.
type answer struct {
	Values  report.Values
	Skipped string
	Failed  string
}

// Answer measures what this process was started for and ends it. In a process that is no child it does nothing.
func Answer[T any](measure func(order T) (report.Values, error)) {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	var order T
	err := json.Unmarshal([]byte(text), &order)
	var a answer
	if err == nil {
		a.Values, err = measure(order)
	}
	if skip, ok := errors.AsType[*SkipError](err); ok {
		a = answer{Skipped: skip.Reason}
	} else if err != nil {
		a = answer{Failed: err.Error()}
	}
	line, err := json.Marshal(a)
	if err != nil {
		panic(err) // no figure is infinite
	}
	if _, err := fmt.Fprintf(os.Stdout, "\n%s\n", line); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Run measures in a process of its own, which is killed after the limit. The error is a [SkipError] when the child gives a
// reason not to measure.
func Run[T any](ctx context.Context, limit time.Duration, order T) (report.Values, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("stopped after %v", limit))
	defer cancel()
	c := exec.CommandContext(ctx, program) //nolint:gosec // this program itself
	c.Env = append(os.Environ(), variable+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var a answer
	if err := json.Unmarshal(lines[len(lines)-1], &a); err != nil {
		return nil, fmt.Errorf("the measuring process printed %q: %w", out, err)
	}
	switch {
	case a.Skipped != "":
		return nil, &SkipError{a.Skipped}
	case a.Failed != "":
		return nil, errors.New(a.Failed)
	}
	return a.Values, nil
}
