package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/jobhost/jobhost"
)

// Manifest is a plugin's manifest that has been read.
type Manifest struct {
	jobhost.Manifest

	Text     jobhost.ManifestText
	Warnings []Problem // what is allowed and looks wrong
}

// ReadManifest reads the manifest of one plugin, with the variables of the section vars. Without variables, nil, it checks
// what can be known: a job that needs a variable which has no default is then left out of the jobs, and a warning names it.
// The error is [Problems] with everything that is wrong.
//
// Not checked are what only a configuration knows: whether calendars exist, and whether a job of that name is there already.
func ReadManifest(text jobhost.ManifestText, vars map[string]string) (*Manifest, error) {
	r := newReader(manifestKeys().list(""))
	if r.broken = vars == nil; !r.broken {
		r.vars = vars
	}
	m := r.readManifest(text)
	if err := r.err(nil); err != nil {
		return nil, err
	}
	for i := range m.drafts {
		m.supply(&m.drafts[i])
		if j := m.drafts[i]; j.open {
			j.at.warning("needs a variable that has no default, so it depends on the section vars of the configuration")
		} else {
			m.Jobs = append(m.Jobs, j.Def)
		}
	}
	sortProblems(r.warnings, nil)
	return &Manifest{m.Manifest, text, r.warnings}, nil
}

// ManifestJSON is a manifest as the JSON of a section, with its variables as they are. The error is [Problems]; it is for what
// cannot be read at all, and what [ReadManifest] reads has none.
func ManifestJSON(text jobhost.ManifestText) ([]byte, error) {
	r := newReader(nil)
	root, ok := r.parseManifest(text)
	if !ok {
		return nil, r.err(nil)
	}
	data := root.objectBy(jsonWriter{plain: true})
	if len(data) > jobhost.MaxManifest {
		root.bad("as JSON the manifest has %s, at most %s are allowed", sizeText(len(data)), sizeText(jobhost.MaxManifest))
	}
	return data, r.err(nil)
}

// manifestDraft is a manifest while it is read.
type manifestDraft struct {
	jobhost.Manifest

	defaults jobDraft // of timeout and retry
	schema   *value
	jobs     *value
	drafts   []jobDraft

	checker *schema // what Data is
	left    int     // of what the checks of its jobs may take together
}

// The bounds of jobs that come with a plugin. Whoever may put a file into the plugin folder is not always who configures the
// host: their jobs must not keep those of the configuration from running.
const (
	maxOwnJobs  = 1_000
	minOwnEvery = time.Second
	ownTimeout  = time.Hour // of a job for which the manifest says none
)

// manifestKeys are the keys of a manifest.
func manifestKeys() table[manifestDraft] {
	return table[manifestDraft]{
		{name: "key", kind: aName, def: "the file's name without .wasm", help: "what jobs call the plugin by; it holds no `${…}`", read: readKey},
		{name: "description", kind: aText, help: "free text", read: func(m *manifestDraft, v value) { m.Description, _ = v.text() }},
		{name: "version", kind: aText, help: "free text; quote it where it looks like a number", read: func(m *manifestDraft, v value) { m.Version, _ = v.text() }},
		{
			name: "schema", kind: anObject, limits: "a JSON Schema of draft 2020-12",
			help: "what the merged data of a run must be; nothing in it is replaced, and nothing is loaded from elsewhere",
			read: func(m *manifestDraft, v value) { m.schema = &v },
		},
		{
			name: "timeout", kind: aDuration, def: none, limits: limited.words + ", or none", help: "of each job of the plugin that does not say its own",
			read: func(m *manifestDraft, v value) { m.Timeout = v.durationOrNone() },
		},
		{
			name: "retry", kind: anObject, def: none, rows: retryKeys().list, help: "of each job of the plugin that does not say its own",
			read: func(m *manifestDraft, v value) {
				readRetry(&m.defaults, v)
				m.Retry = m.defaults.Def.Retry
			},
		},
		{
			name: "jobs", kind: aList, rows: ownJobKeys("").list, help: "jobs that come with the plugin, in the form of the configuration",
			read: func(m *manifestDraft, v value) { m.jobs = &v },
		},
		{name: "wants", kind: aList, rows: wantKeys().list, help: "what the plugin would like to be granted; shown to the operator, and never granted by it", read: readWants},
	}
}

