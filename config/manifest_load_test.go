package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestJobsOfManifestsAreJobsOfFiles(t *testing.T) {
	s, err := loadWith(`
vars: {report.schedule: every 2h}
jobs:
  - {name: mine, plugin: report, data: {format: html}}
  - {name: other, plugin: plain}
grants:
  - {job: report.daily, plugin: report, args: [x]}
`, side("file", reportManifest), jobhost.ManifestText{Plugin: "plain", File: "p/plain.wasm"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Jobs) != 4 || len(s.Manifests) != 1 || s.Manifests[0].Text.File != "p/file.wasm" || len(s.Manifests[0].Jobs) != 2 {
		t.Fatalf("%d jobs, manifests %+v", len(s.Jobs), s.Manifests)
	}
	t.Run("defaults hold for every job of the plugin that says nothing", func(t *testing.T) {
		for i, want := range []time.Duration{30 * time.Second, 0, 30 * time.Second, 2 * time.Hour} {
			if j := s.Jobs[i]; j.Def.Timeout != want || (j.Def.Retry != nil) != (want == 30*time.Second) || j.Fingerprint != j.Def.Fingerprint() {
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

// saysLeftOut checks that a configuration is good, which plugins bring no jobs and why, and which jobs there are.
func saysLeftOut(t *testing.T, s *Settings, err error, jobs string, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("the configuration is refused: %v", err)
	}
	var names []string
	for _, j := range s.Jobs {
		names = append(names, j.Def.Name)
	}
	if got := strings.Join(names, " "); got != jobs {
		t.Errorf("the jobs are %q; want %q", got, jobs)
	}
	var got []string
	for _, p := range s.LeftOut {
		got = append(got, p.Error())
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("left out (-got +want):\n%s", diff)
	}
}

func TestAPluginThatDoesNotGoTogetherWithTheConfigurationBringsNoJobs(t *testing.T) {
	without := func(plugin string) string {
		return `; so no jobs are taken from the manifest of the plugin "` + plugin + `"`
	}
	t.Run("a job of the configuration has the name", func(t *testing.T) {
		s, err := loadWith("jobs:\n  - {name: a, plugin: p}\n", side("p", "jobs: [{name: a}]"), side("q", "jobs: [{name: a}, {name: b}]"), side("r", "jobs: [{name: c}]"))
		saysLeftOut(t, s, err, "a c",
			"p/p.yaml:1:8: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:5; want each name once"+without("p"),
			"p/q.yaml:1:8: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:5; want each name once"+without("q"))
		if s.Jobs[0].Pos.File != "jobhost.yaml" || s.Jobs[0].Def.Plugin != "p" {
			t.Errorf("the job is that of %v", s.Jobs[0].Pos)
		}
	})
	t.Run("two plugins bring a job of one name", func(t *testing.T) {
		s, err := loadWith("", side("p", "jobs: [{name: a}]"), side("q", "jobs: [{name: a}, {name: b}]"))
		saysLeftOut(t, s, err, "",
			"p/p.yaml:1:8: jobs[a]: a job of this name is defined already, at p/q.yaml:1:8; want each name once"+without("p"),
			"p/q.yaml:1:8: jobs[a]: a job of this name is defined already, at p/p.yaml:1:8; want each name once"+without("q"))
	})
	t.Run("a grant is for such a job of another plugin", func(t *testing.T) {
		s, err := loadWith("grants: [{job: a, plugin: q, args: [x]}]", side("p", "jobs: [{name: a}]"))
		saysLeftOut(t, s, err, "", `p/p.yaml:1:8: jobs[a]: the grant at jobhost.yaml:1:10 is for a job of this name of the plugin "q"`+without("p"))
		if len(s.Grants) != 1 || s.Grants[0].Plugin != "q" {
			t.Errorf("the grants are %+v", s.Grants)
		}
	})
	t.Run("a calendar is unknown", func(t *testing.T) {
		s, err := loadWith("", side("p", "jobs: [{name: a, schedule: every 1m calendar=feasts}, {name: b}]"))
		saysLeftOut(t, s, err, "", `p/p.yaml:1:28: jobs[a].schedule: the calendar "feasts" is not defined; define it in the section calendars`+without("p"))
	})
	t.Run("a variable is not set", func(t *testing.T) {
		s, err := loadWith("jobs: [{name: mine, plugin: p}]", side("p", "timeout: 5s\njobs: [{name: a, schedule: '${when}'}, {name: b, schedule: '${when}'}]"))
		saysLeftOut(t, s, err, "mine", `p/p.yaml:2:28: jobs[a].schedule: "${when}": the variable when is not set; set it in the section vars, or write ${when:-default} (and 1 more)`+without("p"))
		if s.Jobs[0].Def.Timeout != 5*time.Second {
			t.Error("the rest of the manifest is not in force")
		}
	})
	t.Run("its own schema refuses its data", func(t *testing.T) {
		s, err := loadWith("", side("p", "schema: {properties: {top: {minimum: 1}}}\njobs: [{name: own, data: {top: -1}}]"))
		saysLeftOut(t, s, err, "", `p/p.yaml:2:32: jobs[own].data: /top is -1; want 1 or more; so says the schema of the plugin "p"`+without("p"))
	})
}

func TestAFileThatIsNamedAfterAKeyHasIt(t *testing.T) {
	const none = `; so no jobs are taken from the manifest of the plugin "x"`
	s, err := loadWith("", side("p", "key: x\njobs: [{name: good}]"), side("x", "jobs: [{name: good}]"))
	saysLeftOut(t, s, err, "good", `p/p.wasm: key: "x" is the key of the plugin in p/x.wasm already; want each key once`+none)
	s, err = loadWith("", side("a", "key: x\njobs: [{name: evil}]"), jobhost.ManifestText{Plugin: "x", File: "p/x.wasm"})
	saysLeftOut(t, s, err, "", `p/a.wasm: key: "x" is the key of the plugin in p/x.wasm already; want each key once`+none)
	s, err = loadWith("", side("a", "key: x\njobs: [{name: one}]"), side("b", "key: x\njobs: [{name: two}]"))
	saysLeftOut(t, s, err, "",
		`p/a.wasm: key: "x" is the key of the plugin in p/b.wasm already; want each key once`+none,
		`p/b.wasm: key: "x" is the key of the plugin in p/a.wasm already; want each key once`+none)
	if len(s.Manifests) != 0 {
		t.Errorf("in force is %+v", s.Manifests)
	}
	t.Run("also when what claims it is wrong", func(t *testing.T) {
		s, err := loadWith("jobs: [{name: a, plugin: x}]", side("p", "key: x\ntimeout: never"), side("x", "timeout: 5s"))
		saysLeftOut(t, s, err, "a")
		if s.Jobs[0].Def.Timeout != 5*time.Second {
			t.Error("the right manifest is not in force")
		}
	})
}

func TestAGrantForAJobThatComesWithAPluginNamesThePlugin(t *testing.T) {
	_, err := loadWith("grants: [{job: a, args: [x]}]", side("p", "jobs: [{name: a}]"))
	saysManifest(t, err, `jobhost.yaml:1:10: grants[a]: the job "a" comes with a plugin, so its grant has to name that, lest another plugin brings a job of this name; write plugin: p`)
}

func TestTheChecksOfAPluginsJobsAreBoundedTogether(t *testing.T) {
	var jobs strings.Builder
	for i := range maxOwnJobs - 1 {
		fmt.Fprintf(&jobs, "- {name: j%d, data: *d}\n", i)
	}
	schema := "schema: {$ref: '#/$defs/x', $defs: {x: {properties: {a: {allOf: [{$ref: '#/$defs/x'}, {$ref: '#/$defs/x'}]}}}}}\n"
	list := "jobs:\n- {name: first, data: &d " + strings.Repeat("{a: ", 14) + "1" + strings.Repeat("}", 14) + "}\n" + jobs.String()
	s, err := loadWith("jobs: [{name: mine, plugin: q}]", side("p", schema+list))
	if err != nil || len(s.Jobs) != 1 || len(s.LeftOut) != 1 || !strings.Contains(s.LeftOut[0].Msg, "and that of the jobs before take too long to check") {
		t.Errorf("got %+v, %v", s, err)
	}
	_, err = loadWith(strings.ReplaceAll(list, "name:", "plugin: p, name:"), side("p", schema))
	if problems, ok := errors.AsType[Problems](err); !ok || len(problems) != 1 || !strings.Contains(problems[0].Msg, "take too long to check") {
		t.Errorf("the operator's own: %.500v", err)
	}
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
	)
}
