package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost/config"
)

func ExampleLoad() {
	_, err := config.Load(config.Sources{
		Files: []config.File{{Name: "jobhost.yaml", Data: []byte(`
jobs:
  - name: nightly
    plugin: report
    schedule: every 1h
    tiemout: 20m
    history_limit: ten
`)}},
		Environ: []string{"JOBHOST_SCHEDULER__POLL_INTERVAL=0s"},
	})
	fmt.Println(err)
	// Output:
	// jobhost.yaml:6:5: jobs[nightly].tiemout: unknown key; did you mean timeout?
	// jobhost.yaml:7:20: jobs[nightly].history_limit: is "ten"; want an integer, 0 or more
	// $JOBHOST_SCHEDULER__POLL_INTERVAL: scheduler.poll_interval: "0s" is out of range; want a duration such as 90s or 1h30m, more than 0
}

func ExampleDefaults() {
	s := config.Defaults()
	fmt.Println(s.DataDir, s.Store.Path, s.HTTP.Socket, s.Scheduler.PollInterval)
	// Output: ./.jobhost .jobhost/jobhost.db .jobhost/jobhost.sock 1s
}

func TestShippedConfigurationLoads(t *testing.T) {
	const root = ".."
	files, err := config.ReadFiles(filepath.Join(root, "jobhost.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(config.Sources{Files: files, Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Warnings {
		t.Errorf("warning: %v", w)
	}
	if len(s.Jobs) == 0 || len(s.Grants) == 0 {
		t.Errorf("%d jobs and %d grants; want some of both", len(s.Jobs), len(s.Grants))
	}
	for _, j := range s.Jobs {
		if _, err := os.Stat(filepath.Join(root, "plugins/examples", j.Def.Plugin, "main.go")); err != nil {
			t.Errorf("job %q: no example plugin %q: %v", j.Def.Name, j.Def.Plugin, err)
		}
	}
	for _, g := range s.Grants {
		for _, d := range g.Dirs {
			if d.Write {
				continue // made where it is needed, and ignored by git
			}
			if info, err := os.Stat(d.Host); err != nil || !info.IsDir() {
				t.Errorf("job %q is granted %s: %v; want a directory", g.Job, d.Host, err)
			}
		}
	}
}
