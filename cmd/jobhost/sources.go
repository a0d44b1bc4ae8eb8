package main

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/jobhost/jobhost/config"
)

// noFiles says where a configuration was looked for when there is none.
func noFiles() string {
	path, err := filepath.Abs(defaultConfig)
	if err != nil {
		path = defaultConfig
	}
	return "there is no " + path + "; defaults and environment variables hold"
}

// emptyFiles warns of files without a setting: somebody may have forgotten to save them.
func emptyFiles(files []config.File) (found config.Problems) {
	for _, f := range files {
		empty := true
		for line := range bytes.Lines(f.Data) {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
				empty = false
				break
			}
		}
		if empty {
			found = append(found, config.Problem{Pos: config.Position{File: f.Name}, Msg: "has no settings in it"})
		}
	}
	return found
}

// logSources says what a configuration is made of.
func logSources(log *slog.Logger, files []config.File) {
	if len(files) == 0 {
		log.Warn("configuration", slog.String("warning", noFiles()))
		return
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	log.Info("configuration", slog.String("files", strings.Join(names, ", ")))
	for _, p := range emptyFiles(files) {
		log.Warn("configuration", slog.String("warning", p.Error()))
	}
}
