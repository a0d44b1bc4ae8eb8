package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long the plugin folder must be left alone before it is read again: a file that is being copied changes
// many times.
const quiet = 200 * time.Millisecond

// watch reads the plugin folder again whenever something in it changes, and whenever its path, or that of a plugin which
// is a symbolic link, comes to mean something else: a folder on the way that is renamed, or a link that is switched.
// Watchers miss some changes all the same, as on network mounts, so whoever wants those calls [Host.Rescan] from time to
// time as well.
func (h *Host) watch() error {
	dir, err := filepath.Abs(h.cfg.Dir)
	if err != nil {
		return fmt.Errorf("plugin folder %s cannot be watched: %w", h.cfg.Dir, err)
	}
	w := watcher{dir: dir}
	if err := w.renew(); err != nil {
		return fmt.Errorf("plugin folder %s cannot be watched: %w", h.cfg.Dir, err)
	}
	h.work.Go(func() { h.follow(&w) })
	return nil
}

// follow waits for changes until the host closes.
func (h *Host) follow(w *watcher) {
	defer func() { _ = w.events.Close() }() // nothing is lost with it
	settle := time.NewTimer(quiet)          // also reads the folder once, for what changed before the watch began
	defer settle.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case e, ok := <-w.events.Events:
			if !ok {
				return
			}
			if w.concerns(e.Name) {
				settle.Reset(quiet)
			}
		case err, ok := <-w.events.Errors:
			if !ok {
				return
			}
			h.log.WarnContext(h.ctx, "plugin folder: events were lost", slog.Any("error", err))
			settle.Reset(quiet)
		case <-settle.C:
			if err := w.renew(); err != nil {
				h.log.WarnContext(h.ctx, "plugin folder cannot be watched", slog.Any("error", err))
			}
			h.rescan(h.ctx)
		}
	}
}

func (h *Host) rescan(ctx context.Context) {
	if err := h.Rescan(ctx); err != nil {
		h.log.WarnContext(ctx, "plugin folder cannot be read", slog.Any("error", err))
	}
}

// watcher watches a folder, and the way to it and to the files that its links stand for.
type watcher struct {
	dir    string // absolute
	events *fsnotify.Watcher
	place  string          // the folder itself, without links; empty: it is not there
	way    map[string]bool // the names on the way, each as the path of its folder and it
	seen   map[string]fs.FileInfo
}

// renew watches what the paths mean now, if that is another than before, until it stays the same. It is called before the
// folder is read, so that what changes in between is seen by one of the two.
func (w *watcher) renew() error {
	for {
		way, place := w.look()
		folders := map[string]bool{}
		for name := range way {
			folders[filepath.Dir(name)] = true
		}
		if place != "" {
			folders[place] = true
		}
		seen := map[string]fs.FileInfo{}
		for folder := range folders {
			if info, err := os.Stat(folder); err == nil {
				seen[folder] = info
			}
		}
		if w.events != nil && place == w.place && maps.Equal(way, w.way) && maps.EqualFunc(seen, w.seen, os.SameFile) {
			return nil
		}
		events, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		for _, folder := range slices.Sorted(maps.Keys(seen)) {
			// One on the way that may not be watched is looked at by rescans only.
			if err := events.Add(folder); err != nil && folder == place {
				return errors.Join(err, events.Close())
			}
		}
		if w.events != nil {
			_ = w.events.Close() // what it has still to tell is read anyway
		}
		w.events, w.place, w.way, w.seen = events, place, way, seen
	}
}

// look returns the way to the folder and to the files that its links stand for, and the folder without links.
func (w *watcher) look() (way map[string]bool, place string) {
	way = map[string]bool{}
	steps(w.dir, way)
	place, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		place = ""
	}
	entries, _ := os.ReadDir(w.dir) // what is wrong with it is for the rescan to say
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && strings.HasSuffix(e.Name(), extension) {
			steps(filepath.Join(w.dir, e.Name()), way)
		}
	}
	return way, place
}

// concerns reports whether a change of a name is one of the plugin folder, or of the way to it.
func (w *watcher) concerns(name string) bool {
	return name == w.place || filepath.Dir(name) == w.place || w.way[name]
}

// maxLinks is how many links are followed, as by operating systems.
const maxLinks = 40

// steps collects the names that a path goes through: each folder on the way and each link, as far as there is one. The
// folders before a name have no links in them.
func steps(path string, way map[string]bool) {
	links := 0
	volume := filepath.VolumeName(path)
	at := volume + string(filepath.Separator)
	rest := parts(path[len(volume):])
	for len(rest) > 0 {
		name := filepath.Join(at, rest[0])
		rest = rest[1:]
		way[name] = true
		target, err := os.Readlink(name)
		if err != nil { // no link
			at = name
			continue
		}
		if links++; links > maxLinks {
			return
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at = volume + string(filepath.Separator)
			target = target[len(volume):]
		}
		rest = append(parts(target), rest...)
	}
}

func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(path), "/"), func(p string) bool { return p == "" || p == "." })
}
