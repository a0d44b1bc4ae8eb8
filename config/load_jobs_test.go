package config_test

import (
	"strings"
	"testing"

	"github.com/jobhost/jobhost/config"
)

func TestJobsForAHostThatRuns(t *testing.T) {
	file := config.File{Name: "jobs.yaml", Data: []byte(`
vars: {plug: p}
jobs:
  - name: a
    plugin: ${plug}
    schedule: cron 0 3 * * * calendar=of-the-host
    timeout: 90s
`)}
	jobs, warnings, err := config.LoadJobs(file)
	if err != nil || len(warnings) > 0 || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v, %v", len(jobs), warnings, err)
	}
	if d := jobs[0].Def; d.Name != "a" || d.Plugin != "p" || len(d.Triggers) != 1 || !strings.Contains(d.Triggers[0].Schedule, "calendar=of-the-host") {
		t.Errorf("got %+v", d)
	}
	if jobs, _, err := config.LoadJobs(); err != nil || len(jobs) != 0 {
		t.Errorf("no file gives %v, %v", jobs, err)
	}
}

func TestWhatIsTheHostsOwnAffairIsRefused(t *testing.T) {
	_, _, err := config.LoadJobs(config.File{Name: "jobs.yaml", Data: []byte(`
scheduler: {poll_interval: 2s}
calendars: []
jobs:
  - {name: a, plugin: p, grants: {args: [x]}}
  - {name: a, plugin: p}
  - {name: b, plugin: p, timeout: 1d}
`)})
	want := []string{
		"jobs.yaml:2:1: scheduler: unknown key; known are vars, jobs",
		"jobs.yaml:3:1: calendars: unknown key; known are vars, jobs",
		"jobs.yaml:5:34: jobs[a].grants: a job that is defined at run time has none",
		"jobs.yaml:6:5: jobs[a]: a job of this name is defined already, at jobs.yaml:5:5",
		"jobs.yaml:7:35: jobs[b].timeout: ",
	}
	if err == nil {
		t.Fatal("it was taken")
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("got\n%v\nwant %d lines", err, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is\n%s\nwant\n%s…", i+1, got[i], want[i])
		}
	}
}
