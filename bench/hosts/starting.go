//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jobhost/jobhost/host"

	"github.com/jobhost/jobhost/bench/internal/report"
	"github.com/jobhost/jobhost/bench/internal/usage"
)

// starting takes a host from nothing until all its plugins are ready: with an empty cache, and with what that left.
var starting = measure{
	name:  "start",
	title: func(o options) string { return fmt.Sprintf("a host starts with %d plugins in Go", o.Plugins) },
	columns: []report.Column{
		{Key: "seconds", Title: "seconds"}, {Key: "cpu", Title: "CPU s"}, {Key: "resident", Title: "resident MiB"}, {Key: "cache", Title: "cache MiB"},
	},
	cases: []string{"cold", "warm"},
	take: func(ctx context.Context, o order) (_ report.Values, err error) {
		dir, err := os.MkdirTemp("", "bench-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if err := plugins(dir, o.Options); err != nil {
			return nil, err
		}
		cfg := host.Defaults()
		cfg.Dir, cfg.Cache = dir, o.Cache
		began, cpu := time.Now(), usage.Self.CPU()
		h, err := host.New(ctx, cfg)
		if err != nil {
			return nil, err
		}
		if err := h.Ready(ctx); err != nil {
			return nil, err
		}
		v := report.Values{"seconds": time.Since(began).Seconds(), "cpu": (usage.Self.CPU() - cpu).Seconds()}
		resident, err := usage.Self.Resident()
		if err != nil {
			return nil, err
		}
		kept, err := size(o.Cache)
		v["resident"], v["cache"] = resident/(1<<20), kept/(1<<20)
		return v, errors.Join(err, h.Close(ctx))
	},
}

// plugins writes modules that differ in a custom section and do the same.
func plugins(dir string, o options) error {
	module, err := os.ReadFile(o.GoFile)
	if err != nil {
		return err
	}
	for i := range o.Plugins {
		section := append([]byte{0, 9, 4}, "nth "...) // custom, its length, the length of its name
		section = binary.BigEndian.AppendUint32(section, uint32(i))
		file := filepath.Join(dir, fmt.Sprintf("plugin-%02d.wasm", i))
		if err := os.WriteFile(file, slices.Concat(module, section), 0o600); err != nil { //nolint:gosec // a folder of our own
			return err
		}
	}
	return nil
}

// size is how many bytes the files of a folder have.
func size(dir string) (total float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += float64(info.Size())
		}
		return err
	})
	return total, err
}
