package main

import (
	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

func (c *cli) node() *cobra.Command {
	return c.group("node", "Look at the nodes that share a store", `  jobhost node ls
  jobhost node drain $(jobhost node ls -o json | jq -r '.[0].id')`, c.nodeLs(), c.nodeDrain())
}

func (c *cli) nodeLs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the nodes", Args: takes(0, 0, "no arguments"),
		Long:    `List the nodes. The state is known of the one that answers: only a node that is Serving fires triggers.`,
		Example: `  jobhost node ls`,
	}
	f, form := c.client(cmd), format(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		nodes, err := s.Nodes(ctx)
		if err != nil {
			return err
		}
		self, _ := s.Self(ctx) // an older host does not tell
		listed := make([]listedNode, len(nodes))
		for i, n := range nodes {
			if listed[i].Node = n; n.ID == self.Node {
				listed[i].State = self.State
			}
		}
		return writeList(c, *form, listed, "ID HOST VERSION STATE STARTED HEARTBEAT JOBS", func(n listedNode) []string {
			return []string{n.ID, n.Host, n.Version, n.State, clock(n.Started), clock(n.Beat), number(len(n.FileJobs))}
		})
	}
	return cmd
}

// listedNode is a node with its state, as far as it is known.
type listedNode struct {
	jobhost.Node

	State string `json:"state,omitempty"`
}

func (c *cli) nodeDrain() *cobra.Command {
	cmd := &cobra.Command{
		Use: "drain <node>", Short: "Let a node fire no more triggers", Args: takes(1, 1, "the id of a node"),
		Long: `Let a node fire no more triggers, before it is stopped or moved. Its runs go on, job trigger still runs jobs there, and other
nodes take over what is due; where there is none, what is due or enqueued waits. Only its next start ends the draining.`,
		Example: `  jobhost node drain web-1:4711:QX7MZK2A`,
	}
	f := c.client(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		ctx, s, done, err := f.dial()
		if err != nil {
			return err
		}
		defer done()
		if err := s.Drain(ctx, args[0]); err != nil {
			return err
		}
		c.say("%s is asked to drain", args[0])
		return nil
	}
	return cmd
}
