package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestVariables(t *testing.T) {
	const schedule = "jobs:\n- {name: a, plugin: p, schedule: \"cron ${reservations.cron:-0 0 18 * * ?}\"}\n"
	for name, c := range map[string]struct{ vars, want string }{
		"S-195 unset, the default":         {"", "cron 0 0 18 * * ?"},
		"S-195 empty, the default":         {"vars: {reservations.cron: ''}\n", "cron 0 0 18 * * ?"},
		"S-195 without value, the default": {"vars: {reservations.cron: }\n", "cron 0 0 18 * * ?"},
		"S-195 set, the value":             {"vars: {reservations.cron: 0 30 18 * * ?}\n", "cron 0 30 18 * * ?"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := good(t, c.vars+schedule).Jobs[0].Def.Triggers[0].Schedule; got != c.want {
				t.Errorf("schedule %q, want %q", got, c.want)
			}
		})
	}
	t.Run("S-195 no default and unset", func(t *testing.T) {
		wants(t, "jobs:\n- {name: a, plugin: p, schedule: \"cron ${reservations.cron}\"}\n",
			`jobhost.yaml:2:34: jobs[a].schedule: "cron ${reservations.cron}": the variable reservations.cron is not set; `+
				`set it in the section vars, or write ${reservations.cron:-default}`)
	})
	t.Run("the fingerprint covers the text after replacement", func(t *testing.T) {
		a := good(t, schedule).Jobs[0].Fingerprint
		if b := good(t, "vars: {reservations.cron: 0 30 18 * * ?}\n"+schedule).Jobs[0].Fingerprint; a == b {
			t.Error("another schedule has the same fingerprint")
		}
		if b := good(t, "vars: {reservations.cron: 0 0 18 * * ?}\n"+schedule).Jobs[0].Fingerprint; a != b {
			t.Error("the same schedule has another fingerprint")
		}
	})
	t.Run("text around, twice, a plain dollar, and typed keys", func(t *testing.T) {
		j := good(t, `
vars: {who: Ada, n: 3, long: 90m}
jobs:
- name: a
  plugin: p
  description: "${who} & ${who}, $5, $${who}, ${nobody:-}."
  timeout: ${long}
  history_limit: ${n}
  allow_concurrent: ${on:-true}
  data: {n: "${n}", list: ["${who}"]}
`).Jobs[0].Def
		want := jobhost.NewJob("a", "p")
		want.Description, want.Timeout, want.HistoryLimit, want.AllowConcurrent = "Ada & Ada, $5, ${who}, .", 90*time.Minute, 3, true
		want.Data = []byte(`{"n":"3","list":["Ada"]}`)
		if diff := cmp.Diff(j, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
}
