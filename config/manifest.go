package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

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
