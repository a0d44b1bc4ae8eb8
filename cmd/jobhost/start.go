package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// progress is how often a start says what it is waiting for.
const progress = 5 * time.Second

// start waits for the plugins that the jobs of the files need, and gives the jobs to the engine.
func (n *node) start(ctx context.Context) error {
	if err := n.prepare(ctx, n.settings); err != nil {
		return err
	}
	n.sayLeftOut(ctx, n.settings)
	return n.engine.Apply(ctx, defsOf(n.settings.Jobs))
}

// prepare waits until the plugins that the jobs of the files need are compiled. A job of the configuration whose plugin is
// not there or is broken is a problem; a broken plugin that none of these needs is not (SPEC 21), and the jobs in its manifest
// are left out of the settings.
func (n *node) prepare(ctx context.Context, s *config.Settings) error {
	needed := make([]jobhost.Name, len(s.Jobs))
	for i, j := range s.Jobs {
		needed[i] = j.Def.Plugin
	}
	slices.Sort(needed)
	if err := n.compiled(ctx, slices.Compact(needed)); err != nil {
		return err
	}
	plugins, err := n.host.Plugins(ctx)
	if err != nil {
		return err
	}
	leaveOut(s, plugins)
	if problems := pluginProblems(s, plugins); len(problems) > 0 {
		return exit{exitUsage, problems}
	}
	return nil
}

// leaveOut takes those jobs out of the settings that come with a plugin which does not run, or runs from another file.
func leaveOut(s *config.Settings, plugins []jobhost.Plugin) {
	without := map[string]bool{} // by where manifests are
	for i := range s.Manifests {
		m := &s.Manifests[i]
		at := slices.IndexFunc(plugins, func(p jobhost.Plugin) bool { return p.Key == m.Key && p.File == m.Text.File })
		if len(m.Jobs) == 0 || at >= 0 && plugins[at].Ready {
			continue
		}
		why := "is not loaded"
		if at = slices.IndexFunc(plugins, func(p jobhost.Plugin) bool { return p.File == m.Text.File }); at >= 0 && plugins[at].Problem != "" {
			why = "cannot be loaded: " + plugins[at].Problem
		}
		without[m.Text.Name] = true
		m.Jobs = nil
		s.LeftOut = append(s.LeftOut, config.Problem{
			Pos: config.Position{File: m.Text.File}, Msg: fmt.Sprintf("plugin %q %s; so no jobs are taken from its manifest", m.Key, why),
		})
	}
	if len(without) > 0 {
		s.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(j config.Job) bool { return without[j.Pos.File] })
	}
}

// compiled waits for plugins, whether they prove good or not.
func (n *node) compiled(ctx context.Context, keys []jobhost.Name) error {
	left := n.compiling(ctx, keys)
	if len(left) == 0 {
		return nil
	}
	n.log.InfoContext(ctx, "compiling the plugins that jobs need", slog.Int("plugins", len(left)))
	began := time.Now()
	tick := time.NewTicker(progress)
	defer tick.Stop()
	ready := make(chan error, 1)
	go func() { ready <- n.host.Ready(ctx, keys...) }()
	for {
		select {
		case err := <-ready:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil {
				n.log.InfoContext(ctx, "the plugins are ready", slog.Duration("took", time.Since(began).Round(time.Millisecond)))
			}
			return nil // what is wrong is said for each job, with its place
		case <-tick.C:
			n.log.InfoContext(ctx, "still compiling", slog.String("plugins", strings.Join(n.compiling(ctx, keys), ", ")))
		}
	}
}

// compiling lists those of the plugins that are neither ready nor broken.
func (n *node) compiling(ctx context.Context, keys []jobhost.Name) (names []string) {
	plugins, err := n.host.Plugins(ctx)
	if err != nil {
		return nil
	}
	for _, p := range plugins {
		if !p.Ready && p.Problem == "" && slices.Contains(keys, p.Key) {
			names = append(names, p.Key)
		}
	}
	return names
}

// pluginProblems names the plugins whose jobs cannot run, each with the place of a job, the other jobs and the mend.
func pluginProblems(s *config.Settings, plugins []jobhost.Plugin) config.Problems {
	var keys []string
	for _, p := range plugins {
		keys = append(keys, p.Key)
	}
	there := "which has no plugin"
	if len(keys) > 0 {
		there = "which has " + strings.Join(keys[:min(len(keys), 20)], ", ")
	}
	return eachPlugin(s, func(plugin jobhost.Name) string {
		i := slices.IndexFunc(plugins, func(p jobhost.Plugin) bool { return p.Key == plugin })
		switch {
		case i < 0:
			return fmt.Sprintf("is not in %s, %s; put the file %s.wasm there", s.Plugins.Dir, there, plugin)
		case !plugins[i].Ready:
			return "cannot be loaded: " + plugins[i].Problem
		}
		return ""
	})
}
