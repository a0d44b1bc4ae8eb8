package main

import (
	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) pluginLs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the plugins of a running host", Args: takes(0, 0, "no arguments"),
		Long: `List the plugins of a running host. One that is Ready can have a problem, too: its file was replaced by one that is refused, so
that an older version runs, or its manifest does not go together with the configuration, so that it brings no jobs.`,
		Example: `  jobhost plugin ls`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		plugins, err := s.Plugins(ctx)
		if err != nil {
			return err
		}
		return writeList(c, *form, plugins, "KEY KIND STATE DIGEST PROBLEM", func(p jobhost.Plugin) []string {
			return []string{p.Key, p.Kind, pluginState(p), short(p.Digest), p.Problem}
		})
	}
	return cmd
}

// pluginState is what a plugin can do now, in one word.
func pluginState(p jobhost.Plugin) string {
	switch {
	case p.Ready:
		return "Ready"
	case p.Problem != "":
		return "Broken"
	}
	return "Compiling"
}

// short is the beginning of a digest, enough to tell two apart.
func short(digest string) string { return digest[:min(len(digest), 12)] }
