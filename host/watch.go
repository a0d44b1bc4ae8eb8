package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long the plugin folder must be left alone before it is read again: a file that is being copied changes
// many times.
const quiet = 200 * time.Millisecond

// watch reads the plugin folder again whenever something in it changes. Watchers miss some changes (a symbolic link's
// target, network mounts), so whoever wants those calls [Host.Rescan] from time to time as well.
func (h *Host) watch() error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("plugin folder %s cannot be watched: %w", h.cfg.Dir, err)
	}
	if err := w.Add(h.cfg.Dir); err != nil {
		return errors.Join(fmt.Errorf("plugin folder %s cannot be watched: %w", h.cfg.Dir, err), w.Close())
	}
	h.work.Go(func() { h.follow(w) })
	return nil
}

// follow waits for changes until the host closes.
func (h *Host) follow(w *fsnotify.Watcher) {
	defer func() { _ = w.Close() }() // nothing is lost with it
	settle := time.NewTimer(quiet)   // also reads the folder once, for what changed before the watch began
	defer settle.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case _, ok := <-w.Events:
			if !ok {
				return
			}
			settle.Reset(quiet)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			h.log.WarnContext(h.ctx, "plugin folder: events were lost", slog.Any("error", err))
			settle.Reset(quiet)
		case <-settle.C:
			h.rescan(h.ctx)
		}
	}
}

func (h *Host) rescan(ctx context.Context) {
	if err := h.Rescan(ctx); err != nil {
		h.log.WarnContext(ctx, "plugin folder cannot be read", slog.Any("error", err))
	}
}
