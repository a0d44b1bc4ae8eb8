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
	file, job      string
	data           *string
	config         *[]string
	timeout        time.Duration
	now            string // the planned time
	values         string // the file of durable values
	private, quiet bool

	dirs, env, args, hosts, secrets []string
}

func (c *cli) exec() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use: "exec <file.wasm>", Annotations: alsoExits("3 no such file"), Short: "Run a plugin once, without a host and a store", Args: takes(1, 1, "one file"),
		Long: `Run a plugin once, in the same sandbox as a host's runs, without a host and a store. What it returns goes to standard
output, its log to standard error, and at the end what it took. It may use nothing but what the flags grant; with --job it
has the grants, data and time limit of that job in the configuration, and what the flags grant beside.

Compiled plugins are kept in the user's cache folder, under jobhost.`,
		Example: `  jobhost exec plugins/hello.wasm --data '{"name": "you"}'
  jobhost exec plugins/csv-report.wasm --data @order.json --dir ./in:/in:ro --dir ./out:/out:rw
  jobhost exec plugins/poller.wasm --http api.example.com --secret TOKEN=env:API_TOKEN --kv state.json
  jobhost exec plugins/csv-report.wasm --job reports.nightly -c jobhost.yaml --now 2026-12-31T23:00:00Z`,
	}
	t.flags(cmd)
	cmd.Flags().BoolVarP(&t.quiet, "quiet", "q", false, "do not say what the run took")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		t.file = args[0]
		return c.try(t)
	}
	return cmd
}

// try runs a plugin once.
func (c *cli) try(t trial) error {
	total := t.timeout // of the command; a job's is that of the run alone
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
	if err := t.load(ctx, h, &call, total); err != nil {
		return absent(exit{exitFailed, err})
	}
	began := time.Now()
	out := interruptible(func(ctx context.Context, stop <-chan struct{}) jobhost.Outcome {
		call.Stop = stop
		return h.Run(ctx, call)
	})
	took := time.Since(began)
	if err := writeGuest(c.out, out.Output); err != nil {
		return err
	}
	if !t.quiet {
		c.say("took %s, fuel %d, memory %s", took.Round(10*time.Microsecond), out.Fuel, mebibytes(out.PeakMemory))
	}
	if out.Code != "" {
		return exit{exitFailed, fmt.Errorf("the run failed: %s (%s)", oneLine(out.Message), out.Code)}
	}
	return nil
}

// load compiles the plugin, and says when the run must be over. The total time is that of both; without one the limit is the
// run's alone.
func (t *trial) load(ctx context.Context, h *host.Host, call *jobhost.Call, total time.Duration) error {
	began := time.Now()
	if total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	if _, err := h.Load(ctx, call.Plugin, t.file); err != nil {
		return err
	}
	switch {
	case total > 0:
		call.Deadline = began.Add(total)
	case t.timeout > 0:
		call.Deadline = time.Now().Add(t.timeout)
	}
	return nil
}

// prepare is the call and the host for it.
func (c *cli) prepare(t *trial) (jobhost.Call, host.Config, error) {
	data, err := c.data(*t.data)
	if err != nil {
		return jobhost.Call{}, host.Config{}, err
	}
	cfg := host.Defaults()
	cfg.Cache, cfg.Manifest = trialCache(), understand
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
		cfg.Dir, cfg.Cache, cfg.Modules, cfg.Watch = "", trialCache(), "", false
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
	call := jobhost.Call{Run: trialRun(grant.Job, data), Plugin: grant.Plugin, Sink: talk{c}}
	if t.now != "" {
		if call.Run.ScheduledAt, err = time.Parse(time.RFC3339, t.now); err != nil {
			return jobhost.Call{}, host.Config{}, usage("--now is %q; want an instant such as 2026-12-31T23:00:00Z", t.now)
		}
		call.Run.ScheduledAt = call.Run.ScheduledAt.UTC()
	}
	if grant.KV {
		values, err := openValues(t.values)
		if err != nil {
			return jobhost.Call{}, host.Config{}, usage("--kv: %w", err)
		}
		call.KV = values
	}
	return call, cfg, nil
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

func (t talk) Log(_ int, msg string) { t.say(msg) }

func (t talk) Progress(done, total int64, msg string) {
	if total > 0 {
		t.say(fmt.Sprintf("progress: %d of %d %s", done, total, msg))
		return
	}
	t.say(fmt.Sprintf("progress: %d %s", done, msg))
}

// say writes what a plugin says, as one line that steers no terminal: what follows is the host's to say.
func (t talk) say(msg string) { t.c.say("%s", oneLine(msg)) }
