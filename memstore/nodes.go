package memstore

import "github.com/jobhost/jobhost"

func (t *tx) Nodes() ([]jobhost.Node, error) { return t.nodes.Values(), nil }

func (t *tx) PutNode(n jobhost.Node) (existed bool, err error) {
	if err := t.write(); err != nil {
		return false, err
	}
	n.Started, n.Beat = instant(n.Started), instant(n.Beat)
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
