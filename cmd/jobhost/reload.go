package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/jobhost/jobhost/config"
)

// reloader changes what a running node does to what its configuration and its plugins' manifests say now: jobs, calendars and
// grants. The rest of
// the settings is that of the start.
type reloader struct {
	*node

	load    func([]config.File) (*config.Settings, error)
	current *config.Settings // what the node does now
	frozen  string           // the settings that were last said to need a start
}

// reload takes new files. It waits for plugins that are being compiled, and then touches only what has changed. What is
// wrong is its error; then the last good configuration stays, unless the store failed half way, which a further call mends.
func (r *reloader) reload(ctx context.Context, files []config.File) error {
	if found := emptied(files, r.current); len(found) > 0 {
		return exit{exitUsage, found}
	}
	if err := r.host.Rescan(ctx); err != nil {
		return err
	}
	var loaded *config.Settings
	var next config.Settings
	for again := true; again; again = r.outdated(&next) { // a plugin that was waited for may bring something
		var err error
		if loaded, err = r.load(files); err != nil {
			return err
		}
		next = *r.settings
		next.Calendars, next.Jobs, next.Grants, next.Warnings = loaded.Calendars, loaded.Jobs, loaded.Grants, loaded.Warnings
		next.Manifests, next.Vars, next.LeftOut = loaded.Manifests, loaded.Vars, loaded.LeftOut
		if err := r.prepare(ctx, &next); err != nil {
			return err
		}
	}
	if err := r.surround(ctx, &next); err != nil {
		return err
	}
	if err := r.engine.Apply(ctx, defsOf(next.Jobs)); err != nil {
		if !ofStore(err) { // nothing of it was taken
			err = errors.Join(err, r.surround(ctx, r.current))
		}
		return err
	}
	for _, w := range slices.Concat(next.Warnings, grantWarnings(&next)) {
		r.log.WarnContext(ctx, "configuration", slog.String("warning", w.Error()))
	}
	r.sayLeftOut(ctx, &next)
	r.sayFrozen(ctx, loaded)
	r.current = &next
	r.log.InfoContext(ctx, "the configuration is in force", slog.Int("jobs", len(next.Jobs)), slog.Int("calendars", len(next.Calendars)),
		slog.Int("grants", len(next.Grants)))
	return nil
}

// surround gives the node what definitions rely on, before it gets these: grants, so that no run of a new definition has
// those of an old one, and calendars, which they may name.
func (n *node) surround(ctx context.Context, s *config.Settings) error {
	grants := grantsOf(s)
	if err := n.host.SetGrants(grants); err != nil {
		return err
	}
	n.grants.Store(&grants)
	return n.engine.SetCalendars(ctx, s.Calendars)
}

// sayFrozen warns of settings that are not followed until the next start, once for each set of them.
func (r *reloader) sayFrozen(ctx context.Context, loaded *config.Settings) {
	keys := strings.Join(startOnly(r.settings, loaded), ", ")
	if keys != "" && keys != r.frozen {
		r.log.WarnContext(ctx, "some settings change with the next start only", slog.String("settings", keys))
	}
	r.frozen = keys
}
