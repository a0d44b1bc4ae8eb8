package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/cron"
)

// patient is how long a check waits for an answer.
const patient = 2 * time.Second

// openMode are the bits of a mode that let group or others write.
const openMode fs.FileMode = 0o022

func (c *cli) checkPlugins(f *findings, s *config.Settings) {
	info, err := os.Stat(s.Plugins.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Jobs) == 0:
		f.ok(s.Plugins.Dir + " is not there, and is made by the first start")
	case err != nil:
		f.fail(flat(err.Error()), "make the folder, or set plugins.dir")
		return
	case info.Mode().Perm()&openMode != 0:
		f.warn(fmt.Sprintf("others may put plugins into %s: its mode is %v", s.Plugins.Dir, info.Mode().Perm()), "chmod go-w "+s.Plugins.Dir)
	}
	needed := neededPlugins(s, f.wrong)
	for _, p := range needed {
		f.fail(p.Error(), "build the plugin anew, or change the job")
	}
	files, err := filepath.Glob(filepath.Join(s.Plugins.Dir, "*.wasm"))
	if err != nil {
		f.fail(flat(err.Error()), "set plugins.dir to a path without wildcards")
		return
	}
	good := 0
	for _, file := range files {
		err := loadable(file)
		switch {
		case err == nil:
			good++
		case slices.ContainsFunc(needed, func(p config.Problem) bool { return strings.Contains(p.Msg, filepath.Base(file)) }):
			// it was said for the job
		default:
			f.warn(flat(err.Error()), "no job needs it; take it away, or mend it")
		}
	}
	f.ok(fmt.Sprintf("%s in %s can be loaded", count(good, "module"), s.Plugins.Dir))
}

func checkData(f *findings, s *config.Settings) {
	info, err := os.Stat(s.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.ok(s.DataDir + " is not there, and is made by the first start")
	case err != nil:
		f.fail(flat(err.Error()), "set data_dir to a folder that this user can use")
	case !info.IsDir():
		f.fail(s.DataDir+" is no folder", "set data_dir to one")
	case info.Mode().Perm()&openMode != 0:
		f.warn(fmt.Sprintf("others can write to %s, and look into it: its mode is %v", s.DataDir, info.Mode().Perm()), "chmod 700 "+s.DataDir)
	case info.Mode().Perm()&0o077 != 0:
		f.warn(fmt.Sprintf("others can look into %s: its mode is %v", s.DataDir, info.Mode().Perm()), "chmod 700 "+s.DataDir)
	default:
		f.ok(s.DataDir + " is this user's alone")
	}
}

func checkSocket(f *findings, s *config.Settings) {
	path := s.HTTP.Socket
	const most = 100 // characters that every system takes
	if len(path) > most {
		f.warn(fmt.Sprintf("the path %s has %d characters, and some systems take only %d", path, len(path), most), "set http.socket, or a shorter data_dir")
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.ok("no host serves " + path)
		return
	case err != nil:
		f.fail(flat(err.Error()), "set http.socket to a place that this user can use")
		return
	case info.Mode().Type() != fs.ModeSocket:
		f.fail(path+" is no socket", "move it away, or set http.socket")
		return
	}
	switch node, draining, err := hostAt(path); {
	case err == nil && draining:
		f.warn(fmt.Sprintf("host %s serves %s, but it drains: no trigger fires", node, path), "restart it: only that ends the draining")
	case err == nil:
		if err := notReadyAt(path); err != nil {
			what, mend := told(err)
			f.fail(fmt.Sprintf("host %s serves %s, but fires no triggers: %s", node, path, what), mend)
			return
		}
		f.ok(fmt.Sprintf("host %s serves %s", node, path))
	case nobodyThere(err):
		f.warn(path+" is left of a host that was killed", "nothing to do: the next start replaces it")
	default:
		what, hint := told(err)
		f.warn("the host at "+path+" does not serve: "+what, hint)
	}
}

// hostAt asks who serves a socket, and whether that is a node that drains and has none beside it.
func hostAt(socket string) (node string, draining bool, err error) {
	c, err := api.Dial(socket)
	if err != nil {
		return "", false, err
	}
	defer c.Close() //nolint:errcheck // it never fails
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	nodes, err := c.Nodes(ctx)
	if err != nil || len(nodes) == 0 {
		return "", false, err
	}
	return nodes[0].ID, aloneAndDraining(ctx, c) != "", nil
}

// notReadyAt is why the host at a socket fires no triggers; nil: it does.
func notReadyAt(socket string) error {
	c, err := api.Dial(socket)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it never fails
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	return c.Ready(ctx)
}

// nearFull is the share of store.max_size from which on a store is said to be near it. From little more on, at most a quarter
// below the limit, nothing new is taken: the rest is kept for what is under way and for what makes room.
const nearFull = 0.7

