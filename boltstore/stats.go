package boltstore

import (
	"context"
	"os"
	"time"

	"github.com/jobhost/jobhost"
)

// Stats describes a store and its file.
type Stats struct {
	Path      string
	Format    int     // of the file
	Size      int64   // of the file, in bytes
	MaxSize   int64   // that it may reach, in bytes; 0: no limit
	PageSize  int     // in bytes
	Pages     int     // that the file has room for
	FreePages int     // of those
	FreeShare float64 // of the file, 0 to 1

	Jobs            int
	Triggers        int // one-shots included
	OpenRuns        int
	EndedRuns       int
	LogChunks       int
	Outputs         int
	Nodes           int
	CancelRequests  int
	IdempotencyKeys int
	Values          int

	OldestRun time.Time // start of the run that started first; zero: there is none
	NewestRun time.Time // of the one that started last
}

// Stats counts the records. It reads most of the file, and keeps nobody waiting.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{Path: s.path, Format: int(s.format), MaxSize: int64(s.limits.file)} //nolint:gosec // formats are few
	err := s.read(ctx, "boltstore.stats", func(t *tx) error {
		st.PageSize = s.db.Info().PageSize
		info, err := os.Stat(s.path)
		if err != nil {
			return s.failure("boltstore.stats", err)
		}
		st.Size = info.Size()
		st.Pages = int(st.Size) / st.PageSize
		st.FreePages = max(0, st.Pages-used(s.db, t.b)/st.PageSize)
		st.FreeShare = float64(st.FreePages) / float64(max(st.Pages, 1))
		st.OldestRun, st.NewestRun = t.extent()
		for _, c := range []struct {
			n *int
			i bucket
		}{
			{&st.Jobs, bJobs},
			{&st.Triggers, bTriggers},
			{&st.OpenRuns, bOpen},
			{&st.EndedRuns, bRuns},
			{&st.LogChunks, bLogs},
			{&st.Outputs, bOutputs},
			{&st.Nodes, bNodes},
			{&st.CancelRequests, bCancels},
			{&st.IdempotencyKeys, bKeys},
			{&st.Values, bValues},
		} {
			if err := ctx.Err(); err != nil {
				return err
			}
			*c.n = t.bucket(c.i).Stats().KeyN
		}
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	return st, nil
}

// extent is when the first and the last run started.
func (t *tx) extent() (oldest, newest time.Time) {
	add := func(at time.Time) {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		if at.After(newest) {
			newest = at
		}
	}
	c := t.bucket(bRuns).Cursor()
	first, _ := c.First()
	last, _ := c.Last()
	for _, k := range [][]byte{first, last} {
		if started, _, err := startedKey(k); err == nil {
			add(fromMicro(started))
		}
	}
	t.eachOpen("", true, func(r jobhost.Run) { add(r.StartedAt) })
	return oldest, newest
}
