package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// The exit codes (DESIGN 6).
const (
	exitFailed      = 1   // something or a run failed
	exitUsage       = 2   // wrong use or configuration
	exitNotFound    = 3   // a job, trigger, run or plugin is not there
	exitConflict    = 4   // something else is in the way
	exitUnreachable = 5   // no host answers, or it starts or stops
	exitTimeout     = 124 // waited too long
	exitInterrupted = 130 // an interrupt ended the waiting
)

// exit is an error that knows its exit code. Without a message nothing is printed: all was said before.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns what went wrong.
func (e exit) Unwrap() error { return e.err }

// usage is the error of a wrong use.
func usage(format string, args ...any) error { return exit{exitUsage, fmt.Errorf(format, args...)} }

// report prints an error, one line for each problem with its hint, and returns the exit code.
func (c *cli) report(err error) int {
	for _, line := range lines(err) {
		if c.elsewhere != "" {
			line = strings.Replace(line, inThisFolder, "is that where a host serves? --server, --socket and "+serverVariable+" say which one is asked", 1)
		}
		c.say("%s", visible(line))
	}
	return exitCode(err)
}

// inThisFolder is the hint of a client that reaches nobody. It is of no use where somebody said which server to ask.
const inThisFolder = "is `jobhost serve` running in this folder?"

// say writes to standard error.
func (c *cli) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.err, format+"\n", args...) // there is nobody to tell that nobody can be told
}

// lines is what to print about an error. Problems of a configuration begin with their place, as compilers print it.
func lines(err error) []string {
	switch e := err.(type) { //nolint:errorlint // the walk goes down the chain itself
	case nil:
		return nil
	case exit:
		return lines(e.err)
	case config.Problems:
		return strings.Split(e.Error(), "\n")
	case *jobhost.Error:
		line := "jobhost: " + flat(e.Msg)
		if e.Hint != "" {
			line += "; " + flat(e.Hint)
		}
		return []string{line + " (" + string(e.Code) + ")"}
	case interface{ Unwrap() []error }:
		var all []string
		for _, err := range e.Unwrap() {
			all = append(all, lines(err)...)
		}
		return all
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return []string{"jobhost: waited too long; what was asked for may still happen"}
	case errors.Is(err, context.Canceled):
		return []string{"jobhost: interrupted; what was asked for may still happen"}
	}
	line := flat(err.Error())
	if !strings.HasPrefix(line, "jobhost") { // a wrong use begins with the command
		line = "jobhost: " + line
	}
	return []string{line}
}

// flat keeps one message on one line.
func flat(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") }

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	code := jobhost.CodeOf(err)
	if code == jobhost.NotServing {
		return exitUnreachable
	}
	family, _, _ := strings.Cut(strings.TrimPrefix(string(code), "SCHEDULING_"), "_")
	switch family {
	case "VALIDATION":
		return exitUsage
	case "NOTFOUND":
		return exitNotFound
	case "CONFLICT":
		return exitConflict
	}
	return exitFailed
}

// message is what an error says, without its operation and code.
func message(err error) string {
	if e, ok := errors.AsType[*jobhost.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}
