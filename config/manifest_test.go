package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobhost/jobhost"
)

const reportManifest = `
key: report
version: "1.4"
description: Sums
schema: {type: object, properties: {format: {enum: [md, html]}, top: {type: integer, minimum: 1}, tag: {pattern: "^${x$"}}, required: [format]}
timeout: 30s
retry: {max_retries: 3, delay: 10s}
jobs:
  - name: report.daily
    schedule: ${report.schedule:-cron 0 6 * * *}
    data: {format: md, title: "${title:-none}"}
  - {name: report.now, plugin: report, timeout: 2h, retry: none}
wants:
  - {grant: dirs, what: "/data, to read", why: the orders}
`

// side is a manifest in a file beside a module.
func side(key, text string) jobhost.ManifestText {
	return jobhost.ManifestText{Plugin: key, File: "p/" + key + ".wasm", Name: "p/" + key + ".yaml", Data: []byte(text)}
}

// inside is a manifest in a module.
func inside(key, text string) jobhost.ManifestText {
	return jobhost.ManifestText{Plugin: key, File: "p/" + key + ".wasm", Name: "p/" + key + ".wasm#jobhost", JSON: true, Data: []byte(text)}
}

// loadWith reads a configuration over plugins.
func loadWith(text string, manifests ...jobhost.ManifestText) (*Settings, error) {
	return Load(Sources{
		Files:     []File{{Name: "jobhost.yaml", Data: []byte(text)}},
		Manifests: func(string) []jobhost.ManifestText { return manifests },
	})
}

// saysManifest checks the problems of an error, a line each.
func saysManifest(t *testing.T, err error, want ...string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("problems (-got +want):\n%s", diff)
	}
}

func TestAManifestIsRead(t *testing.T) {
	m, err := ReadManifest(side("file", reportManifest), map[string]string{"report.schedule": "every 1h"})
	if err != nil {
		t.Fatal(err)
	}
	retry := &jobhost.RetryPolicy{MaxRetries: 3, Delay: 10 * time.Second}
	daily := jobhost.NewJob("report.daily", "report", jobhost.NewTrigger("default", "every 01:00:00"))
	daily.Data, daily.Timeout, daily.Retry = []byte(`{"format":"md","title":"none"}`), 30*time.Second, retry
	now := jobhost.NewJob("report.now", "report")
	now.Timeout = 2 * time.Hour
	want := jobhost.Manifest{
		Key: "report", Version: "1.4", Description: "Sums", Timeout: 30 * time.Second, Retry: retry,
		Schema: []byte(`{"type":"object","properties":{"format":{"enum":["md","html"]},"top":{"type":"integer","minimum":1},"tag":{"pattern":"^${x$"}},"required":["format"]}`),
		Jobs:   []jobhost.JobDef{daily, now},
		Wants:  []jobhost.Want{{Grant: "dirs", What: "/data, to read", Why: "the orders"}},
	}
	if diff := cmp.Diff(m.Manifest, want, cmpopts.IgnoreFields(jobhost.Manifest{}, "Data")); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if m.Data == nil || m.Data.Check(t.Context(), []byte(`{"format":"pdf"}`), true) == nil {
		t.Error("the schema is not in force")
	}
}

