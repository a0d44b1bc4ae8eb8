package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

func (c *cli) pluginManifest() *cobra.Command {
	return c.group("manifest", "Look at the manifest of a plugin, or give it one", `  jobhost plugin manifest show plugins/report.wasm
  jobhost plugin manifest set plugins/report.wasm manifest.yaml`, c.manifestShow(), c.manifestSet())
}

// understand reads a manifest for the host: what can be known of it without a configuration.
func understand(text jobhost.ManifestText) (jobhost.Manifest, error) {
	m, err := config.ReadManifest(text, nil)
	if err != nil {
		return jobhost.Manifest{}, errors.New(flat(err.Error()))
	}
	return m.Manifest, nil
}

// manifestOf reads the manifest of a module's file; nil: it has none.
func manifestOf(file string, vars map[string]string) (*config.Manifest, error) {
	text := host.ReadManifest(file)
	if text.Data == nil && text.Err == nil {
		return nil, nil //nolint:nilnil // a module without a manifest is no error
	}
	m, err := config.ReadManifest(text, vars)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return m, nil
}

// described is a manifest for people and programs.
type described struct {
	From        string         `json:"from"` // the file it is in, or the module and its section
	Key         jobhost.Name   `json:"key"`
	Version     string         `json:"version,omitempty"`
	Description string         `json:"description,omitempty"`
	Timeout     string         `json:"timeout,omitempty"`
	Retry       string         `json:"retry,omitempty"`
	Schema      any            `json:"schema,omitempty"`
	Wants       []jobhost.Want `json:"wants"`
	Jobs        []describedJob `json:"jobs"`
	Warnings    []string       `json:"warnings,omitempty"`
}

func describeManifest(m *config.Manifest) *described {
	d := &described{
		From: m.Text.Name, Key: m.Key, Version: m.Version, Description: m.Description, Timeout: timeLimit(m.Timeout), Retry: retries(m.Retry),
		Wants: append([]jobhost.Want{}, m.Wants...), Jobs: []describedJob{},
	}
	if len(m.Schema) > 0 {
		d.Schema = m.Schema
	}
	for _, w := range m.Warnings {
		d.Warnings = append(d.Warnings, w.Error())
	}
	return d
}

// wanted writes what a plugin would like to be granted, one after the other.
func wanted(wants []jobhost.Want) string {
	list := make([]string, len(wants))
	for i, w := range wants {
		list[i] = strings.TrimSuffix(strings.TrimSpace(w.Grant+" "+w.What+" ("+w.Why+")"), " ()")
	}
	return strings.Join(list, "; ")
}

// loadOver loads a configuration over what the plugins of a running node bring.
func (c *cli) loadOver(n *node) func([]config.File) (*config.Settings, error) {
	return func(files []config.File) (*config.Settings, error) {
		return c.loadWith(files, func(string) []jobhost.ManifestText { return n.host.Manifests() })
	}
}

// stale reports whether plugins bring something else than the node does now.
func (r *reloader) stale() bool { return r.outdated(r.current) }

// outdated reports whether plugins bring something else than what settings have of them.
func (n *node) outdated(s *config.Settings) bool {
	now := n.host.Manifests()
	if len(now) != len(s.Manifests) {
		return true
	}
	taken := map[string]jobhost.ManifestText{}
	for _, m := range s.Manifests {
		taken[m.Text.File] = m.Text
	}
	for _, m := range now {
		if t, ok := taken[m.File]; !ok || t.Name != m.Name || !bytes.Equal(t.Data, m.Data) {
			return true
		}
	}
	return false
}
