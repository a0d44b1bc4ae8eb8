package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

func (c *cli) manifestSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set <file.wasm> <manifest>", Annotations: alsoExits("3 no such file"), Short: "Put a manifest into a module", Args: takes(2, 2, "a module and a manifest"),
		Long: `Put a manifest, YAML or JSON, into the section of a module, in place of the one that is there. The manifest is checked first.
The module is replaced only when the new one is written; with -o it stays as it is, and the new one is another file.`,
		Example: `  jobhost plugin manifest set report.wasm manifest.yaml
  jobhost plugin manifest set target/report.wasm manifest.json -o plugins/report.wasm`,
	}
	to := cmd.Flags().StringP("output", "o", "", "write the module to this file (default: the same)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file, target := args[0], *to
		if target == "" {
			target = file
		}
		if _, err := os.Stat(file); err != nil {
			return absent(err)
		}
		text, err := manifestFile(args[1], target)
		if err != nil {
			return absent(exit{exitUsage, err})
		}
		m, err := config.ReadManifest(text, nil)
		if err != nil {
			return exit{exitUsage, err}
		}
		section, err := config.ManifestJSON(text)
		if err != nil {
			return exit{exitUsage, err}
		}
		if err := host.PutManifest(file, section, target); err != nil {
			return err
		}
		for _, w := range m.Warnings {
			c.say("warning: %s", w)
		}
		if beside := host.ReadManifest(target); !beside.JSON {
			c.say("warning: %s is beside the module and replaces its section; remove it, or the new manifest does nothing", beside.Name)
		}
		_, err = fmt.Fprintf(c.out, "%s: plugin %s, a manifest of %s\n", target, m.Key, count(len(section), "byte"))
		return err
	}
	return cmd
}

// manifestFile reads a manifest that is not in its place yet. It is JSON when its name says so.
func manifestFile(path, module string) (text jobhost.ManifestText, err error) {
	f, err := os.Open(path)
	if err != nil {
		return text, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, jobhost.MaxManifest+1))
	if err != nil {
		return text, err
	}
	key := strings.TrimSuffix(filepath.Base(module), ".wasm")
	return jobhost.ManifestText{Plugin: key, File: module, Name: path, JSON: strings.HasSuffix(path, ".json"), Data: data}, nil
}
