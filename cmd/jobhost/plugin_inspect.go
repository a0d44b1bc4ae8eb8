package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

func (c *cli) pluginInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect <file.wasm>", Annotations: alsoExits("3 no such file"), Short: "Say what a module is and what it could use", Args: takes(1, 1, "one file"),
		Long: `Say what a module is and, by its imports, what it could use, before anything is granted to it; and by its manifest, what it would
like to be granted and which jobs it brings. The module is not run.
The exit code is 1 when the host would not load it.`,
		Example: `  jobhost plugin inspect plugins/hello.wasm
  jobhost plugin inspect plugins/hello.wasm -o json | jq .imports`,
	}
	form := format(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		in, err := inspect(args[0])
		if err != nil {
			return absent(err)
		}
		var d *described
		switch m, err := manifestOf(args[0], nil); {
		case err != nil:
			in.Problems = append(in.Problems, wrongManifest(err))
		case m != nil:
			if d, err = c.forecastManifest(m, &config.Settings{}); err != nil {
				return err
			}
		}
		if *form == asJSON {
			err = c.writeJSON(struct {
				host.Inspection
				Manifest *described `json:"manifest,omitempty"`
			}{in, d})
		} else {
			err = c.describeModule(in, d)
		}
		if err == nil && len(in.Problems) > 0 {
			return exit{exitFailed, fmt.Errorf("%s would not be loaded: %s", in.File, strings.Join(in.Problems, "; "))}
		}
		return err
	}
	return cmd
}

// inspect reads a module without a plugin folder around it.
func inspect(file string) (in host.Inspection, err error) {
	ctx := context.Background()
	h, err := host.New(ctx, host.Defaults())
	if err != nil {
		return in, err
	}
	in, err = h.Inspect(file)
	return in, errors.Join(err, h.Close(ctx))
}

// loadable says why the host would not load a file, by its module and its manifest. It does not compile.
func loadable(file string) error {
	in, err := inspect(file)
	if err != nil {
		return err
	}
	if _, err := manifestOf(file, nil); err != nil {
		in.Problems = append(in.Problems, wrongManifest(err))
	}
	if len(in.Problems) > 0 {
		return fmt.Errorf("%s: %s", file, strings.Join(in.Problems, "; "))
	}
	return nil
}

func wrongManifest(err error) string { return "the manifest is wrong: " + flat(err.Error()) }

func (c *cli) describeModule(in host.Inspection, d *described) error {
	most := ""
	if in.MaxMemory > 0 {
		most = mebibytes(in.MaxMemory)
	}
	if d == nil {
		d = &described{}
	}
	about := []string{
		"File", in.File, "Manifest", d.From, "Key", d.Key, "Version", d.Version, "Description", d.Description,
		"Kind", in.Kind, "Language", in.Language, "Size", fmt.Sprintf("%d bytes", in.Size), "SHA-256", in.Digest,
		"Functions", number(in.Functions), "Memory at start", mebibytes(in.MinMemory), "Memory at most", most,
		"Could use", strings.Join(in.Uses, ", "), "Would like", wanted(d.Wants), "Jobs", jobNames(d.Jobs),
	}
	for _, module := range modules(in.Imports) {
		about = append(about, "From "+module, symbols(in.Imports, module))
	}
	return c.pairs(append(about, "Exports", symbols(in.Exports, ""))...)
}

func jobNames(jobs []describedJob) string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.Name
	}
	return strings.Join(names, ", ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20)) }

// modules are those that a module imports from, each once.
func modules(imports []host.Symbol) (names []string) {
	for _, s := range imports {
		if !slices.Contains(names, s.Module) {
			names = append(names, s.Module)
		}
	}
	return names
}

// symbols are the names of imports from a module, or of exports, each once, since a module can import one under two types.
func symbols(list []host.Symbol, module string) string {
	var names []string
	for _, s := range list {
		if s.Module == module && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}
