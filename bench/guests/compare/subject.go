//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// limit is the time limit of a run, which all have and none reaches.
const limit = 5 * time.Minute

// loaded is a module that is ready to run. Every run has an instance of its own.
type loaded struct {
	run   func(ctx context.Context, input []byte) (output []byte, err error)
	close func(ctx context.Context) error
}

// subject is something that runs guests. It may keep compiled code in the folder, which is private to it.
type subject struct {
	name string
	load func(ctx context.Context, file, cache string) (loaded, error)
}

var subjects = []subject{
	{"jobhost", loadJobhost},
	{"wazero", loadWazero(true)},
	{"unmetered", loadWazero(false)},
	{"extism", loadExtism},
}

// loadJobhost is package host with a plugin folder, as the command has it.
func loadJobhost(ctx context.Context, file, cache string) (loaded, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return loaded{}, err
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return loaded{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "guest.wasm"), module, 0o600); err != nil { //nolint:gosec // a folder of our own
		return loaded{}, err
	}
	cfg := host.Defaults()
	cfg.Dir, cfg.Cache = dir, cache
	h, err := host.New(ctx, cfg)
	if err != nil {
		return loaded{}, err
	}
	stop := make(chan struct{})
	run := func(ctx context.Context, input []byte) ([]byte, error) {
		deadline, _ := ctx.Deadline()
		out := h.Run(ctx, jobhost.Call{
			Run:    jobhost.Run{ID: "0190163d8ad67b1db0a1d2e3f4a5b6c7", Job: "bench", Attempt: 1, Data: input, State: jobhost.RunRunning},
			Plugin: "guest", Deadline: deadline, Stop: stop, Sink: discard{},
		})
		if out.Code != "" {
			return nil, fmt.Errorf("%s: %s", out.Code, out.Message)
		}
		return out.Output, nil
	}
	return loaded{run, func(ctx context.Context) error { return errors.Join(h.Close(ctx), os.RemoveAll(dir)) }}, h.Ready(ctx, "guest")
}

type discard struct{}

// Log implements jobhost.RunSink.
func (discard) Log(int, string) {}

// Progress implements jobhost.RunSink.
func (discard) Progress(int64, int64, string) {}

// loadWazero is wazero as its documentation has it: compiled once, an instance for each run. Only with an end that can come
// from outside does a time limit hold.
func loadWazero(endable bool) func(ctx context.Context, file, cache string) (loaded, error) {
	return func(ctx context.Context, file, cache string) (loaded, error) {
		compiled, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return loaded{}, err
		}
		rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(endable).WithCompilationCache(compiled))
		if _, err := wasi_snapshot_preview1.Instantiate(ctx, rt); err != nil {
			return loaded{}, err
		}
		module, err := os.ReadFile(file)
		if err != nil {
			return loaded{}, err
		}
		code, err := rt.CompileModule(ctx, module)
		if err != nil {
			return loaded{}, err
		}
		run := func(ctx context.Context, input []byte) ([]byte, error) {
			var output bytes.Buffer
			m, err := rt.InstantiateModule(ctx, code, surroundings(input, &output))
			if exit, ok := errors.AsType[*sys.ExitError](err); ok && exit.ExitCode() == 0 {
				err = nil
			}
			if err != nil {
				return nil, err
			}
			if m != nil {
				err = m.Close(ctx)
			}
			return output.Bytes(), err
		}
		return loaded{run, func(ctx context.Context) error { return errors.Join(rt.Close(ctx), compiled.Close(ctx)) }}, nil
	}
}

func surroundings(input []byte, output *bytes.Buffer) wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithArgs("bench").WithStdin(bytes.NewReader(input)).WithStdout(output).
		WithSysWalltime().WithSysNanotime()
}

// loadExtism is Extism's SDK with a plugin that is compiled once and an instance for each run. The guest uses WASI alone,
// so what Extism's own memory for inputs and outputs costs is not part of a run but for its instance.
func loadExtism(ctx context.Context, file, cache string) (loaded, error) {
	compiled, err := wazero.NewCompilationCacheWithDir(cache)
	if err != nil {
		return loaded{}, err
	}
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmFile{Path: file}}, Timeout: uint64(limit.Milliseconds())} //nolint:gosec // it is positive
	p, err := extism.NewCompiledPlugin(ctx, manifest,
		extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(compiled)}, nil)
	if err != nil {
		return loaded{}, err
	}
	run := func(ctx context.Context, input []byte) ([]byte, error) {
		var output bytes.Buffer
		instance, err := p.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: surroundings(input, &output)})
		if err != nil {
			return nil, err
		}
		_, _, err = instance.CallWithContext(ctx, "_start", nil)
		return output.Bytes(), errors.Join(err, instance.Close(ctx))
	}
	return loaded{run, func(ctx context.Context) error { return errors.Join(p.Close(ctx), compiled.Close(ctx)) }}, nil
}
