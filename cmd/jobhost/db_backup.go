package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
)

func (c *cli) dbBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup <file>", Short: "Save a copy of the store", Args: takes(1, 1, "the file to make"),
		Long: `Save a copy of the store as it is at one moment. A host that runs goes on meanwhile. The copy is a store itself: to go
back to it, stop the host and put the copy in the place of store.path. There is no file before the copy is whole and
can be opened.`,
		Example: `  jobhost db backup /backup/jobhost-$(date +%F).db
  jobhost db backup latest.db --force`,
	}
	f, force := c.client(cmd), forceFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		out, err := create(args[0], *force)
		if err != nil {
			return err
		}
		defer out.discard()
		m := c.meter("backup")
		if err := f.onStore(func(ctx context.Context, s api.StoreKeeper) error {
			return s.BackupStore(ctx, m.writer(out))
		}); err != nil {
			return err
		}
		if err := out.finish(func(path string) error {
			store, err := boltstore.Open(path, boltstore.Config{ReadOnly: true})
			if err != nil {
				return exit{exitFailed, err}
			}
			return store.Close()
		}); err != nil {
			return err
		}
		c.say("%s has %s", args[0], sizeText(m.done))
		return nil
	}
	return cmd
}
