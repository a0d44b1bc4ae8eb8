package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/config"
)

func (c *cli) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the host", Args: takes(0, 0, "no arguments"),
		Long: `Run the host: load plugins, fire triggers, and answer the other commands on a socket in the data folder.

SIGTERM and SIGINT stop it: it starts nothing more, waits for the runs in progress up to shutdown_timeout, and cancels
the rest. A second signal ends that waiting at once. The log goes to standard error.`,
		Example: `  jobhost serve
  jobhost serve -c jobhost.yaml -c jobs.d --log-format json`,
	}
	paths := configFlag(cmd)
	form, level := "text", "info"
	cmd.Flags().Var(choice{&form, []string{"text", "json"}}, "log-format", "form of the log")
	cmd.Flags().Var(choice{&level, []string{"debug", "info", "warn", "error"}}, "log-level", "least level that is logged")
	cmd.RunE = func(*cobra.Command, []string) error {
		s, files, err := c.settings(*paths)
		if err != nil {
			return err
		}
		return ofHost(c.host(s, files, c.logger(form, level)))
	}
	return cmd
}

// ofHost gives an error of the host itself the code that it has for whoever started it: what is not there is missing in
// the configuration, and what is unreachable is no server that was asked.
func ofHost(err error) error {
	switch exitCode(err) {
	case exitNotFound:
		return exit{exitUsage, err}
	case exitUnreachable, exitConflict, exitTimeout:
		return exit{exitFailed, err}
	}
	return err
}

func (c *cli) logger(form, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // the flag takes no other words
	opts := &slog.HandlerOptions{Level: l}
	if form == asJSON {
		return slog.New(slog.NewJSONHandler(c.err, opts))
	}
	return slog.New(slog.NewTextHandler(c.err, opts))
}

// host runs a node until a signal stops it.
func (c *cli) host(s *config.Settings, files []config.File, log *slog.Logger) (err error) {
	for _, w := range s.Warnings {
		log.Warn("configuration", slog.String("warning", w.Error()))
	}
	// A computing guest holds one of NumCPU slots and the host keeps a processor for itself (ABI 6).
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	n, err := openNode(s, files, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { n.obey(signals, stop, over) })
	err = n.serve(ctx)
	close(over)
	watch.Wait()
	return err
}

// obey stops the node at the first signal and ends its waiting at the second.
func (n *node) obey(signals <-chan os.Signal, stop context.CancelFunc, over <-chan struct{}) {
	select {
	case sig := <-signals:
		n.log.Info("stopping", slog.String("signal", sig.String()), slog.Int("runs", n.engine.RunningCount()))
		stop()
	case <-over:
		return
	}
	select {
	case sig := <-signals:
		n.log.Warn("cancelling the runs in progress", slog.String("signal", sig.String()))
	case <-over:
		return
	}
	// The engine may still be draining, where this has no effect yet.
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		n.engine.StopNow()
		select {
		case <-tick.C:
		case <-over:
			tick.Stop()
			return
		}
	}
}
