package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jobhost/jobhost"
)

// readManifests adds what plugins bring: their jobs, and defaults and schemas for all jobs of theirs. Whoever can drop a file
// into the plugin folder must not be able to stop the host: what the configuration says wins, and a plugin whose manifest does
// not go together with it brings no jobs. A manifest that is wrong by itself is a problem only where a job of the configuration
// needs its plugin: the host refuses that plugin (SPEC 21).
func (d *draft) readManifests(r *reader, texts []jobhost.ManifestText, jobs map[jobhost.Name]jobDraft, grants []grantDraft) {
	all := make([]*brought, len(texts))
	for i, text := range texts {
		all[i] = d.readManifest(r, text)
	}
	for _, b := range all {
		if err := clash(b, all); err != nil {
			b.here.report = &report{problems: Problems{*err}} // whatever else is wrong
			b.lost, b.m.drafts = true, nil
		}
	}
	manifests := map[jobhost.Name]*manifestDraft{}
	for _, b := range all {
		switch {
		case b.wrong != nil:
			d.blame(r, b, all)
		case b.text.Data != nil && !b.lost:
			manifests[b.m.Key] = &b.m
		}
	}
	for i := range d.drafts {
		j := &d.drafts[i]
		if m := manifests[j.Def.Plugin]; m != nil {
			m.supply(j)
			m.checkData(j)
		}
	}
	d.takeJobs(r, all, jobs, grants)
	for _, b := range all {
		if b.wrong == nil && b.text.Data != nil && !b.lost {
			d.Manifests = append(d.Manifests, b.settled())
		}
	}
}

// brought is what one module brings.
type brought struct {
	text  jobhost.ManifestText
	m     manifestDraft
	wrong error   // what is wrong with the manifest by itself
	here  *reader // collects what does not go together with the configuration
	lost  bool    // another module has its key
}

// readManifest reads one manifest: by itself, and then with the variables of the configuration.
func (d *draft) readManifest(r *reader, text jobhost.ManifestText) *brought {
	b := &brought{text: text, here: newReader(nil)}
	b.m.Key = text.Plugin
	if text.Data == nil && text.Err == nil {
		return b
	}
	alone := newReader(manifestKeys().list(""))
	alone.broken = true
	b.m = alone.readManifest(text)
	if b.wrong = alone.err(nil); b.wrong != nil {
		return b
	}
	b.here = newReader(alone.rows)
	b.here.vars, b.here.broken = r.vars, r.broken
	b.m = b.here.readManifest(text)
	return b
}

// clash says why a module cannot have the key that it claims: a file that is named after the key has it in any case, and of
// two that only claim it none has it, since nobody can tell which is meant.
func clash(b *brought, all []*brought) *Problem {
	for _, o := range all {
		named := o.text.Plugin == b.m.Key
		if o == b || b.wrong != nil || !named && (o.wrong != nil || o.m.Key != b.m.Key) {
			continue
		}
		if b.text.Plugin != b.m.Key || named && o.text.File < b.text.File {
			return &Problem{Position{File: b.text.File}, "key", fmt.Sprintf("%s is the key of the plugin in %s already; want each key once", quote(b.m.Key), o.text.File)}
		}
	}
	return nil
}

// blame reports a wrong manifest if a job needs its plugin, under the name of its file or under its key, unless the key is that
// of another module.
func (d *draft) blame(r *reader, b *brought, all []*brought) {
	keys := []jobhost.Name{b.text.Plugin}
	if !slices.ContainsFunc(all, func(o *brought) bool { return o != b && (o.m.Key == b.m.Key || o.text.Plugin == b.m.Key) }) {
		keys = append(keys, b.m.Key)
	}
	if !slices.ContainsFunc(d.drafts, func(j jobDraft) bool { return slices.Contains(keys, j.Def.Plugin) }) {
		return
	}
	problems, _ := errors.AsType[Problems](b.wrong)
	for _, p := range problems {
		r.problem(p)
	}
}

// takeJobs adds the jobs that plugins bring: all of a plugin's, or none.
func (d *draft) takeJobs(r *reader, all []*brought, jobs map[jobhost.Name]jobDraft, grants []grantDraft) {
	granted := map[jobhost.Name][]grantDraft{}
	for _, g := range grants {
		granted[g.Job] = append(granted[g.Job], g)
	}
	places := map[jobhost.Name][]Position{}
	for _, b := range all {
		for _, j := range b.m.drafts {
			places[j.Def.Name] = append(places[j.Def.Name], j.Pos)
		}
	}
	for _, b := range all {
		if b.wrong != nil {
			continue
		}
		for i := range b.m.drafts {
			j := &b.m.drafts[i]
			if first, twice := jobs[j.Def.Name]; twice {
				j.at.bad("a job of this name is defined already, at %v; want each name once", first.Pos)
			} else if n := slices.IndexFunc(places[j.Def.Name], func(p Position) bool { return p.File != j.Pos.File }); n >= 0 {
				j.at.bad("a job of this name is defined already, at %v; want each name once", places[j.Def.Name][n])
			}
			for _, g := range granted[j.Def.Name] {
				if g.Plugin != "" && g.Plugin != b.m.Key {
					j.at.bad("the grant at %v is for a job of this name of the plugin %s", g.Pos, quote(g.Plugin))
				}
			}
			for _, c := range j.calendars {
				d.checkCalendar(c)
			}
			d.warnSkip(*j)
			b.m.supply(j)
			b.m.checkData(j)
		}
		if err, _ := errors.AsType[Problems](b.here.err(nil)); len(err) > 0 {
			d.LeftOut = append(d.LeftOut, leftOut(b.m.Key, err))
			b.m.drafts = nil
		}
		for _, w := range b.here.warnings {
			r.warn(w)
		}
		for _, j := range b.m.drafts {
			d.brought[j.Def.Name] = j.Def.Plugin
			d.drafts = append(d.drafts, j)
		}
	}
}

// leftOut says in one line why the jobs of a plugin are left out.
func leftOut(plugin jobhost.Name, problems Problems) Problem {
	p := problems[0]
	if n := len(problems) - 1; n > 0 {
		p.Msg += fmt.Sprintf(" (and %d more)", n)
	}
	p.Msg += "; so no jobs are taken from the manifest of the plugin " + quote(plugin)
	return p
}

// settled is what the settings say about a manifest.
func (b *brought) settled() Manifest {
	m := Manifest{Manifest: b.m.Manifest, Text: b.text}
	for _, j := range b.m.drafts {
		m.Jobs = append(m.Jobs, j.Def)
	}
	return m
}
