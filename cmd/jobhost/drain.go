package main

import (
	"context"
	"log/slog"

	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/engine"
)

// drainable is a gate that logs when this node is asked to drain: from then on it looks idle, and somebody will ask why.
type drainable struct {
	gate

	log *slog.Logger
}

// Drain logs what is asked of this node.
func (d drainable) Drain(ctx context.Context, node string) error {
	err := d.gate.Drain(ctx, node)
	if err == nil && node == d.NodeID() {
		d.log.WarnContext(ctx, "draining: this node fires no more triggers until its next start", slog.String("node", node))
	}
	return err
}

// aloneAndDraining returns the id of the node that answers when no trigger fires any more: it drains, and no other node is there
// to take over. Empty: it is not so, or not known.
func aloneAndDraining(ctx context.Context, s *api.Client) string {
	self, err := s.Self(ctx)
	if err != nil || self.State != engine.Draining.String() {
		return ""
	}
	if nodes, err := s.Nodes(ctx); err != nil || len(nodes) > 1 {
		return ""
	}
	return self.Node
}
