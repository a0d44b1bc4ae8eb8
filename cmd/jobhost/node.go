package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/memstore"
	"github.com/jobhost/jobhost/telemetry"
)

// node is a running host: the rooms, introduced to each other.
type node struct {
	settings  *config.Settings
	log       *slog.Logger
	store     jobhost.Store
	telemetry *telemetry.Telemetry
	host      *host.Host
	engine    *engine.Engine
	server    *api.Server
	plugins   chan struct{} // of size one: the plugins have changed
	ready     atomic.Bool   // it was, once; a reload does not change that
	grants    atomic.Pointer[[]host.Grant]
	leftOut   atomic.Pointer[[]config.Problem] // why plugins bring no jobs
}

// openNode opens everything that a node needs, in this order: what a second process would collide with comes first. On
// an error nothing stays open.
func openNode(s *config.Settings, log *slog.Logger) (n *node, err error) {
	n = &node{settings: s, log: log, plugins: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(occupied(s, err), n.close())
		}
	}()
	if err := n.makeFolders(); err != nil {
		return n, err
	}
	if n.store, err = openStore(s, log); err != nil {
		return n, err
	}
	id := s.Scheduler.NodeID
	if id == "" {
		id = engine.NewNodeID()
	}
	if n.telemetry, err = n.openTelemetry(id); err != nil {
		return n, exit{exitUsage, err}
	}
	hc := hostConfig(s)
	n.grants.Store(&hc.Grants)
	hc.Log = log
	hc.Changed = func() {
		select {
		case n.plugins <- struct{}{}:
		default: // already told
		}
	}
	if n.host, err = host.New(context.Background(), hc); err != nil {
		return n, err
	}
	if n.engine, err = engine.New(n.store, n.host, n.engineConfig(id)); err != nil {
		return n, err
	}
	return n, n.listen()
}

