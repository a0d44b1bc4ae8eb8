package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
)

func (c *cli) dbStats() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Describe the store and its file", Args: takes(0, 0, "no arguments"),
		Long: `Describe the store and its file: how large it is, how much of it is free to be used again, and what is in it. A file
never shrinks by itself; jobhost db compact gives back what is free.`,
		Example: `  jobhost db stats
  jobhost db stats -o json | jq .freeShare`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		var st api.StoreStats
		if err := f.onStore(func(ctx context.Context, s api.StoreKeeper) (err error) {
			st, err = s.StoreStats(ctx)
			return err
		}); err != nil {
			return err
		}
		if *form == asJSON {
			return c.writeJSON(st)
		}
		return c.describeStore(st)
	}
	return cmd
}

func (c *cli) describeStore(st api.StoreStats) error {
	size := sizeText(st.Size)
	if st.MaxSize > 0 {
		size += " of at most " + sizeText(st.MaxSize)
	}
	free := fmt.Sprintf("%s, %.0f %%", sizeText(int64(st.FreePages)*int64(st.PageSize)), 100*st.FreeShare)
	return c.pairs("File", st.Path, "Format", number(st.Format), "Size", size, "Free", free,
		"Jobs", number(st.Jobs), "Triggers", number(st.Triggers), "Runs in progress", number(st.OpenRuns), "Ended runs", number(st.EndedRuns),
		"Oldest run", clock(st.OldestRun), "Newest run", clock(st.NewestRun), "Log chunks", number(st.LogChunks), "Outputs", number(st.Outputs),
		"Nodes", number(st.Nodes), "Cancel requests", number(st.CancelRequests), "Idempotency keys", number(st.IdempotencyKeys),
		"Values", number(st.Values))
}