func TestAManifestOfASectionIsJSON(t *testing.T) {
	m, err := ReadManifest(inside("p", "{\t\"description\":\"tab, \\ud83d\\ude00 and \\/\",\"timeout\":\"1m\",\n\"schema\":{\"const\":1e2}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := jobhost.Manifest{Key: "p", Description: "tab, 😀 and /", Timeout: time.Minute, Schema: []byte(`{"const":1e2}`)}
	if diff := cmp.Diff(m.Manifest, want, cmpopts.IgnoreFields(jobhost.Manifest{}, "Data")); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestAWrongManifestIsRefusedWithPlaceValueAndMend(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, c := range []struct {
		name string
		text jobhost.ManifestText
		want []string
	}{
		{"an unknown key", side("p", "keyy: x"), []string{`p/p.yaml:1:1: keyy: unknown key; did you mean key?`}},
		{"a key twice in YAML", side("p", "version: a\nversion: b"), []string{`p/p.yaml:2:1: version: is given twice; the first is in line 1`}},
		{"a key twice in JSON", inside("p", "{\"version\":\"a\",\n \"version\":\"b\"}"), []string{`p/p.wasm#jobhost:2:2: version: is given twice; the first is in line 1`}},
		{"a wrong type", inside("p", `{"version": 1.5}`), []string{`p/p.wasm#jobhost:1:13: version: 1.5 is a number, not text; quote it: "1.5"`}},
		{"no mapping", inside("p", ` [1]`), []string{`p/p.wasm#jobhost:1:2: is a list; want a mapping`}},
		{"cut off JSON", inside("p", "{\n\"key\": \"p\""), []string{`p/p.wasm#jobhost:2:11: not valid JSON: unexpected EOF`}},
		{"an empty section", inside("p", ""), []string{`p/p.wasm#jobhost:1:1: not valid JSON: unexpected EOF`}},
		{"wrong JSON", inside("p", "{\n \"key\" \"p\"}"), []string{`p/p.wasm#jobhost:2:8: not valid JSON: invalid character '"' after object key`}},
		{"two values", inside("p", "{}{}"), []string{`p/p.wasm#jobhost:1:3: something follows the JSON value; want one value`}},
		{"deep JSON", inside("p", deep), []string{`p/p.wasm#jobhost:1:65: nested more than 64 levels deep`}},
		{"too large", side("p", strings.Repeat("#", jobhost.MaxManifest+1)), []string{`p/p.yaml: the manifest has 262145B, at most 256KiB are allowed`}},
		{"not readable", jobhost.ManifestText{Plugin: "p", File: "p/p.wasm", Name: "p/p.yaml", Err: errors.New("there are two")}, []string{`p/p.wasm: there are two`}},
		{"a key that depends on the configuration", side("p", "key: ${k:-p}"), []string{
			`p/p.yaml:1:6: key: "${k:-p}" holds a variable; want a name of 1 to 128 characters of a-z, 0-9, '.', '_', '-'`,
		}},
		{"a key that is no name", side("p", "key: P"), []string{`p/p.yaml:1:6: key: name "P" has the capital 'P'; want lower case only`}},
		{"a default out of range", side("p", "timeout: 800h"), []string{`p/p.yaml:1:10: timeout: "800h" is out of range; want a duration such as 90s or 1h30m, more than 0, at most 720h, or none`}},
		{"a job that is wrong", side("p", "jobs: [{name: a, schedule: every}]"), []string{`p/p.yaml:1:28: jobs[a].schedule: "every": every: the interval is missing; want a duration such as 10m or 00:10:00`}},
		{"a job twice", side("p", "jobs: [{name: a}, {name: a}]"), []string{`p/p.yaml:1:19: jobs[a]: a job of this name is defined already, at p/p.yaml:1:8; want each name once`}},
		{"a job of another plugin", side("p", "jobs: [{name: a, plugin: q}]"), []string{`p/p.yaml:1:26: jobs[a].plugin: "q" is another plugin; a manifest has jobs of its own plugin, "p", only`}},
		{"a job without a limit", side("p", "jobs: [{name: a, timeout: none}]"), []string{
			`p/p.yaml:1:27: jobs[a].timeout: a job of a manifest has a time limit; say which, or leave the key out for 1h`,
		}},
		{"a job that keeps all", side("p", "jobs: [{name: a, history_limit: 0}]"), []string{
			`p/p.yaml:1:33: jobs[a].history_limit: a job of a manifest keeps so many ended runs at most; want 1 or more`,
		}},
		{"a job before all others", side("p", "jobs: [{name: a, triggers: [{name: t, schedule: every 1m, priority: 6}]}]"), []string{
			`p/p.yaml:1:69: jobs[a].triggers[t].priority: 6 is more than a manifest may say; want at most 5`,
		}},
		{"a job without a pause", side("p", "jobs: [{name: a, schedule: every 1ms}, {name: b, triggers: [{name: t, schedule: every 999ms}]}]"), []string{
			`p/p.yaml:1:28: jobs[a].schedule: 1ms is less than a manifest may say; want 1s or more`,
			`p/p.yaml:1:81: jobs[b].triggers[t].schedule: 999ms is less than a manifest may say; want 1s or more`,
		}},
		{"too many jobs", inside("p", `{"jobs":[`+strings.Repeat(`{},`, 1_000)+`{}]}`), []string{
			`p/p.wasm#jobhost:1:9: jobs: there are 1001 jobs; at most 1000 are allowed`,
		}},
		{"grants", side("p", "jobs: [{name: a, grants: {kv: true}}]"), []string{
			`p/p.yaml:1:18: jobs[a].grants: is not available yet; a manifest grants nothing; say it under wants, and the operator may grant it`,
		}},
		{"a want that is no grant", side("p", "wants: [{grant: dir}]"), []string{
			`p/p.yaml:1:17: wants[0].grant: there is no grant "dir"; did you mean dirs?; want one of args, env, dirs, max_memory, max_output, max_log, max_fuel, secrets, http, kv, clock`,
		}},
		{"a schema that is none", side("p", "schema: {properties: {a: {type: strin}}}"), []string{
			`p/p.yaml:1:33: schema.properties.a.type: is "strin"; want "array", "boolean", "integer", "null", "number", "object" or "string", or a list`,
		}},
		{"a schema from elsewhere", side("p", "schema:\n  properties:\n    a: {$ref: 'https://example.com/a.json'}"), []string{
			`p/p.yaml:3:15: schema.properties.a."$ref": refers to "https://example.com/a.json", and a schema is never loaded from elsewhere; put it into $defs`,
		}},
		{"a schema of an old draft", side("p", `schema: {$schema: "http://json-schema.org/draft-07/schema#"}`), []string{
			`p/p.yaml:1:19: schema."$schema": is "http://json-schema.org/draft-07/schema#"; want https://json-schema.org/draft/2020-12/schema, or leave it out`,
		}},
		{"a pattern that RE2 does not have", side("p", `schema: {properties: {a: {pattern: "(?=x)"}}}`), []string{
			"p/p.yaml:1:36: schema.properties.a.pattern: is \"(?=x)\"; want a regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadManifest(c.text, nil)
			saysManifest(t, err, c.want...)
			if jobhost.CodeOf(err) != jobhost.InvalidDefinition {
				t.Errorf("the code is %q", jobhost.CodeOf(err))
			}
		})
	}
}

func TestAJobWaitsForAVariableThatTheManifestCannotKnow(t *testing.T) {
	text := side("p", "jobs:\n- {name: a, schedule: '${when}'}\n- {name: '${n}'}\n- {name: b}")
	m, err := ReadManifest(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Jobs) != 1 || m.Jobs[0].Name != "b" || len(m.Warnings) != 2 {
		t.Errorf("jobs %+v, warnings %v", m.Jobs, m.Warnings)
	}
	_, err = ReadManifest(text, map[string]string{"n": "c"})
	saysManifest(t, err, `p/p.yaml:2:23: jobs[a].schedule: "${when}": the variable when is not set; set it in the section vars, or write ${when:-default}`)
	if m, err = ReadManifest(text, map[string]string{"n": "c", "when": "every 1m"}); err != nil || len(m.Jobs) != 3 {
		t.Errorf("with variables: %+v, %v", m, err)
	}
}

func TestTheManifestOfTheDocumentationIsGood(t *testing.T) {
	_, rest, _ := strings.Cut(manifestHead, "```yaml\n")
	text, _, ok := strings.Cut(rest, "```\n")
	m, err := ReadManifest(side("report", text), nil)
	if !ok || err != nil || len(m.Jobs) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
}

// Whatever stands in a manifest, reading it ends, gives the same answer twice, and answers with jobs that are good or with
// problems of one line each.
func FuzzManifest(f *testing.F) {
	f.Add(true, `{"key":"p","schema":{"type":"object"},"jobs":[{"name":"a","schedule":"every 1m"}]}`)
	f.Add(false, reportManifest)
	f.Add(false, "schema: {$ref: '#/$defs/a', $defs: {a: {not: {$ref: '#'}}}}")
	f.Fuzz(func(t *testing.T, section bool, text string) {
		in := side("p", text)
		if section {
			in = inside("p", text)
		}
		m, err := ReadManifest(in, nil)
		_, again := ReadManifest(in, nil)
		if !sameText(err, again) {
			t.Fatalf("two answers: %v and %v", err, again)
		}
		if err != nil {
			checkProblems(t, err)
			return
		}
		for _, j := range m.Jobs {
			if err := j.Check(); err != nil {
				t.Error(err)
			}
		}
		if m.Data != nil {
			err := m.Data.Check(t.Context(), []byte(`{"a":[1,{"b":"x"},null]}`), true)
			if part := m.Data.Check(t.Context(), []byte(`{"a":[1,{"b":"x"},null]}`), false); err == nil && part != nil {
				t.Errorf("the whole fits, and as a part: %v", part)
			}
		}
	})
}

// What encoding/json reads, the parser with places reads the same.
func FuzzJSONIsReadAsItStands(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null,{"":{}}]}`)
	f.Add("[\t1 ,\r\n2]")
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(`{"x":` + text + `}`)
		var want map[string]any
		r := newReader(nil)
		root, ok := value{reader: r, pos: Position{File: "f"}}.parseJSON(data)
		if err := json.Unmarshal(data, &want); (err == nil) != ok && err != nil {
			t.Fatalf("encoding/json says %v, the parser read it", err)
		}
		if !ok {
			checkProblems(t, r.err(nil))
			return
		}
		written := root.objectBy(jsonWriter{plain: true})
		if written == nil {
			return // a key twice, or something else that is refused on purpose
		}
		var got map[string]any
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
}
