package config_test

import (
	"strings"
	"testing"

	"github.com/jobhost/jobhost/config"
)

func TestSuggestionsAreOfWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		name, file, variable, want string
	}{
		{"a variable that is spelled alike", "", "JOBHOST_SCHEDULER__POL_INTERVAL=1s", "did you mean JOBHOST_SCHEDULER__POLL_INTERVAL?"},
		{"a variable that is like none of its section", "", "JOBHOST_SCHEDULER__POL=1s", "behind JOBHOST_SCHEDULER__ there are ACQUIRE_BATCH_SIZE, "},
		{"a variable of a section that is spelled alike", "", "JOBHOST_SCHEDULR__POLL_INTERVAL=1s", "did you mean JOBHOST_SCHEDULER__POLL_INTERVAL?"},
		{"a key of the top in another place", "jobs: [{name: e, plugin: p, http: {socket: s}}]", "", "http: unknown key; http belongs at the top of the file"},
		{"a key of one letter", "jobs: [{name: e, plugin: p, x: 1}]", "", "x: unknown key; known are name, plugin, "},
		{"a key that is not available anywhere", "jobs: [{name: e, plugin: p, notify: x}]", "", "notify: unknown key; known are name, plugin, "},
		{"a key of a place that is not near", "scheduler: {kv: true}", "", "kv: unknown key; known are poll_interval, "},
		{"a key of two places", "host: x", "", "host: unknown key; known are data_dir, "},
		{"a key below", "jobs: [{name: e, plugin: p, misfire: skip}]", "", "misfire: unknown key; misfire belongs in jobs[].triggers[]"},
		{"a key above", "jobs: [{name: e, plugin: p, triggers: [{name: t, schedule: every 1m, timeout: 1s}]}]", "", "timeout: unknown key; timeout belongs in jobs[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Load(config.Sources{Files: []config.File{{Name: "f.yaml", Data: []byte(c.file)}}, Environ: []string{c.variable}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
