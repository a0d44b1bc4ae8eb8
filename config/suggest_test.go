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
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Load(config.Sources{Files: []config.File{{Name: "f.yaml", Data: []byte(c.file)}}, Environ: []string{c.variable}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
