package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

func (c *cli) config() *cobra.Command {
	return c.group("config", "Look at the configuration", `  jobhost config show
  jobhost config schema > jobhost.schema.json`, c.configShow(), c.configSchema())
}

func (c *cli) configShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "List every setting, its value and where that comes from", Args: takes(0, 0, "no arguments"),
		Long: `List every setting with the value that is in force and its source: the default, a place in a file, or an environment
variable. Lists are only counted; "jobhost validate" checks what is in them.`,
		Example: `  jobhost config show
  jobhost config show -c /etc/jobhost/jobhost.yaml -o json | jq -r '.[] | select(.source != "default") | .key'`,
	}
	paths, form := configFlag(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		files, err := readConfig(*paths)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			c.say("warning: %s", noFiles())
		}
		for _, p := range config.Misnamed(c.environ) {
			c.say("warning: %s", visible(p.Error()))
		}
		entries, err := config.Effective(config.Sources{Files: files, Environ: c.environ, Manifests: host.ReadManifests})
		if err != nil {
			return exit{exitUsage, err}
		}
		return writeList(c, *form, entries, "KEY VALUE SOURCE", func(e config.Entry) []string { return []string{e.Key, e.Value, e.Source} })
	}
	return cmd
}

func (c *cli) configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print a JSON Schema of the configuration file", Args: takes(0, 0, "no arguments"),
		Long: `Print a JSON Schema of the configuration file, for editors that complete and check while one types. "jobhost validate" knows
more: what a schedule means, and whether plugins are there.`,
		Example: `  jobhost config schema > jobhost.schema.json
  # and in the first line of jobhost.yaml: # yaml-language-server: $schema=jobhost.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.out, "%s\n", schema)
			return err
		},
	}
}
