package memstore

import (
	"slices"

	"github.com/jobhost/jobhost"
)

// Nodes lists the nodes. The lists in them are copies.
func (t *tx) Nodes() ([]jobhost.Node, error) {
	nodes := t.nodes.Values()
	for i := range nodes {
		nodes[i].FileJobs = slices.Clone(nodes[i].FileJobs)
	}
	return nodes, nil
}

func (t *tx) PutNode(n jobhost.Node) (existed bool, err error) {
	if err := t.write(); err != nil {
		return false, err
	}
	n.Started, n.Beat, n.FileJobs = instant(n.Started), instant(n.Beat), slices.Clone(n.FileJobs)
	_, existed = t.nodes.Set(n.ID, n)
	return existed, nil
}

func (t *tx) DeleteNode(id string) error {
	if err := t.write(); err != nil {
		return err
	}
	t.nodes.Delete(id)
	return nil
}

func (t *tx) PutCancel(node string, id jobhost.RunID) error {
	if err := t.writeOf(id); err != nil {
		return err
	}
	t.cancels.Set(cancel{node, id})
	return nil
}

func (t *tx) TakeCancels(node string) ([]jobhost.RunID, error) {
	if err := t.write(); err != nil {
		return nil, err
	}
	var ids []jobhost.RunID
	t.cancels.Ascend(cancel{node: node}, func(c cancel) bool {
		if c.node == node {
			ids = append(ids, c.id)
		}
		return c.node == node
	})
	for _, id := range ids {
		t.cancels.Delete(cancel{node, id})
	}
	return ids, nil
}
