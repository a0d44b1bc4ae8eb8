package config

import (
	"slices"

	"github.com/jobhost/jobhost"
)

// Sources is where settings come from.
type Sources struct {
	Files   []File   // see [ReadFiles]; none is fine
	Environ []string // key=value, as os.Environ returns it; it overrides the files
	Dir     string   // where relative paths start; empty: they stay as they are, and so start at the working directory

	// Manifests returns what the modules in a plugin folder bring as manifests, also those that bring none. Load calls it
	// once. Nil: there are no plugins.
	Manifests func(pluginDir string) []jobhost.ManifestText
}

// Load reads settings. Its error is [Problems] with everything that is wrong; then there are no settings. Load reads no
// file; it looks at symbolic links to see whether granted directories overlap jobhost's own.
//
// Not checked are what Load cannot know: whether plugins exist, and whether an address or a path can be used.
func Load(src Sources) (*Settings, error) {
	s, problems := Read(src)
	if len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// Read reads settings as far as they can be read, and returns everything that is wrong with them, so that more can be checked of
// what is right. Where something is wrong a setting has its default, and a list lacks what is wrong in it: triggers without a
// schedule, and jobs, calendars and grants without a name. Such settings are for no host. See [Load].
func Read(src Sources) (*Settings, Problems) {
	top := topKeys()
	r := newReader(top.list(""))
	d := draft{Settings: Defaults(), dir: src.Dir, at: map[string]value{}}
	d.DataDir, d.Plugins.Dir = inDir(src.Dir, d.DataDir), inDir(src.Dir, d.Plugins.Dir)
	d.Store.Path, d.HTTP.Socket = "", "" // they follow from the data directory, once that is known
	d.readFiles(r, top, src.Files)
	d.readEnviron(r, top, src.Environ)
	d.derive()
	d.compare()

	d.readCalendars(r)
	jobs := d.readJobs(r)
	grants := d.grantDrafts()
	d.brought = map[jobhost.Name]jobhost.Name{}
	if src.Manifests != nil {
		d.readManifests(r, src.Manifests(d.Plugins.Dir), jobs, grants)
	}
	d.readGrants(r, grants, jobs)
	d.guard(r, src)

	d.seal()
	sortProblems(r.warnings, src.Files)
	d.Warnings = r.warnings
	if len(r.vars) > 0 {
		d.Vars = r.vars
	}
	return &d.Settings, r.sorted(src.Files)
}

// readFiles reads what stands at the top of the files. The variables come first, for all files, because any string may
// name one.
func (d *draft) readFiles(r *reader, top table[draft], files []File) {
	type root struct {
		value value
		pairs []pair
	}
	var roots []root
	for _, f := range files {
		v, ok := r.parse(f)
		if !ok {
			r.broken = true
			continue
		}
		v.want = "a mapping of sections such as jobs"
		ps, _ := v.pairs()
		roots = append(roots, root{v, ps})
		for _, p := range ps {
			if p.name == "vars" {
				r.readVars(p.value)
			}
		}
	}
	for _, f := range roots {
		top.readPairs(d, f.value, f.pairs)
	}
}

// compare reports settings that do not go together (SPEC 25).
func (d *draft) compare() {
	s := d.Scheduler
	if v := d.given("scheduler.lease_ttl", "scheduler.poll_interval"); v != nil && s.LeaseTTL <= s.PollInterval {
		v.warning("lease_ttl %s is not more than poll_interval %s, so the lease may run out between two renewals", durationText(s.LeaseTTL), durationText(s.PollInterval))
	}
	if v := d.given("scheduler.node_timeout", "scheduler.poll_interval"); v != nil && s.NodeTimeout <= 2*s.PollInterval {
		v.warning("node_timeout %s is not more than twice poll_interval %s, so a live node may be taken for lost", durationText(s.NodeTimeout), durationText(s.PollInterval))
	}
	if v := d.given("plugins.max_memory", "plugins.max_total_memory"); v != nil && d.Plugins.MaxMemory > d.Plugins.MaxTotalMemory {
		v.bad("max_memory %s is more than max_total_memory %s", sizeText(d.Plugins.MaxMemory), sizeText(d.Plugins.MaxTotalMemory))
	}
	if v := d.given("store.path"); v != nil && d.Store.Kind == StoreMemory {
		v.warning("has no effect with the store kind memory")
	}
	if v := d.given("http.socket", "data_dir"); v != nil && len(d.HTTP.Socket) > maxSocket {
		v.warning("the socket's path %s has %d bytes, and some systems allow %d", quote(d.HTTP.Socket), len(d.HTTP.Socket), maxSocket)
	}
}

// maxSocket is the length of a socket's path that every system allows; Linux allows three more.
const maxSocket = 103

// given is the first of the settings that a source gives.
func (d *draft) given(keys ...string) *value {
	for _, key := range keys {
		if v, ok := d.at[key]; ok {
			return &v
		}
	}
	return nil
}

// readJobs reads the jobs of all files, by name; those without a valid name are left out.
func (d *draft) readJobs(r *reader) map[jobhost.Name]jobDraft {
	jobs := map[jobhost.Name]jobDraft{}
	for _, list := range d.lists.jobs {
		for _, v := range list.items() {
			d.addJob(r.readJob(v, ""), v, jobs)
		}
	}
	return jobs
}

// addJob adds a job that was read, unless one of its name is there.
func (d *draft) addJob(j jobDraft, v value, jobs map[jobhost.Name]jobDraft) {
	if first, twice := jobs[j.Def.Name]; twice {
		v.bad("a job of this name is defined already, at %v; want each name once", first.Pos)
		return
	}
	for _, c := range j.calendars {
		d.checkCalendar(c)
	}
	d.warnSkip(j)
	if j.grants != nil {
		d.own = append(d.own, readOwn(*j.grants, j.Def))
	}
	if j.Def.Name == "" {
		return
	}
	jobs[j.Def.Name] = j
	d.drafts = append(d.drafts, j)
}

// seal makes the drafts the jobs of the settings. Those that are wrong are without what could not be read of them.
func (d *draft) seal() {
	for _, j := range d.drafts {
		j.Def.Triggers = slices.DeleteFunc(j.Def.Triggers, func(t jobhost.TriggerDef) bool { return t.Schedule == "" })
		j.Fingerprint = j.Def.Fingerprint()
		d.Jobs = append(d.Jobs, j.Job)
	}
}

// warnSkip says that with a threshold of 0 every firing is late.
func (d *draft) warnSkip(j jobDraft) {
	for _, t := range j.triggers {
		if v, ok := t.given["misfire"]; ok && d.Scheduler.MisfireThreshold == 0 && t.Misfire == jobhost.MisfireSkip {
			v.warning("with scheduler.misfire_threshold 0 every firing is late, so that skip leaves none")
		}
	}
}
