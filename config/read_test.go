package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/config"
)

func TestWhatCanBeReadOfAWrongConfigurationIsRead(t *testing.T) {
	const file = `
data_dir: elsewhere
shutdown_timeout: 1
calendars: [{name: free, kind: weekly}]
jobs:
  - {name: a, plugin: p, schedule: every 1m, x: 1}
  - {name: b, plugin: q, triggers: [{name: bad, schedule: every 1}, {name: good, schedule: every 2m}]}
  - {name: C, plugin: r}
`
	s, problems := config.Read(config.Sources{Files: []config.File{{Name: "f.yaml", Data: []byte(file)}}})
	var places []string
	for _, p := range problems {
		places = append(places, p.Pos.String()+" "+p.Key)
	}
	if diff := cmp.Diff(places, []string{
		"f.yaml:3:19 shutdown_timeout", "f.yaml:6:46 jobs[a].x", "f.yaml:7:59 jobs[b].triggers[bad].schedule", "f.yaml:8:12 jobs[2].name",
	}); diff != "" {
		t.Errorf("problems, -got +want:\n%s", diff)
	}
	var jobs []string
	for _, j := range s.Jobs {
		for _, trigger := range j.Def.Triggers {
			jobs = append(jobs, j.Def.Name+" "+j.Def.Plugin+" "+trigger.Name)
		}
	}
	if diff := cmp.Diff(jobs, []string{"a p default", "b q good"}); diff != "" {
		t.Errorf("jobs, -got +want:\n%s", diff)
	}
	if s.DataDir != "elsewhere" || s.ShutdownTimeout != config.Defaults().ShutdownTimeout || s.Calendars["free"] == nil {
		t.Errorf("data_dir %q, shutdown_timeout %v, calendars %v", s.DataDir, s.ShutdownTimeout, s.Calendars)
	}
	if got, err := config.Load(config.Sources{Files: []config.File{{Name: "f.yaml", Data: []byte(file)}}}); got != nil || err == nil || err.Error() != problems.Error() {
		t.Errorf("Load returns %v and %v, want nothing and the same problems", got, err)
	}
}
