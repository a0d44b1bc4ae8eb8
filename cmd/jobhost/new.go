package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/sdk"
)

func (c *cli) newProject() *cobra.Command {
	var language, name string
	cmd := &cobra.Command{
		Use: "new <dir>", Annotations: alsoExits("4 something is there already"), Short: "Write a new project: a plugin and its job", Args: takes(1, 1, "one folder"),
		Long: `Write a new project into a folder that does not exist yet, or is empty: source, a build file, a copy of the SDK,
jobhost.yaml with one job, and a README. What to do next is printed.`,
		Example: `  jobhost new night-report --lang go
  jobhost new ./src/checks --lang rust --name disk-check`,
	}
	cmd.Flags().Var(choice{&language, sdk.Languages()}, "lang", "language of the plugin")
	cmd.Flags().StringVar(&name, "name", "", "name of plugin and job (default: that of the folder)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if language == "" {
			return usage("jobhost new: --lang is missing; want one of %s", strings.Join(sdk.Languages(), ", "))
		}
		return c.writeProject(args[0], language, name)
	}
	return cmd
}

func (c *cli) writeProject(dir, language, name string) error {
	if name == "" {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if name = filepath.Base(whole); !sdk.ValidName(name) {
			return usage("jobhost new: a plugin cannot be called %q, as the folder is: want lower-case letters, digits and single dashes, a letter first, at most %d; "+
				"name one with --name, such as --name night-report", name, sdk.MaxName)
		}
	}
	project, err := sdk.Project(language, name)
	if err != nil {
		return usage("jobhost new: %w", err)
	}
	if err := writeFiles(dir, project); err != nil {
		return err
	}
	c.say("wrote %d files into %s", len(project), dir)
	install := ""
	if language == "assemblyscript" {
		install = "npm install && "
	}
	_, err = fmt.Fprintf(c.out, "cd %s && %smake\njobhost exec plugins/%s.wasm --job %s -c jobhost.yaml\n", shellWord(dir), install, name, name)
	return err
}

// writeFiles writes files into a folder that is empty or not there. It never replaces a file.
func writeFiles(dir string, files map[string][]byte) error {
	if err := makeFolder(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it only names the folder
	if err := isEmpty(root, dir); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(files[file])
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func isEmpty(root *os.Root, dir string) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(1)
	if err = errors.Join(err, f.Close()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(entries) > 0 {
		return exit{exitConflict, fmt.Errorf("%s is not empty, it has %s; name a folder that does not exist yet", dir, entries[0].Name())}
	}
	return nil
}

// shellWord is a word as a shell takes it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,@%", r)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