func (c *cli) checkStore(f *findings, s *config.Settings) {
	if s.Store.Kind != config.StoreBolt {
		f.ok("store.kind is " + s.Store.Kind + ": everything is forgotten at the end")
		return
	}
	st, err := c.storeStats(s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.ok(s.Store.Path + " is not there, and is made by the first start")
		return
	case err != nil:
		what, hint := told(err)
		f.fail(what, hint)
		return
	}
	what := fmt.Sprintf("%s can be read: %s, %.0f %% of it free, %s", st.Path, sizeText(st.Size), 100*st.FreeShare, count(st.EndedRuns, "ended run"))
	switch {
	case s.Store.MaxSize > 0 && float64(st.Size)*(1-st.FreeShare) > nearFull*float64(s.Store.MaxSize):
		f.warn(what+", near its limit of "+sizeText(s.Store.MaxSize), "raise store.max_size, or keep less history")
	case st.FreeShare > 0.5 && st.Size > s.Store.CompactMinSize:
		f.warn(what, "stop the host and run jobhost db compact")
	default:
		f.ok(what)
	}
	if until := time.Now().Add(time.Minute); st.NewestRun.After(until) {
		f.warn(fmt.Sprintf("its newest run began at %s, which is in the future", clock(st.NewestRun)), "set the clock right: triggers wait until it has caught up")
	}
}

// storeStats asks the host that has the store, or looks into the file.
func (c *cli) storeStats(s *config.Settings) (st api.StoreStats, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := boltstore.Open(s.Store.Path, boltstore.Config{ReadOnly: true, LockTimeout: 100 * time.Millisecond})
	if boltstore.InUse(err) {
		client, err := api.Dial(s.HTTP.Socket)
		if err != nil {
			return st, err
		}
		defer client.Close() //nolint:errcheck // it never fails
		return client.StoreStats(ctx)
	}
	if err != nil {
		return st, err
	}
	st, err = keeper{store}.StoreStats(ctx)
	return st, errors.Join(err, store.Close())
}

func checkDisk(f *findings, s *config.Settings) {
	dir := s.DataDir
	for range 64 { // the folder may have to be made yet
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, ok := freeSpace(dir)
	const little, enough = 64 << 20, 1 << 30
	switch {
	case !ok:
		f.ok("how much room is left is not known on this system")
	case free < little:
		f.fail(fmt.Sprintf("%s are free at %s", sizeText(free), dir), "make room: a full disk keeps runs from being recorded")
	case free < enough:
		f.warn(fmt.Sprintf("%s are free at %s", sizeText(free), dir), "make room, or set store.max_size")
	default:
		f.ok(fmt.Sprintf("%s are free at %s", sizeText(free), dir))
	}
}

func (c *cli) checkClock(f *findings, _ *config.Settings) {
	now := time.Now()
	if now.Year() < 2024 {
		f.fail("the clock says "+clock(now), "set the clock; schedules follow it")
	}
	if _, err := cron.LoadZone("Europe/Berlin"); err != nil {
		f.fail(flat(err.Error()), "install the system's zone data, or unset ZONEINFO")
		return
	}
	if wrong := c.wrongZone(); wrong != "" {
		f.warn(wrong, "set TZ to a name such as Europe/Berlin, or unset it")
		return
	}
	f.ok(fmt.Sprintf("%s in the zone %s; zone data is there", clock(now), zoneName(time.Local)))
}

// checkTraces looks whether somebody listens where traces are sent.
func (c *cli) checkTraces(f *findings, s *config.Settings) {
	env := c.variable
	endpoint := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" {
		endpoint = env("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	exporter := env("OTEL_TRACES_EXPORTER")
	switch {
	case !s.Telemetry.Enabled, env("OTEL_SDK_DISABLED") == "true", exporter == "none", endpoint == "" && exporter == "":
		f.ok("no traces are sent")
		return
	case exporter != "" && exporter != "otlp":
		f.ok("traces go to the exporter " + exporter)
		return
	case endpoint == "":
		endpoint = "http://localhost:4318"
		if env("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" || env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") == "grpc" {
			endpoint = "http://localhost:4317"
		}
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		f.fail(fmt.Sprintf("the endpoint %q is no URL", endpoint), "set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://localhost:4318")
		return
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"https": "443"}[u.Scheme])
		if u.Scheme != "https" {
			address = net.JoinHostPort(u.Hostname(), "80")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		f.warn(fmt.Sprintf("nobody answers at %s, where traces go: %s", address, flat(err.Error())), "start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT; runs do not wait for it")
		return
	}
	_ = conn.Close() // it was only to see whether somebody is there
	f.ok("somebody listens at " + address + ", where traces go")
}