// makeFolders makes the data folder, which is nobody else's, and the plugin folder, which may be empty.
func (n *node) makeFolders() error {
	s := n.settings
	for _, dir := range []string{s.DataDir, filepath.Dir(s.Store.Path), filepath.Dir(s.HTTP.Socket)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	if info, err := os.Stat(s.DataDir); err == nil && info.Mode().Perm()&0o077 != 0 {
		n.log.Warn("the data folder is not this user's alone", slog.String("dir", s.DataDir), slog.Bool("others_can_write", info.Mode().Perm()&openMode != 0),
			slog.String("mode", info.Mode().Perm().String()), slog.String("mend", "chmod 700 it"))
	}
	if _, err := os.Stat(s.Plugins.Dir); errors.Is(err, fs.ErrNotExist) {
		n.log.Info("the plugin folder is made", slog.String("dir", s.Plugins.Dir))
		if err := os.MkdirAll(s.Plugins.Dir, 0o750); err != nil {
			return fmt.Errorf("plugin folder: %w", err)
		}
	}
	return nil
}

func openStore(s *config.Settings, log *slog.Logger) (jobhost.Store, error) {
	if s.Store.Kind == config.StoreMemory {
		return memstore.New(memstore.Config{}), nil
	}
	store, err := boltstore.Open(s.Store.Path, boltstore.Config{
		MaxSize:      s.Store.MaxSize,
		CompactAbove: float64(s.Store.CompactAbove) / 100, CompactMin: s.Store.CompactMinSize,
		Compacting: compacting(log), Compacted: compacted(log),
		Report: func(d boltstore.Damage) {
			log.Error("a record cannot be read and is left alone", slog.String("bucket", d.Bucket),
				slog.String("key", fmt.Sprintf("%q", d.Key)), slog.Any("err", d.Err))
		},
	})
	if err != nil {
		return nil, err
	}
	return store, nil
}

func (n *node) openTelemetry(id string) (*telemetry.Telemetry, error) {
	if !n.settings.Telemetry.Enabled {
		return &telemetry.Telemetry{}, nil
	}
	return telemetry.New(context.Background(), telemetry.Config{Version: version, Node: id, Logger: n.log})
}

func (n *node) engineConfig(id string) engine.Config {
	s, cfg := n.settings, engine.Defaults()
	cfg.NodeID = id
	cfg.PollInterval = s.Scheduler.PollInterval
	cfg.MaxConcurrentRuns = s.Scheduler.MaxConcurrentRuns
	cfg.AcquireBatchSize = s.Scheduler.AcquireBatchSize
	cfg.MisfireThreshold = s.Scheduler.MisfireThreshold
	cfg.HistoryRetention = s.Scheduler.HistoryRetention
	cfg.HousekeepingInterval = s.Scheduler.HousekeepingInterval
	cfg.NodeTimeout = s.Scheduler.NodeTimeout
	cfg.LeaseResource, cfg.LeaseTTL = s.Scheduler.LeaseResource, s.Scheduler.LeaseTTL
	cfg.Version = version
	cfg.ShutdownTimeout, cfg.CancelGrace, cfg.DrainDelay = s.ShutdownTimeout, s.CancelGrace, s.DrainDelay
	cfg.Calendars = s.Calendars
	cfg.Middleware = []jobhost.Middleware{n.telemetry.Middleware()}
	cfg.Log = n.log
	return cfg
}

// hostConfig is the host's part of the settings.
func hostConfig(s *config.Settings) host.Config {
	cfg := host.Defaults()
	cfg.Dir, cfg.Watch = s.Plugins.Dir, true
	cfg.Cache = filepath.Join(s.DataDir, "cache")
	cfg.Modules, cfg.KeepVersions = filepath.Join(s.DataDir, "modules"), s.Plugins.KeepVersions
	cfg.Private = []string{s.DataDir}
	cfg.Manifest = understand
	cfg.MaxMemory, cfg.MaxTotalMemory = s.Plugins.MaxMemory, s.Plugins.MaxTotalMemory
	cfg.Grants = grantsOf(s)
	return cfg
}

func (n *node) listen() (err error) {
	cfg := api.Defaults()
	cfg.Version, cfg.Log, cfg.Now, cfg.Ready = version, n.log, time.Now, n.notReady
	cfg.Self = func() api.Self { return api.Self{Node: n.engine.NodeID(), State: n.engine.State().String()} }
	cfg.Store, cfg.Grants = keeperOf(n.store), n.granted
	n.server, err = api.NewServer(n.settings.HTTP.Socket, api.NewHandler(outspoken{drainable{gate{n.engine, n.starting}, n.log}, &n.leftOut}, cfg), cfg)
	return err
}

// notReady is why the node does not fire triggers.
func (n *node) notReady() error {
	if state := n.engine.State(); state > engine.Serving {
		return &jobhost.Error{Code: jobhost.NotServing, Msg: "the scheduler is " + state.String()}
	}
	if err := n.starting(); err != nil {
		return err
	}
	return n.engine.Problem()
}

// stillStarting is what a host answers until then.
const stillStarting = "the host is starting: the jobs of its files are not stored yet"

// isStarting reports whether an error is that answer.
func isStarting(err error) bool {
	e, ok := errors.AsType[*jobhost.Error](err)
	return ok && e.Code == jobhost.NotServing && strings.HasPrefix(e.Msg, stillStarting)
}

// starting is why the jobs of the files are not in the store yet. What is not stored yet of a reload does not count.
func (n *node) starting() error {
	state := n.engine.State()
	if n.ready.Load() || state > engine.Serving {
		return nil
	}
	if state == engine.Serving && n.engine.Applied() {
		n.ready.Store(true)
		return nil
	}
	return &jobhost.Error{
		Code: jobhost.NotServing, Op: "serve", Msg: stillStarting,
		Hint: "ask again in a moment; `jobhost plugin ls` shows which plugins are still being compiled",
	}
}

// serve answers on the socket, brings the jobs of the files into the store and fires triggers until ctx ends. Watch goes on
// beside that, and ends with its context.
func (n *node) serve(ctx context.Context, watch func(context.Context)) error {
	var socket, watching sync.WaitGroup
	var broken error
	answering, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	socket.Go(func() {
		broken = n.server.Serve(answering)
		stop() // a host that cannot be steered does not go on
	})
	err := n.start(ctx)
	if err == nil {
		n.log.InfoContext(ctx, "serving", slog.String("version", version), slog.String("node", n.engine.NodeID()), slog.String("socket", n.settings.HTTP.Socket),
			slog.Int("jobs", len(n.settings.Jobs)), slog.Bool("traces", n.telemetry.Enabled()))
		watching.Go(func() { watch(ctx) })
		if err = n.engine.Serve(ctx); err == nil {
			n.log.InfoContext(ctx, "stopped")
		}
	}
	if errors.Is(err, context.Canceled) {
		err = nil // stopped before it had started
	}
	stop()
	watching.Wait()
	hangUp()
	socket.Wait()
	return errors.Join(err, broken)
}

// close frees everything, in the order of SPEC 20.
func (n *node) close() error {
	ctx := context.Background()
	var errs []error
	if n.telemetry != nil {
		errs = append(errs, n.telemetry.Shutdown(ctx))
	}
	if n.host != nil {
		errs = append(errs, n.host.Close(ctx))
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(errs...)
}
