package config

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestJobsOfManifestsAreJobsOfFiles(t *testing.T) {
	s, err := loadWith(`
vars: {report.schedule: every 2h}
jobs:
  - {name: mine, plugin: report, data: {format: html}}
  - {name: other, plugin: plain}
grants:
  - {job: report.daily, args: [x]}
`, side("file", reportManifest), jobhost.ManifestText{Plugin: "plain", File: "p/plain.wasm"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Jobs) != 4 || len(s.Manifests) != 1 || s.Manifests[0].Text.File != "p/file.wasm" || len(s.Manifests[0].Jobs) != 2 {
		t.Fatalf("%d jobs, manifests %+v", len(s.Jobs), s.Manifests)
	}
	t.Run("defaults hold for every job of the plugin that says nothing", func(t *testing.T) {
		for i, want := range []time.Duration{30 * time.Second, 0, 30 * time.Second, 0} {
			if j := s.Jobs[i]; j.Def.Timeout != want || (j.Def.Retry != nil) != (want != 0) || j.Fingerprint != j.Def.Fingerprint() {
				t.Errorf("job %s has the timeout %v and the retry %v", j.Def.Name, j.Def.Timeout, j.Def.Retry)
			}
		}
	})
	t.Run("the operator's variables hold", func(t *testing.T) {
		if got := s.Jobs[2].Def.Triggers[0].Schedule; got != "every 02:00:00" || s.Jobs[2].Pos.File != "p/file.yaml" {
			t.Errorf("schedule %q at %v", got, s.Jobs[2].Pos)
		}
	})
	t.Run("a grant goes to the job of a manifest by its name", func(t *testing.T) {
		if len(s.Grants) != 1 || s.Grants[0].Plugin != "report" {
			t.Errorf("%+v", s.Grants)
		}
	})
}

func TestWhatDoesNotGoTogetherNamesBothPlaces(t *testing.T) {
	_, err := loadWith("jobs:\n  - {name: a, plugin: p}\n", side("p", "jobs: [{name: a}]"), side("q", "jobs: [{name: a}, {name: b}]"))
	saysManifest(t, err,
		"p/p.yaml:1:8: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:5; want each name once",
		"p/q.yaml:1:8: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:5; want each name once")
	_, err = loadWith("", side("p", "key: x"), side("x", "version: a"), jobhost.ManifestText{Plugin: "x", File: "p/x2.wasm"})
	saysManifest(t, err,
		`p/x.wasm: key: "x" is the key of the plugin in p/p.wasm already; want each key once`,
		`p/x2.wasm: key: "x" is the key of the plugin in p/p.wasm already; want each key once`)
	_, err = loadWith("", side("p", "jobs: [{name: a, schedule: every 1m calendar=feasts}]"))
	saysManifest(t, err, `p/p.yaml:1:28: jobs[a].schedule: the calendar "feasts" is not defined; define it in the section calendars`)
}

func TestAWrongManifestIsAProblemWhereItsPluginIsNeeded(t *testing.T) {
	bad := []jobhost.ManifestText{side("p", "key: used\ntimeout: x"), side("q", "timeout: y")}
	if s, err := loadWith("jobs: [{name: a, plugin: z}]", bad...); err != nil || len(s.Manifests) != 0 {
		t.Errorf("nobody needs them: %+v, %v", s, err)
	}
	for _, plugin := range []string{"p", "used"} {
		_, err := loadWith("jobs: [{name: a, plugin: "+plugin+"}]", bad...)
		saysManifest(t, err, `p/p.yaml:2:10: timeout: "x" is no duration; want a duration such as 90s or 1h30m, more than 0, at most 720h, or none`)
	}
	_, err := loadWith("", side("p", "jobs: [{name: a, schedule: '${when}'}]"))
	saysManifest(t, err, `p/p.yaml:1:28: jobs[a].schedule: "${when}": the variable when is not set; set it in the section vars, or write ${when:-default}`)
}

func TestDataThatDoesNotFitIsRefusedAtItsPlace(t *testing.T) {
	const schema = "schema: {type: object, properties: {format: {enum: [md, html]}, top: {items: {minimum: 1}}}, required: [format], additionalProperties: false}\n"
	_, err := loadWith(`
jobs:
  - {name: a, plugin: p, schedule: every 1m, data: {format: pdf}}
  - {name: b, plugin: p, schedule: every 1m}
  - {name: c, plugin: p, data: {top: [1, 0]}}
  - {name: d, plugin: p}
  - name: e
    plugin: p
    data: {format: md}
    triggers:
      - {name: x, schedule: every 1m, data: {format: 7}}
      - {name: y, schedule: every 1m, data: {more: 1}}
      - {name: z, schedule: every 1m}
  - {name: f, plugin: p, schedule: every 1m, data: {format: .inf}}
`, side("p", schema+"jobs: [{name: own, data: {format: html, top: [-1]}}]"))
	saysManifest(t, err,
		`jobhost.yaml:3:61: jobs[a].data: /format is "pdf"; want "md" or "html"; so says the schema of the plugin "p"`,
		`jobhost.yaml:4:36: jobs[b].schedule.data: the data lacks "format"; so says the schema of the plugin "p"`,
		`jobhost.yaml:5:42: jobs[c].data: /top/1 is 0; want 1 or more; so says the schema of the plugin "p"`,
		`jobhost.yaml:11:54: jobs[e].triggers[x].data: /format is 7; want "md" or "html"; so says the schema of the plugin "p"`,
		`jobhost.yaml:12:45: jobs[e].triggers[y].data: the data is {"format":"md","more":1}; the schema has no "more"; so says the schema of the plugin "p"`,
		`jobhost.yaml:14:61: jobs[f].data.format: .inf is no number that JSON can write; quote it if it is meant as text`,
		`p/p.yaml:2:47: jobs[own].data: /top/0 is -1; want 1 or more; so says the schema of the plugin "p"`,
	)
}
