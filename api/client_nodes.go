package api

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/jobhost/jobhost"
)

// Nodes implements [jobhost.Scheduler].
func (c *Client) Nodes(ctx context.Context) (nodes []jobhost.Node, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"nodes"}}, &nodes)
	return nodes, err
}

// Self tells which node answers. A server that is older than the question, or that has no node, is an error.
func (c *Client) Self(ctx context.Context) (self Self, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: []string{"self"}}, &self)
	return self, err
}

// Drain implements [jobhost.Scheduler].
func (c *Client) Drain(ctx context.Context, node string) error {
	if node == "" || node == "." || node == ".." { // it could not stand in a path
		return &jobhost.Error{Code: jobhost.NotFoundNode, Op: "api.drain", Msg: fmt.Sprintf("node %q does not exist", node)}
	}
	return c.do(ctx, request{method: http.MethodPost, path: []string{"nodes", node, "drain"}}, nil)
}

// Events implements [jobhost.Scheduler]. It returns once the server listens or has failed, so that no event is missed from
// then on. Leaving the loop ends the request.
func (c *Client) Events(ctx context.Context) iter.Seq2[jobhost.Event, error] {
	ctx, stop := context.WithCancel(ctx)
	resp, err := c.send(ctx, request{method: http.MethodGet, path: []string{"events"}}) //nolint:bodyclose // the loop closes it, or stop does
	return func(yield func(jobhost.Event, error) bool) {
		defer stop()
		if err != nil {
			yield(jobhost.Event{}, err)
			return
		}
		defer resp.Body.Close() //nolint:errcheck // it was read only
		readLines(ctx, c, resp.Body, yield)
	}
}
