package main

import "github.com/spf13/cobra"

func (c *cli) plugin() *cobra.Command {
	return c.group("plugin", "Look at plugins", `  jobhost plugin ls
  jobhost plugin inspect plugins/hello.wasm
  jobhost plugin manifest show plugins/hello.wasm`, c.pluginLs(), c.pluginInspect(), c.pluginBench(), c.pluginManifest())
}
