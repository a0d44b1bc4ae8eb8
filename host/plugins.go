package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// plugin is a name that jobs can refer to. Its fields are guarded by Host.mu.
type plugin struct {
	key     jobhost.Name
	file    string
	private bool        // only its owner may be able to write the file
	seen    fs.FileInfo // of the file as it was read last; nil: it could not be read
	side    fs.FileInfo // the same of the manifest beside it; nil: there was none
	active  *module     // what runs; nil: nothing yet
	problem string      // why the file as it is now does not run

	manifest jobhost.Manifest     // of what runs
	text     jobhost.ManifestText // the same, as it was found
	clash    jobhost.Name         // the key that it would have, if it might; empty: its own

	// settled is closed once the file as it is now runs or is known to be broken. A change of the file replaces it.
	settled chan struct{}
}

func (p *plugin) describe() jobhost.Plugin {
	d := jobhost.Plugin{Key: p.key, File: p.file, Ready: p.active != nil, Problem: p.problem}
	if p.active != nil {
		d.Digest, d.Kind = p.active.digest, p.active.kind
	}
	return d
}

// changed reports whether the file, or that of its manifest, is another one than that which was read last.
func (p *plugin) changed(info, side fs.FileInfo) bool {
	return p.seen == nil || !sameFile(p.seen, info) || !sameFile(p.side, side)
}

const extension = ".wasm"

// Rescan reads the plugin folder again: new and changed files are compiled in the background and replace the version
// that runs once they are good, absent ones are dropped. Runs that are going on finish with the version they began
// with. It returns once the folder has been read; see [Host.Ready]. A file whose name is no valid key is listed with
// that problem, hidden files are ignored. Without a plugin folder it does nothing.
func (h *Host) Rescan(ctx context.Context) error {
	if h.cfg.Dir == "" {
		return nil
	}
	h.scan.Lock()
	defer h.scan.Unlock()
	files, err := modulesIn(h.cfg.Dir)
	if err != nil {
		return &jobhost.Error{
			Code: jobhost.InvalidDefinition, Op: "host.rescan", Msg: "plugin folder: " + err.Error(), Hint: "create it, or name another one",
			Err: err,
		}
	}
	gone := h.dropAllBut(ctx, files)
	for _, c := range h.claims(files) {
		h.pluginOf(ctx, c)
	}
	for _, file := range files {
		h.look(ctx, file)
	}
	h.shelf.forget(ctx, h.keysThere(), time.Now(), len(gone) > 0)
	for _, p := range gone {
		h.log.InfoContext(ctx, "plugin gone", slog.String("plugin", p.key), slog.String("file", p.file))
	}
	if len(gone) > 0 {
		h.changed()
	}
	return nil
}

// keysThere are the keys that plugins have, or would have.
func (h *Host) keysThere() map[jobhost.Name]bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	there := make(map[jobhost.Name]bool, len(h.plugins))
	for key, p := range h.plugins {
		there[key], there[orDefault(p.clash, key)] = true, true
	}
	return there
}

// look loads a file of the plugin folder if it, or its manifest, has changed.
func (h *Host) look(ctx context.Context, file string) {
	info, err := os.Stat(file)
	side := statSide(file)
	h.mu.Lock()
	p := h.byFile(file)
	if p == nil || p.settled != nil && err == nil && !p.changed(info, side) && !h.freed(p) {
		h.mu.Unlock() // it is as it was, or cannot be called anything
		return
	}
	settled := p.renew(info)
	closed := h.closed
	if !closed {
		h.work.Add(1)
	}
	h.mu.Unlock()
	if closed {
		return
	}
	go func() {
		defer h.work.Done()
		ctx, cancel := h.bound(context.WithoutCancel(ctx), time.Time{})
		defer cancel()
		if enter(ctx, h.reading) {
			defer func() { <-h.reading }()
		}
		_ = h.load(ctx, p, settled) // it has been logged, and is the plugin's problem
	}()
}

// renew says that the plugin's file is a new one, which is not settled yet.
func (p *plugin) renew(info fs.FileInfo) chan struct{} {
	p.seen = info
	p.settled = make(chan struct{})
	return p.settled
}

// load reads and compiles a plugin's file, and makes it the version that runs if it is good and still the newest.
func (h *Host) load(ctx context.Context, p *plugin, settled chan struct{}) error {
	defer close(settled)
	v, bin, err := h.compileFile(ctx, p)
	counts, old, err := h.settle(ctx, p, settled, v, err)
	if counts && err == nil && p.private {
		h.shelf.put(ctx, v.manifest.Key, v.module.digest, bin) // not before it is known to be the key's
	}
	if !counts || jobhost.CodeOf(err) == jobhost.Canceled { // the host closes, which says nothing about the plugin
		return err
	}
	if v.leftOut != nil {
		h.log.WarnContext(ctx, "manifest left out", slog.String("plugin", p.key), slog.String("problem", v.leftOut.Error()))
	}
	if err != nil {
		h.log.WarnContext(ctx, "plugin refused", slog.String("plugin", p.key), slog.String("file", p.file),
			slog.String("problem", err.Error()), slog.Bool("old_version_runs", old))
	} else {
		h.log.InfoContext(ctx, "plugin ready", slog.String("plugin", p.key), slog.String("file", p.file),
			slog.String("digest", v.module.digest), slog.String("kind", v.module.kind))
	}
	h.changed()
	return err
}

