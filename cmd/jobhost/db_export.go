package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
)

func (c *cli) dbExport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export [file]", Short: "Write every record as a line of JSON", Args: takes(0, 1, "one file at most"),
		Long: `Write every record of the store as a line of JSON, to standard output or into a file. Each line has a kind and the
record; all are of one moment. A host that runs goes on meanwhile.`,
		Example: `  jobhost db export jobhost.jsonl
  jobhost db export | jq -c 'select(.kind == "run" and .record.state == "Failed") | .record'`,
	}
	f, force := c.client(cmd), forceFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		m := c.meter("export")
		export := func(w io.Writer) error {
			return f.onStore(func(ctx context.Context, s api.StoreKeeper) error { return s.ExportStore(ctx, m.writer(w)) })
		}
		if len(args) == 0 {
			return export(c.out)
		}
		out, err := create(args[0], *force)
		if err != nil {
			return err
		}
		defer out.discard()
		if err := export(out); err != nil {
			return err
		}
		if err := out.finish(func(string) error { return nil }); err != nil {
			return err
		}
		c.say("%s has %s", args[0], sizeText(m.done))
		return nil
	}
	return cmd
}
