package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

// execJob is the job's name where none is given.
const execJob = "exec"

// trial is what jobhost exec was asked to do.
type trial struct {
	file, data, job string
	config          *[]string
	timeout         time.Duration
	dirs, env, args []string
}

func (c *cli) exec() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use: "exec <file.wasm>", Short: "Run a plugin once, without a host and a store", Args: takes(1, 1, "one file"),
		Long: `Run a plugin once, as a host would run it, without a host and a store. What it returns goes to standard output, its log
to standard error. It may use nothing but what the flags grant; with --job it has the grants, data and time limit of that
job in the configuration.`,
		Example: `  jobhost exec plugins/hello.wasm --data '{"name": "you"}'
  jobhost exec plugins/csv-report.wasm --data @order.json --dir ./in:/in:ro --dir ./out:/out:rw
  jobhost exec plugins/csv-report.wasm --job reports.nightly -c jobhost.yaml`,
	}
	t.config = configFlag(cmd)
	data := dataFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&t.job, "job", "", "run as this job of the configuration")
	flags.DurationVar(&t.timeout, "timeout", 0, "time limit of the run (default: none)")
	flags.StringArrayVar(&t.dirs, "dir", nil, "folder to grant: host:guest:ro or host:guest:rw")
	flags.StringArrayVar(&t.env, "env", nil, "environment variable to grant: NAME=value")
	flags.StringArrayVar(&t.args, "arg", nil, "argument to grant")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		t.file, t.data = args[0], *data
		return c.try(t)
	}
	return cmd
}

// try runs a plugin once.
func (c *cli) try(t trial) error {
	call, cfg, err := c.prepare(&t)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // a computing guest leaves the host a processor, ABI 6
	ctx := context.Background()
	h, err := host.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer h.Close(ctx) //nolint:errcheck // the process ends, and the outcome is known
	if _, err := h.Load(ctx, call.Plugin, t.file); err != nil {
		return exit{exitFailed, err}
	}
	if t.timeout > 0 {
		call.Deadline = time.Now().Add(t.timeout)
	}
	out := interruptible(func(ctx context.Context, stop <-chan struct{}) jobhost.Outcome {
		call.Stop = stop
		return h.Run(ctx, call)
	})
	if _, err := c.out.Write(out.Output); err != nil {
		return err
	}
	if out.Code != "" {
		return exit{exitFailed, fmt.Errorf("the run failed: %s (%s)", out.Message, out.Code)}
	}
	return nil
}

// prepare is the call and the host for it.
func (c *cli) prepare(t *trial) (jobhost.Call, host.Config, error) {
	data, err := c.data(t.data)
	if err != nil {
		return jobhost.Call{}, host.Config{}, err
	}
	cfg := host.Defaults()
	cfg.Cache = trialCache()
	key := strings.TrimSuffix(filepath.Base(t.file), ".wasm")
	if !jobhost.ValidName(key) {
		key = "plugin"
	}
	grant := host.Grant{Job: execJob, Plugin: key}
	if t.job != "" {
		j, s, err := c.jobOf(t)
		if err != nil {
			return jobhost.Call{}, host.Config{}, err
		}
		cfg = hostConfig(s)
		cfg.Dir, cfg.Cache, cfg.Watch = "", trialCache(), false
		if t.timeout == 0 {
			t.timeout = j.Def.Timeout
		}
		if data, err = jobhost.MergeData(j.Def.Data, data); err != nil {
			return jobhost.Call{}, host.Config{}, err
		}
		grant = host.Grant{Job: j.Def.Name, Plugin: j.Def.Plugin}
		for _, g := range cfg.Grants {
			if g.Job == grant.Job && g.Plugin == grant.Plugin {
				grant = g
			}
		}
	}
	if err := t.grants(&grant); err != nil {
		return jobhost.Call{}, host.Config{}, err
	}
	cfg.Grants = []host.Grant{grant}
	return jobhost.Call{Run: trialRun(grant.Job, data), Plugin: grant.Plugin, Sink: talk{c}}, cfg, nil
}

// jobOf is the job of the configuration that is to be tried.
func (c *cli) jobOf(t *trial) (config.Job, *config.Settings, error) {
	s, _, err := c.settings(*t.config)
	if err != nil {
		return config.Job{}, nil, err
	}
	for _, j := range s.Jobs {
		if j.Def.Name == t.job {
			return j, s, nil
		}
	}
	return config.Job{}, nil, &jobhost.Error{
		Code: jobhost.NotFoundJob, Msg: fmt.Sprintf("job %q is not in the configuration", t.job), Hint: "name its file with -c",
	}
}

// grants adds what the flags grant.
func (t *trial) grants(g *host.Grant) error {
	g.Args = append(g.Args, t.args...)
	for _, e := range t.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return usage("--env is %q; want NAME=value", e)
		}
		if g.Env == nil {
			g.Env = map[string]string{}
		}
		g.Env[name] = value
	}
	for _, d := range t.dirs {
		parts := strings.Split(d, ":")
		n := len(parts)
		if n < 3 || parts[n-1] != string(host.ReadOnly) && parts[n-1] != string(host.ReadWrite) {
			return usage("--dir is %q; want host:guest:ro or host:guest:rw", d)
		}
		g.Dirs = append(g.Dirs, host.Dir{Host: strings.Join(parts[:n-2], ":"), Guest: parts[n-2], Mode: host.Mode(parts[n-1])})
	}
	return nil
}

// trialRun is a run that no history knows.
func trialRun(job jobhost.Name, data json.RawMessage) jobhost.Run {
	var random [10]byte
	_, _ = rand.Read(random[:]) // it never fails
	now := time.Now().UTC().Truncate(time.Microsecond)
	node, err := os.Hostname()
	if err != nil {
		node = "localhost"
	}
	return jobhost.Run{
		ID: jobhost.NewRunID(now, random), Job: job, Kind: jobhost.KindManual, Attempt: 1, ScheduledAt: now, StartedAt: now,
		Priority: jobhost.DefaultPriority, Data: data, State: jobhost.RunRunning, Node: node,
	}
}

// trialCache is where compiled plugins are kept between trials; empty where the user has no such place.
func trialCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "jobhost")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}

// interruptible runs f. The first interrupt asks it to stop; the second one, or the grace time, ends its context.
func interruptible(f func(ctx context.Context, stop <-chan struct{}) jobhost.Outcome) jobhost.Outcome {
	ctx, end := context.WithCancelCause(context.Background())
	stop, over := make(chan struct{}), make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-signals:
			close(stop)
		case <-over:
			return
		}
		select {
		case <-signals:
		case <-time.After(config.Defaults().CancelGrace):
		case <-over:
		}
		end(&jobhost.Error{Code: jobhost.Canceled, Op: "exec", Msg: "interrupted"})
	})
	out := f(ctx, stop)
	close(over)
	watch.Wait()
	end(nil)
	return out
}

// talk writes the log of a run to standard error.
type talk struct{ c *cli }

func (t talk) Log(_ int, msg string) { t.c.say("%s", msg) }

func (t talk) Progress(done, total int64, msg string) {
	if total > 0 {
		t.c.say("progress: %d of %d %s", done, total, msg)
		return
	}
	t.c.say("progress: %d %s", done, msg)
}