// ownJobKeys are the keys of a job in the manifest of a plugin.
func ownJobKeys(plugin jobhost.Name) table[jobDraft] {
	keys := jobKeys()
	keys = slices.DeleteFunc(keys, func(f field[jobDraft]) bool { return f.name == "grants" })
	for i := range keys {
		switch keys[i].name {
		case "timeout":
			keys[i].def, keys[i].limits = "the manifest's own, or "+durationText(ownTimeout), limited.words
		case "history_limit":
			keys[i].limits = "1 or more"
			keys[i].help = "most ended runs kept"
		case "triggers":
			keys[i].rows = ownTriggerKeys().list
		case "schedule":
			keys[i].help += "; " + leastEvery
		case "plugin":
			keys[i].required, keys[i].def, keys[i].help = false, "the manifest's own", "the plugin itself, if it is given"
			keys[i].read = func(_ *jobDraft, v value) {
				if s, ok := v.name(); ok && s != plugin {
					v.bad("%s is another plugin; a manifest has jobs of its own plugin, %s, only", quote(s), quote(plugin))
				}
			}
		}
	}
	return append(keys, field[jobDraft]{
		name: "grants", kind: anObject, later: true, help: "a manifest grants nothing; say it under wants, and the operator may grant it",
	})
}

const leastEvery = "an interval is 1s or more"

// ownTriggerKeys are the keys of a trigger in a manifest.
func ownTriggerKeys() table[triggerDraft] {
	keys := triggerKeys()
	for i := range keys {
		switch keys[i].name {
		case "schedule":
			keys[i].help += "; " + leastEvery
		case "priority":
			keys[i].limits = fmt.Sprintf("%d to %d", math.MinInt32, jobhost.DefaultPriority)
		}
	}
	return keys
}

func wantKeys() table[jobhost.Want] {
	return table[jobhost.Want]{
		{name: "grant", kind: aChoice, required: true, limits: "one of " + strings.Join(grantNames(), ", "), help: "the grant's key in the configuration", read: readGrantName},
		{name: "what", kind: aText, help: "such as `/data, to read` or the name of a secret", read: func(w *jobhost.Want, v value) { w.What, _ = v.text() }},
		{name: "why", kind: aText, help: "what it is for", read: func(w *jobhost.Want, v value) { w.Why, _ = v.text() }},
	}
}

// grantNames are the keys of grants, also of those that cannot be granted yet.
func grantNames() (names []string) {
	for _, f := range grantKeys() {
		names = append(names, f.name)
	}
	return names
}

func readGrantName(w *jobhost.Want, v value) {
	s, ok := v.text()
	if ok && !slices.Contains(grantNames(), s) {
		v.wrong("there is no grant %s%s", quote(s), didYouMean(s, grantNames()))
	}
	w.Grant = s
}

func readWants(m *manifestDraft, v value) {
	for _, item := range v.items() {
		var w jobhost.Want
		wantKeys().read(&w, item)
		m.Wants = append(m.Wants, w)
	}
}

// readKey reads the plugin's key. It must not depend on the configuration, since the host knows plugins by it before there
// is one.
func readKey(m *manifestDraft, v value) {
	if strings.Contains(v.node.Value, "${") {
		v.wrong("%s holds a variable", v.show())
		return
	}
	m.Key, _ = v.name()
}

// readManifest reads a manifest. It is usable when nothing was reported.
func (r *reader) readManifest(text jobhost.ManifestText) manifestDraft {
	m := manifestDraft{Manifest: jobhost.Manifest{Key: text.Plugin}}
	root, ok := r.parseManifest(text)
	if !ok || manifestKeys().read(&m, root) == nil {
		return m
	}
	if m.schema != nil {
		m.readSchema(*m.schema)
	}
	if m.jobs != nil {
		m.readJobs(*m.jobs)
	}
	return m
}

