package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// Backup writes the file as it is at one moment, whatever is committed meanwhile. What it writes is a store that [Open]
// opens. It keeps nobody waiting, but what is deleted meanwhile cannot be used again before it ends: when w takes the
// copy so slowly that the store would grow too far or be full of it, Backup gives up with [jobhost.StoreFull].
//
// It returns an error of w, or the context's, as it is. What was written until then is of no use.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	return s.read(ctx, "boltstore.backup", func(t *tx) error {
		out := s.outlet(ctx, t.b, w)
		_, err := t.b.WriteTo(out)
		if out.err != nil {
			return out.err // bbolt keeps only the text of some errors
		}
		if errors.Is(err, io.EOF) {
			err = damaged("its end is missing")
		}
		if err != nil {
			return s.failure("boltstore.backup", err)
		}
		return nil
	})
}

// slack is how much of the file may wait for a reader in any case, in bytes.
const slack = 64 << 20

// outlet is where a long reader writes. It fails when the context ends, and when too much of the file waits for it.
type outlet struct {
	write func([]byte) (int, error)
	err   error // the first one
}

func (s *Store) outlet(ctx context.Context, b *bolt.Tx, w io.Writer) *outlet {
	most := max(b.Size(), slack)
	if s.limits.file > 0 { // the other half is for the records that come
		most = int64(s.limits.file-used(s.db, b)) / 2
	}
	page := int64(s.db.Info().PageSize)
	return &outlet{write: func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if waits := int64(s.db.Stats().PendingPageN) * page; waits > most {
			return 0, &jobhost.Error{
				Code: jobhost.StoreFull, Op: "boltstore.read", Msg: fmt.Sprintf("store %q: the copy is taken too slowly: %d MiB of the file wait for its end", s.path, waits>>20),
				Params: map[string]any{"path": s.path}, Hint: "take it faster, to a local disk, or at a quieter time",
			}
		}
		return w.Write(p)
	}}
}

// Write implements [io.Writer].
func (o *outlet) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.write(p)
	o.err = err
	return n, err
}
