package api

import (
	"context"
	"io"
	"net/http"
)

var _ StoreKeeper = (*Client)(nil)

// StoreStats describes the store of the server. A server whose store has no file answers with an error.
func (c *Client) StoreStats(ctx context.Context) (st StoreStats, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"store", "stats"}}, &st)
	return st, err
}

// BackupStore writes a copy of the store's file as it is at one moment. An error of w is returned as it is; after any
// error what was written is of no use. The server gives up on a client that takes the copy too slowly.
func (c *Client) BackupStore(ctx context.Context, w io.Writer) error {
	return c.fetch(ctx, "backup", w)
}

// ExportStore writes every record of the store as a line of JSON. What is said of errors at [Client.BackupStore] holds
// here too.
func (c *Client) ExportStore(ctx context.Context, w io.Writer) error {
	return c.fetch(ctx, "export", w)
}

func (c *Client) fetch(ctx context.Context, what string, w io.Writer) error {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: []string{"store", what}})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read only
	own := &kept{w: w}
	if _, err = io.Copy(own, resp.Body); err != nil && own.err == nil {
		return c.broken(ctx, err)
	}
	return err
}

// kept tells the errors of a writer from those of what is copied to it.
type kept struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (k *kept) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	k.err = err
	return n, err
}
