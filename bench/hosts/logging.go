//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
	"github.com/jobhost/jobhost/bench/internal/usage"
)

// logging takes a run that writes many lines to its log. What the host does is the difference to the same guest in plain
// wazero, whose lines go nowhere.
var logging = measure{
	name:    "log",
	title:   func(o options) string { return fmt.Sprintf("a run that writes %d lines of log", o.Lines) },
	columns: []report.Column{{Key: "seconds", Title: "seconds"}, {Key: "cpu", Title: "CPU s"}, {Key: "bare", Title: "of that, bare guest"}, {Key: "host", Title: "host"}},
	cases:   []string{"go", "c"},
	take: func(ctx context.Context, o order) (_ report.Values, err error) {
		guest := map[string]string{"go": o.Options.GoFile, "c": o.Options.CFile}[o.Case]
		if guest == "" {
			return nil, child.Skip("left out: there is no compiler for this guest")
		}
		bare, err := bareLog(ctx, guest, o)
		if err != nil {
			return nil, err
		}
		n, err := newNode(ctx, o, guest, 32)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.close(ctx)) }()
		d, err := job("talker", "log", o.Options.Lines)
		if err != nil {
			return nil, err
		}
		if err := n.define(ctx, d); err != nil {
			return nil, err
		}
		began, cpu := time.Now(), usage.Self.CPU()
		r, err := jobhost.One(n.engine.Trigger(ctx, []jobhost.TriggerRequest{{Job: d.Name}}))
		if err != nil {
			return nil, err
		}
		used := (usage.Self.CPU() - cpu).Seconds()
		if r.State != jobhost.RunSucceeded {
			return nil, fmt.Errorf("the run is %v: %s", r.State, r.ErrorMessage)
		}
		return report.Values{"seconds": time.Since(began).Seconds(), "cpu": used, "bare": bare, "host": used - bare}, nil
	},
}

// bareLog is the processor time, in seconds, of the same run in plain wazero.
func bareLog(ctx context.Context, guest string, o order) (_ float64, err error) {
	rt := wazero.NewRuntime(ctx)
	defer func() { err = errors.Join(err, rt.Close(ctx)) }()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, rt); err != nil {
		return 0, err
	}
	module, err := os.ReadFile(guest)
	if err != nil {
		return 0, err
	}
	code, err := rt.CompileModule(ctx, module)
	if err != nil {
		return 0, err
	}
	input, output := io.Pipe()
	go func() {
		_, err := fmt.Fprintf(output, `{"do":"log","n":%d}`, o.Options.Lines)
		_ = output.CloseWithError(err)
	}()
	cpu := usage.Self.CPU()
	_, err = rt.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithArgs("bench").WithStdin(input).WithStderr(io.Discard))
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && exit.ExitCode() == 0 {
		err = nil
	}
	return (usage.Self.CPU() - cpu).Seconds(), err
}