// parseManifest reads the text of a manifest into its root.
func (r *reader) parseManifest(text jobhost.ManifestText) (root value, ok bool) {
	root = value{reader: r, pos: Position{File: text.Name}}
	switch {
	case text.Err != nil:
		root.pos.File = text.File
		root.bad("%v", text.Err)
	case len(text.Data) > jobhost.MaxManifest:
		root.bad("the manifest has %s, at most %s are allowed", sizeText(len(text.Data)), sizeText(jobhost.MaxManifest))
	case text.JSON:
		return root.parseJSON(text.Data)
	default:
		return r.parse(File{Name: text.Name, Data: text.Data})
	}
	return root, false
}

// readSchema takes the schema as it is written.
func (m *manifestDraft) readSchema(v value) {
	if m.Schema = v.objectBy(jsonWriter{plain: true}); m.Schema == nil {
		return
	}
	s, err := newSchema(m.Schema)
	if fault, ok := errors.AsType[*misfit](err); ok {
		place, _ := v.at(fault.at)
		place.bad("%s", fault.msg)
		return
	}
	m.Data, m.checker, m.left = s, s, maxOfAll
}

func (m *manifestDraft) readJobs(v value) {
	seen := map[jobhost.Name]Position{}
	items := v.items()
	if len(items) > maxOwnJobs {
		v.bad("there are %d jobs; at most %d are allowed", len(items), maxOwnJobs)
		return
	}
	for _, item := range items {
		j := v.readJob(item, m.Key)
		m.bound(&j)
		if first, twice := seen[j.Def.Name]; twice {
			item.bad("a job of this name is defined already, at %v; want each name once", first)
			continue
		}
		if j.Def.Name != "" {
			seen[j.Def.Name] = j.Pos
		}
		m.drafts = append(m.drafts, j)
	}
}

// bound holds a job of the manifest against the bounds of such jobs, and gives it a time limit.
func (m *manifestDraft) bound(j *jobDraft) {
	if v, given := j.given["timeout"]; given && j.Def.Timeout == 0 {
		v.badOnce("a job of a manifest has a time limit; say which, or leave the key out for " + durationText(ownTimeout))
	}
	if v, given := j.given["history_limit"]; given && j.Def.HistoryLimit == 0 {
		v.badOnce("a job of a manifest keeps so many ended runs at most; want 1 or more")
	}
	for _, t := range j.triggers {
		if v, given := t.given["priority"]; given && t.Priority > jobhost.DefaultPriority {
			v.badOnce(fmt.Sprintf("%d is more than a manifest may say; want at most %d", t.Priority, jobhost.DefaultPriority))
		}
		if s, err := jobhost.ParseSchedule(t.Schedule); err == nil && s.Kind == jobhost.Every && s.Interval < minOwnEvery {
			t.given["schedule"].badOnce(fmt.Sprintf("%s is less than a manifest may say; want %s or more", s.Interval, durationText(minOwnEvery)))
		}
	}
	if !j.TimeoutGiven {
		j.Def.Timeout = cmp.Or(m.Timeout, ownTimeout)
	}
}

// supply gives a job what it does not say itself.
func (m *manifestDraft) supply(j *jobDraft) {
	if !j.TimeoutGiven && j.Def.Timeout == 0 {
		j.Def.Timeout = m.Timeout
	}
	if !j.RetryGiven {
		j.Def.Retry = m.Retry
	}
}

// at goes down the tokens of a JSON pointer as far as it can, and reports whether that is the whole way.
func (v value) at(tokens []string) (value, bool) {
	for _, token := range tokens {
		found := false
		switch v.node.Kind {
		case yaml.MappingNode:
			ps, _ := v.pairs()
			for _, p := range ps {
				if p.name == token {
					v, found = p.value, true
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.node.Content) {
				v, found = v.items()[i], true
			}
		case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode, yaml.StreamNode: // nothing is below
		}
		if !found {
			return v, false
		}
	}
	return v, true
}
