package config

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jobhost/jobhost"
)

// readManifests adds what plugins bring: their jobs, and defaults and schemas for all jobs of theirs. A manifest that is wrong
// is a problem only where a job of the files needs its plugin: the host refuses that plugin (SPEC 21).
func (d *draft) readManifests(r *reader, texts []jobhost.ManifestText, jobs map[jobhost.Name]jobDraft) {
	modules := map[jobhost.Name]jobhost.ManifestText{}
	manifests := map[jobhost.Name]*manifestDraft{}
	for _, text := range texts {
		key := text.Plugin
		if text.Data != nil || text.Err != nil {
			m, err := d.readManifest(r, text)
			if err != nil {
				d.blame(r, err, key, m.Key)
				continue
			}
			key = m.Key
			manifests[key] = m
		}
		if first, twice := modules[key]; twice {
			r.problem(Problem{Position{File: text.File}, "key", fmt.Sprintf("%s is the key of the plugin in %s already; want each key once", quote(key), first.File)})
			delete(manifests, key)
			continue
		}
		modules[key] = text
		if m := manifests[key]; m != nil {
			for _, j := range m.drafts {
				d.addJob(j, j.at, jobs)
			}
		}
	}
	for i := range d.drafts {
		j := &d.drafts[i]
		if m := manifests[j.Def.Plugin]; m != nil {
			m.supply(j)
			m.checkData(j)
		}
	}
	for _, text := range texts {
		for key, m := range manifests {
			if modules[key].File == text.File {
				d.Manifests = append(d.Manifests, d.manifest(m, text))
			}
		}
	}
}

// readManifest reads one manifest. What is wrong with it by itself is the error; what is wrong with it here, such as a
// variable that is not set, is reported.
func (d *draft) readManifest(r *reader, text jobhost.ManifestText) (*manifestDraft, error) {
	alone := newReader(manifestKeys().list(""))
	alone.broken = true
	m := alone.readManifest(text)
	if err := alone.err(nil); err != nil {
		return &m, err
	}
	here := newReader(alone.rows)
	here.report, here.vars, here.broken = r.report, r.vars, r.broken
	m = here.readManifest(text)
	return &m, nil
}

// blame reports a wrong manifest if a job needs its plugin, under either of two keys.
func (d *draft) blame(r *reader, err error, keys ...jobhost.Name) {
	problems, _ := errors.AsType[Problems](err)
	for _, j := range d.drafts {
		for _, key := range keys {
			if j.Def.Plugin != key {
				continue
			}
			for _, p := range problems {
				r.problem(p)
			}
			return
		}
	}
}

// manifest is what the settings say about a manifest.
func (d *draft) manifest(m *manifestDraft, text jobhost.ManifestText) Manifest {
	for _, j := range d.drafts {
		if j.Pos.File == text.Name {
			m.Jobs = append(m.Jobs, j.Def)
		}
	}
	return Manifest{Manifest: m.Manifest, Text: text}
}

// checkData holds the data that runs of a job will have against the plugin's schema, as far as it is known: that of each
// trigger, or of a job without one what a request may add to.
func (m *manifestDraft) checkData(j *jobDraft) {
	if m.Data == nil || j.open {
		return
	}
	ctx := context.Background()
	if len(j.Def.Triggers) == 0 {
		m.misfit(m.Data.Check(ctx, j.Def.Data, false), j.at, j.given["data"])
	}
	for _, t := range j.triggers {
		if merged, err := jobhost.MergeData(j.Def.Data, t.Data); err == nil {
			m.misfit(m.Data.Check(ctx, merged, true), t.at, t.given["data"], j.given["data"])
		}
	}
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
