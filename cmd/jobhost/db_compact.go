package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/config"
)

func (c *cli) dbCompact() *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Annotations: alsoExits("3 no store is there", "4 a host runs on it", "130 interrupted"), Short: "Rewrite the store's file without what is free in it", Args: takes(0, 0, "no arguments"),
		Long: `Rewrite the store's file without what is free in it. No host may run on it. The new file is written beside the old one,
compared with it, and then put in its place; it needs as much room on the disk as the records take.

A host does the same at its start when at least store.compact_above percent of the file are free.`,
		Example: `  jobhost db compact
  jobhost db compact -c /etc/jobhost/jobhost.yaml`,
	}
	paths := configFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, _, err := c.settings(*paths)
		if err != nil {
			return err
		}
		if s.Store.Kind != config.StoreBolt {
			return usage("store.kind is %s; only a store of kind bolt has a file", s.Store.Kind)
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		m := c.meter("compact")
		done, err := boltstore.Compact(ctx, s.Store.Path, m.at)
		if err != nil {
			return cannotCompact(s.Store.Path, err)
		}
		c.say("%s has %s and had %s", s.Store.Path, sizeText(done.After), sizeText(done.Before))
		return nil
	}
	return cmd
}

// cannotCompact says what to do about a store that is in use, and gives the error of any other its code.
func cannotCompact(path string, err error) error {
	switch {
	case boltstore.InUse(err):
		return exit{exitConflict, &jobhost.Error{
			Code: jobhost.StoreUnreachable, Op: "db.compact", Msg: fmt.Sprintf("store %q is in use, and a store is compacted only while no host runs on it", path),
			Hint: "stop the host, compact and start it again; with store.compact_above the start does it", Err: err,
		}}
	case errors.Is(err, os.ErrNotExist):
		return exit{exitNotFound, err}
	}
	return ofHost(err)
}
