package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// sayLeftOut says which plugins bring no jobs, a line for each, and keeps it for those who ask.
func (n *node) sayLeftOut(ctx context.Context, s *config.Settings) {
	n.leftOut.Store(&s.LeftOut)
	for _, p := range s.LeftOut {
		n.log.ErrorContext(ctx, "the jobs of a plugin are left out", slog.String("problem", p.Error()))
	}
}

// outspoken says of a plugin without another problem why it brings no jobs.
type outspoken struct {
	drainable

	leftOut *atomic.Pointer[[]config.Problem]
}

// Plugins adds it.
func (o outspoken) Plugins(ctx context.Context) ([]jobhost.Plugin, error) {
	plugins, err := o.drainable.Plugins(ctx)
	left := o.leftOut.Load()
	if err != nil || left == nil {
		return plugins, err
	}
	plugins = slices.Clone(plugins)
	for i, p := range plugins {
		at := slices.IndexFunc(*left, func(l config.Problem) bool { return bare(l.Pos.File) == bare(p.File) })
		if at >= 0 && p.Problem == "" {
			plugins[i].Problem = flat((*left)[at].Error())
		}
	}
	return plugins, nil
}

// bare is the path of a module, of the manifest in it, or of that beside it, without what tells these apart.
func bare(file string) string {
	file, _, _ = strings.Cut(file, "#")
	return strings.TrimSuffix(file, filepath.Ext(file))
}
