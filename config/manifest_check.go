package config

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jobhost/jobhost"
)

// checkData holds the data that runs of a job will have against the plugin's schema, as far as it is known: that of each
// trigger, or of a job without one what a request may add to.
func (m *manifestDraft) checkData(j *jobDraft) {
	if m.Data == nil || j.open {
		return
	}
	if len(j.Def.Triggers) == 0 {
		m.misfit(m.hold(j.Def.Data, false), j.at, j.given["data"])
	}
	for _, t := range j.triggers {
		if merged, err := jobhost.MergeData(j.Def.Data, t.Data); err == nil {
			m.misfit(m.hold(merged, true), t.at, t.given["data"], j.given["data"])
		}
	}
}

// hold holds data against the schema, as long as there is something left of what all checks of the plugin's jobs may take
// together.
func (m *manifestDraft) hold(data json.RawMessage, whole bool) error {
	if m.left == 0 {
		return nil // the check that took the rest has said so
	}
	err := m.checker.within(context.Background(), data, whole, &m.left)
	if m.left == 0 {
		return &misfit{msg: "and that of the jobs before take too long to check by the plugin's schema; make the data smaller, or the schema simpler"}
	}
	return err
}

// misfit reports a fault in merged data: at the value, in the topmost layer that has it, else at the owner of the data.
func (m *manifestDraft) misfit(err error, owner value, layers ...value) {
	fault, ok := errors.AsType[*misfit](err)
	if !ok {
		return
	}
	at := owner.child("data", owner.node)
	for _, layer := range slices.Backward(layers) {
		if layer.node == nil {
			continue
		}
		if _, has := layer.at(fault.at[:min(1, len(fault.at))]); has {
			at, _ = layer.at(fault.at)
			at.key = layer.key
		}
	}
	at.bad("%v; so says the schema of the plugin %s", fault, quote(m.Key))
}
