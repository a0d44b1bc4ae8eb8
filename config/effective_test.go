package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func TestSocketIsKnownWhateverElseIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		environ []string
		want    string
		unsure  string // in the error; empty: none
	}{
		"nothing":             {"", nil, ".jobhost/jobhost.sock", ""},
		"a good file":         {"data_dir: d\n", nil, "d/jobhost.sock", ""},
		"a socket":            {"data_dir: d\nhttp: {socket: s}\n", nil, "s", ""},
		"wrong keys and jobs": {"data_dir: d\nnonsense: 1\njobs: [{name: A B}, 7]\nscheduler: {poll_interval: x}\n", nil, "d/jobhost.sock", ""},
		"no YAML":             {"data_dir: d\njobs: [\n", nil, ".jobhost/jobhost.sock", "f.yaml:"},
		"no YAML, a variable": {"jobs: [\n", []string{"JOBHOST__DATA_DIR=v"}, "v/jobhost.sock", "f.yaml:"},
		"a wrong data folder": {"data_dir: [1]\n", nil, ".jobhost/jobhost.sock", "data_dir"},
		"a wrong section":     {"data_dir: d\nhttp: 7\n", nil, "d/jobhost.sock", "http"},
		"a wrong variable":    {"data_dir: d\n", []string{"JOBHOST_STORE__KIND=x"}, "d/jobhost.sock", ""},
	} {
		got, err := Socket(Sources{Files: []File{{Name: "f.yaml", Data: []byte(c.file)}}, Environ: c.environ})
		if got != filepath.FromSlash(c.want) || (err == nil) != (c.unsure == "") || err != nil && !strings.Contains(err.Error(), c.unsure) {
			t.Errorf("%s: %q, %v; want %q and an error with %q", name, got, err, c.want, c.unsure)
		}
	}
}

func TestEffectiveSettingsNameTheirSource(t *testing.T) {
	entries, err := Effective(Sources{
		Files: []File{
			{Name: "a.yaml", Data: []byte("data_dir: ${dir:-d}\nscheduler:\n  poll_interval: 2s\n  max_concurrent_runs: 4\njobs: [{name: a, plugin: p}]\nvars: {dir: data, x: y}\n")},
			{Name: "b.yaml", Data: []byte("jobs:\n  - {name: b, plugin: p}\n  - {name: c, plugin: p}\n")},
		},
		Environ: []string{"JOBHOST_SCHEDULER__POLL_INTERVAL=3s", "JOBHOST_TELEMETRY__ENABLED=false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Entry{}
	for _, e := range entries {
		got[e.Key] = e
	}
	for _, want := range []Entry{
		{"data_dir", "data", "a.yaml:1:11"},
		{"store.path", filepath.Join("data", "jobhost.db"), "default"},
		{"store.kind", "bolt", "default"},
		{"scheduler.poll_interval", "3s", "$JOBHOST_SCHEDULER__POLL_INTERVAL"},
		{"scheduler.max_concurrent_runs", "4", "a.yaml:4:24"},
		{"telemetry.enabled", "false", "$JOBHOST_TELEMETRY__ENABLED"},
		{"jobs", "3 given", "a.yaml:5:7, b.yaml:2:3"},
		{"vars", "2 given", "a.yaml:6:7"},
		{"calendars", "none", "default"},
	} {
		if d := cmp.Diff(got[want.Key], want); d != "" {
			t.Errorf("%s (-got +want):\n%s", want.Key, d)
		}
	}
	if entries[0].Key != "data_dir" || got["http.tls"] != (Entry{}) || got["scheduler"] != (Entry{}) {
		t.Errorf("entries: %+v", entries)
	}
	if _, err := Effective(Sources{Files: []File{{Name: "f", Data: []byte("nonsense: 1\n")}}}); err == nil {
		t.Error("of a wrong file: no error")
	}
}

// What the schema says about a file has to be what Load says, as far as it says anything.
func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("jobhost.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("jobhost.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		"data_dir: d\nscheduler: {poll_interval: 1m30s, max_concurrent_runs: 4}\nstore: {kind: memory, max_size: 8MiB}\n":                                                          true,
		"jobs: [{name: a, plugin: p, schedule: every 1h, timeout: none, retry: {max_retries: 3, delay: 1s, backoff: exponential}}]\n":                                              true,
		"jobs: [{name: a, plugin: p, triggers: [{name: t, schedule: cron 0 3 * * *, misfire: skip, priority: -1, data: {x: [1, {}]}}]}]":                                           true,
		"vars: {n: 4, a.b: c}\nscheduler: {max_concurrent_runs: '${n:-3}', poll_interval: '${p:-1s}'}\njobs:\n":                                                                    true,
		"calendars: [{name: c, kind: weekly, days: [SAT]}]\ngrants: [{job: a, env: {A: b}, dirs: [{host: /x, guest: /y, mode: rw}]}]\njobs: [{name: a, plugin: p, retry: none}]\n": true,
		"nonsense: 1\n":                                           false,
		"scheduler: {poll_intervall: 1s}\n":                       false,
		"store: {kind: postgres}\n":                               false,
		"jobs: [{name: a}]\n":                                     false,
		"jobs: [{name: A B, plugin: p}]\n":                        false,
		"jobs: [{name: a, plugin: p, timeout: soon}]\n":           false,
		"jobs: [{name: a, plugin: p, triggers: [{name: t}]}]\n":   false,
		"jobs: [{name: a, plugin: p, retry: {max_retries: 3}}]\n": false,
		"http: {tls: {cert: c}}\n":                                false,
	} {
		_, err := Load(Sources{Files: []File{{Name: "f.yaml", Data: []byte(text)}}})
		if (err == nil) != good {
			t.Errorf("%s: Load: %v; want good %v", text, err, good)
		}
		var tree any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != good {
			t.Errorf("%s: schema: %v; want good %v", text, err, good)
		}
	}
}

func TestVariablesThatAreMisnamedAreWarnedOf(t *testing.T) {
	s, err := Load(Sources{Environ: []string{
		"JOBHOST_DATA_DIR=x", "JOBHOST_SCHEDULER_POLL_INTERVAL=1s", "JOBHOST_SERVER=y", "JOBHOST_OTHER=z", "JOBHOST__DATA_DIR=d", "DATA_DIR=e",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"$JOBHOST_DATA_DIR: data_dir: is not read; the variable of this setting is JOBHOST__DATA_DIR",
		"$JOBHOST_SCHEDULER_POLL_INTERVAL: scheduler.poll_interval: is not read; the variable of this setting is JOBHOST_SCHEDULER__POLL_INTERVAL",
	}
	var got []string
	for _, w := range s.Warnings {
		got = append(got, w.Error())
	}
	if d := cmp.Diff(got, want); d != "" || s.DataDir != "d" {
		t.Errorf("data_dir %q, warnings (-got +want):\n%s", s.DataDir, d)
	}
}