// changed tells whoever wants to know that a plugin became ready, broken or absent, and removes what is kept of older ones.
func (h *Host) changed() {
	h.pruneCache()
	if h.cfg.Changed != nil {
		h.cfg.Changed()
	}
}

// settle records what came of a plugin's file. It reports whether that counts, since the file may have changed again,
// whether there was a version before, and what is wrong with the new one.
func (h *Host) settle(ctx context.Context, p *plugin, settled chan struct{}, v version, problem error) (counts, old bool, err error) {
	problem = brief(problem)
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.settled != settled || h.plugins[p.key] != p {
		if v.module != nil {
			h.modules.put(ctx, v.module)
		}
		return false, false, problem
	}
	p.seen, p.side = v.info, v.side
	p.problem = ""
	before := p.active
	if problem == nil {
		if problem = h.rekey(ctx, p, v.manifest.Key); problem != nil {
			h.modules.put(ctx, v.module)
		}
	}
	if problem != nil {
		p.problem = problem.Error()
		return true, before != nil, problem
	}
	p.active, p.manifest, p.text = v.module, v.manifest, v.text
	if before != nil {
		h.modules.put(ctx, before)
	}
	return true, before != nil, nil
}

// compileFile reads a plugin's file and compiles it, or gives up when ctx ends. It also returns the bytes of the module.
func (h *Host) compileFile(ctx context.Context, p *plugin) (version, []byte, error) {
	v, bin, digest, err := h.read(p)
	if err == nil {
		v.module, err = h.modules.get(ctx, digest, func(m *module) error { return h.compile(m, bin) })
		if err != nil && ctx.Err() != nil {
			return v, nil, tooLate(ctx, p.file)
		}
	}
	if err != nil {
		return v, nil, fmt.Errorf("%s: %w", p.file, err)
	}
	return v, bin, nil
}

// dropAllBut forgets the plugins whose files are gone, and returns them.
func (h *Host) dropAllBut(ctx context.Context, files []string) (gone []*plugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, p := range h.plugins {
		if slices.Contains(files, p.file) || !p.private {
			continue
		}
		delete(h.plugins, key)
		if p.active != nil {
			h.modules.put(ctx, p.active)
		}
		gone = append(gone, p)
	}
	return gone
}

// Load loads a single file as a plugin, outside the plugin folder, and returns when it is ready to run. It does not ask
// who may write the file: whoever calls it chose the file. An error names the file and the mend; its code is
// jobhost.NotFoundPlugin. A key that is taken is an error. When ctx ends first, Load returns at once with an error that
// says that the time went into compiling and wraps the cause; what was begun is finished in the background, for whoever
// asks next.
func (h *Host) Load(ctx context.Context, key jobhost.Name, file string) (jobhost.Plugin, error) {
	refuse := func(err error) (jobhost.Plugin, error) {
		return jobhost.Plugin{}, &jobhost.Error{Code: jobhost.NotFoundPlugin, Op: "host.load", Msg: err.Error(), Err: err}
	}
	p := &plugin{key: key, file: file}
	settled := p.renew(nil)
	h.mu.Lock()
	switch {
	case h.closed:
		h.mu.Unlock()
		return refuse(errClosed)
	case h.plugins[key] != nil:
		h.mu.Unlock()
		return refuse(fmt.Errorf("plugin %q is loaded already, from %s", key, h.plugins[key].file))
	}
	h.plugins[key] = p
	h.work.Add(1)
	h.mu.Unlock()
	defer h.work.Done()
	ctx, cancel := h.bound(ctx, time.Time{})
	defer cancel()
	err := h.load(ctx, p, settled)
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.active == nil {
		delete(h.plugins, key)
		if ctx.Err() != nil {
			return jobhost.Plugin{}, err
		}
		return refuse(err)
	}
	return p.describe(), nil
}

// Ready waits until each of the plugins is ready or known to be broken; without keys, until all are. The error names
// each one that cannot run, with its problem; its code is jobhost.NotFoundPlugin. A plugin whose newest file is broken
// but whose last good version runs is ready. The end of ctx is returned as it is.
func (h *Host) Ready(ctx context.Context, keys ...jobhost.Name) error {
	if len(keys) == 0 {
		h.mu.RLock()
		keys = sortedKeys(h.plugins)
		h.mu.RUnlock()
	}
	var errs []error
	for _, key := range keys {
		err := h.ready(ctx, key)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return &jobhost.Error{Code: jobhost.NotFoundPlugin, Op: "host.ready", Msg: err.Error(), Err: err}
	}
	return nil
}

func (h *Host) ready(ctx context.Context, key jobhost.Name) error {
	for {
		h.mu.RLock()
		p := h.plugins[key]
		if p == nil {
			h.mu.RUnlock()
			return fmt.Errorf("plugin %q is not in %s", key, orDefault(h.cfg.Dir, "this host"))
		}
		settled, active, problem := p.settled, p.active, p.problem
		h.mu.RUnlock()
		select {
		case <-settled:
		default:
			select {
			case <-settled:
			case <-ctx.Done():
				return nil
			case <-h.ctx.Done():
				return errClosed
			}
			continue // look again: the file may have changed meanwhile
		}
		if active == nil {
			return fmt.Errorf("plugin %q: %s", key, problem)
		}
		return nil
	}
}
