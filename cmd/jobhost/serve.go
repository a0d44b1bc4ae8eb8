package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/config"
)

func (c *cli) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the host", Args: takes(0, 0, "no arguments"),
		Long: `Run the host: load plugins, fire triggers, and answer the other commands on a socket in the data folder.

SIGTERM and SIGINT stop it: it starts nothing more, waits for the runs in progress up to shutdown_timeout, and cancels
the rest. A second signal ends that waiting at once. The log goes to standard error.

While it runs it takes over changes of jobs, calendars and grants within seconds of the configuration files being
written, and new plugins as they come; SIGHUP does so at once. A configuration with a mistake changes nothing, and the
log says what is wrong. All other settings need a restart.`,
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
			return c.withPlugins(files, err)
		}
		return ofHost(c.host(s, files, *paths, c.logger(form, level)))
	}
	return cmd
}

// ofHost gives an error of the host itself the code that it has for whoever started it: what is not there is missing in
// the configuration, and what is unreachable is no server that was asked.
func ofHost(err error) error {
	switch exitCode(err) {
	case exitNotFound:
		return exit{exitUsage, err}
	case exitUnreachable, exitConflict, exitTimeout, exitInterrupted:
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

// host runs a node until a signal stops it. Files are those that paths stand for and that the settings are from.
func (c *cli) host(s *config.Settings, files []config.File, paths []string, log *slog.Logger) (err error) {
	for _, w := range slices.Concat(s.Warnings, grantWarnings(s)) {
		log.Warn("configuration", slog.String("warning", w.Error()))
	}
	// A computing guest holds one of NumCPU slots and the host keeps a processor for itself (ABI 6).
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	n, err := openNode(s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.keepJobs(context.Background(), files); err != nil {
		return err
	}
	logSources(log, files)

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { n.obey(signals, stop, over) })
	r := &reloader{node: n, load: c.loadOver(n), current: s}
	w := &watcher{
		log: log, read: rereader(paths, files), reload: r.reload, rescan: n.host.Rescan, asked: hangups, plugins: n.plugins, stale: r.stale,
		tried: content{files: files},
	}
	err = n.serve(ctx, w.watch)
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
		n.engine.StopNow()
	case <-over:
	}
}

// rereader reads the configuration files again. A default file that was there once and is gone is no empty configuration: it
// was moved away, or is being replaced.
func rereader(paths []string, files []config.File) func() ([]config.File, error) {
	had := len(files) > 0
	return func() ([]config.File, error) {
		files, err := readConfig(paths)
		if err == nil && len(paths) == 0 && len(files) == 0 && had {
			return nil, exit{exitUsage, config.Problems{{Pos: config.Position{File: defaultConfig}, Msg: "the file is gone; put it back, or stop the host"}}}
		}
		had = had || len(files) > 0
		return files, err
	}
}
