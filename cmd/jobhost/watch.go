package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// The times of watching.
const (
	lookEvery   = 2 * time.Second        // between two looks at the configuration files
	leftAlone   = 250 * time.Millisecond // that files must have the same content: one that is being written is not whole
	rescanEvery = 30 * time.Second       // between two looks at the plugin folder, since its watcher can miss a change
)

// watcher decides when a running node takes a new configuration: when its files have other content and are left alone, when
// somebody asks, when plugins bring other manifests, and again when what was refused may be good now. What a reload does is reload.go's affair.
type watcher struct {
	log     *slog.Logger
	read    func() ([]config.File, error)
	reload  func(context.Context, []config.File) error // its error: it was refused, and the last good one stays
	stale   func() bool                                // whether plugins bring something else than was taken from them
	rescan  func(context.Context) error                // reads the plugin folder
	asked   <-chan os.Signal
	plugins <-chan struct{} // a plugin became ready, broken or absent

	tried  content // what was taken or refused last
	failed bool    // it was refused
	again  bool    // because of the store: try it again at the next look
	said   string  // what was said about it, so that it is said once
}

// content is what a look at the files found.
type content struct {
	files []config.File
	err   error
}

func (c content) equal(o content) bool {
	if c.err != nil || o.err != nil {
		return c.err != nil && o.err != nil && c.err.Error() == o.err.Error()
	}
	return slices.EqualFunc(c.files, o.files, func(a, b config.File) bool {
		return a.Name == b.Name && a.Dir == b.Dir && bytes.Equal(a.Data, b.Data)
	})
}

// watch goes on until ctx ends. It looks at the files by their content, since neither times of files nor notifications
// can be trusted with mounted folders.
func (w *watcher) watch(ctx context.Context) {
	look, folder := time.NewTimer(lookEvery), time.NewTicker(rescanEvery)
	defer look.Stop()
	defer folder.Stop()
	var fresh *content // seen once; nil: nothing new
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-w.asked:
			w.log.InfoContext(ctx, "the configuration is read again", slog.String("signal", sig.String()))
			w.lookAtPlugins(ctx)
			w.said = ""
			w.take(ctx, w.look())
			fresh = nil
		case <-w.plugins:
			if w.failed || w.stale() {
				w.take(ctx, w.tried)
			}
		case <-folder.C:
			w.lookAtPlugins(ctx)
		case <-look.C:
			wait := lookEvery
			switch now := w.look(); {
			case now.equal(w.tried):
				if fresh = nil; w.again {
					w.take(ctx, w.tried)
				}
			case fresh != nil && fresh.equal(now):
				fresh = nil
				w.take(ctx, now)
			default:
				fresh, wait = &now, leftAlone
			}
			look.Reset(wait)
		}
	}
}

func (w *watcher) look() content {
	files, err := w.read()
	return content{files, err}
}

func (w *watcher) lookAtPlugins(ctx context.Context) {
	if err := w.rescan(ctx); err != nil {
		w.log.WarnContext(ctx, "the plugin folder cannot be read", slog.Any("err", err))
	}
}

// take tries a configuration, and says what came of it.
func (w *watcher) take(ctx context.Context, c content) {
	err := c.err
	if err == nil {
		err = w.reload(ctx, c.files)
	}
	if ctx.Err() != nil {
		return // the node stops
	}
	w.tried, w.failed, w.again = c, err != nil, ofStore(err)
	before := w.said
	w.said = ""
	if err == nil {
		return
	}
	if w.said = err.Error(); w.said == before {
		return
	}
	problems := lines(err)
	w.log.ErrorContext(ctx, "the configuration is refused; the last good one stays", slog.Int("problems", len(problems)))
	for _, p := range problems {
		w.log.ErrorContext(ctx, "configuration", slog.String("problem", p))
	}
}

// ofStore reports whether it is no fault of the configuration that it could not be taken.
func ofStore(err error) bool {
	if err == nil {
		return false
	}
	_, inFiles := errors.AsType[config.Problems](err)
	code := jobhost.CodeOf(err)
	return !inFiles && code != jobhost.InvalidDefinition && code != jobhost.NotFoundPlugin
}
