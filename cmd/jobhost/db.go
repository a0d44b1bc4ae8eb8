package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/config"
)

func (c *cli) db() *cobra.Command {
	cmd := c.group("db", "Look at, save and compact the store", `  jobhost db stats
  jobhost db backup /backup/jobhost-$(date +%F).db
  jobhost db export | jq -c 'select(.kind == "run") | .record'
  jobhost db compact`,
		c.dbStats(), c.dbBackup(), c.dbExport(), c.dbCompact())
	cmd.Long = `Look at, save and compact the store. A host that runs has the store's file for itself and is asked; when none runs, the
file is read as it is.`
	return cmd
}

// keeper is a file for those who look after it.
type keeper struct{ store *boltstore.Store }

var _ api.StoreKeeper = keeper{}

// keeperOf returns nil for a store without a file.
func keeperOf(s jobhost.Store) api.StoreKeeper {
	if b, ok := s.(*boltstore.Store); ok {
		return keeper{b}
	}
	return nil
}

// StoreStats implements [api.StoreKeeper].
func (k keeper) StoreStats(ctx context.Context) (api.StoreStats, error) {
	st, err := k.store.Stats(ctx)
	return api.StoreStats(st), err
}

// BackupStore implements [api.StoreKeeper].
func (k keeper) BackupStore(ctx context.Context, w io.Writer) error { return k.store.Backup(ctx, w) }

// ExportStore implements [api.StoreKeeper].
func (k keeper) ExportStore(ctx context.Context, w io.Writer) error { return k.store.Export(ctx, w) }

// onStore works on the store of the running host, or, if none answers where the configuration says, on the file. It may
// call do for both, but only once to some effect.
func (f *client) onStore(do func(context.Context, api.StoreKeeper) error) error {
	ctx, server, done, err := f.dial()
	if err != nil {
		return err
	}
	defer done()
	err = do(ctx, server)
	if f.chosen() != "" || !nobodyThere(err) {
		return err
	}
	s, _, e := f.cli.settings(*f.config)
	if e != nil {
		return e
	}
	if s.Store.Kind != config.StoreBolt {
		return nowhere(err, "and store.kind is "+s.Store.Kind, "only a store of kind bolt has a file")
	}
	store, e := boltstore.Open(s.Store.Path, boltstore.Config{ReadOnly: true, MaxSize: s.Store.MaxSize, Report: func(d boltstore.Damage) {
		f.cli.say("jobhost: a record of %s cannot be read: key %q: %v", d.Bucket, d.Key, d.Err)
	}})
	switch {
	case errors.Is(e, fs.ErrNotExist):
		return nowhere(err, fmt.Sprintf("and there is no store %q", s.Store.Path), inThisFolder)
	case boltstore.InUse(e):
		return nowhere(err, fmt.Sprintf("but another process has the store %q", s.Store.Path), "name the socket of that one with --socket")
	case e != nil:
		return ofHost(e)
	}
	return errors.Join(do(ctx, keeper{store}), store.Close())
}

// nobodyThere reports whether no server was reached at all.
func nobodyThere(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// nowhere adds to the error of a server that was not reached why the file is no way out.
func nowhere(err error, why, hint string) error {
	e, ok := errors.AsType[*jobhost.Error](err)
	if !ok {
		return err
	}
	return &jobhost.Error{Code: e.Code, Op: e.Op, Msg: e.Msg + ", " + why, Hint: hint, Err: err}
}

// compacting logs how far the compaction at a start is, if it takes long.
func compacting(log *slog.Logger) func(done, total int64) {
	said := time.Now()
	return func(done, total int64) {
		if now := time.Now(); now.Sub(said) > progress {
			said = now
			log.Info("compacting the store", slog.String("done", sizeText(done)), slog.String("total", sizeText(total)))
		}
	}
}

// compacted logs what came of the compaction at a start.
func compacted(log *slog.Logger) func(boltstore.Compaction, error) {
	return func(c boltstore.Compaction, err error) {
		if err != nil {
			log.Warn("the store cannot be compacted, and is used as it is", slog.Any("err", err))
			return
		}
		log.Info("the store was compacted", slog.String("before", sizeText(c.Before)), slog.String("after", sizeText(c.After)))
	}
}

// sizeText writes a number of bytes as people read it.
func sizeText(n int64) string {
	const units = "KMGT"
	f, i := float64(n)/1024, 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
