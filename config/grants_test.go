package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrantsOfWhatIsOutside(t *testing.T) {
	got := good(t, `
vars: {api: api.example.com}
grants:
- job: b
  plugin: q
  env: {A: x}
  secrets: {TOKEN: {env: API_TOKEN}, KEY: {file: /run/secrets/key}}
  http:
  - {host: "${api}"}
  - {host: "http://localhost:8080", private: true}
  kv: true
  clock: planned
- {job: c, plugin: q, kv: false, clock: real, secrets: {}, http: []}
`).Grants
	at := func(line, column int) Position { return Position{"jobhost.yaml", line, column} }
	want := []Grant{
		{
			Job: "b", Plugin: "q", Pos: at(4, 3), Env: map[string]string{"A": "x"},
			Secrets: map[string]Secret{"TOKEN": {Env: "API_TOKEN", Pos: at(7, 13)}, "KEY": {File: "/run/secrets/key", Pos: at(7, 38)}},
			HTTP:    []HTTPHost{{"api.example.com", false, at(9, 5)}, {"http://localhost:8080", true, at(10, 5)}},
			KV:      true, Clock: ClockPlanned,
		},
		{Job: "c", Plugin: "q", Pos: at(13, 3), Clock: ClockReal},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestTheFileOfASecretStartsAtDir(t *testing.T) {
	s, err := Load(Sources{Dir: "/srv/jobs", Files: []File{{Name: "a.yaml", Data: []byte(`
jobs: [{name: a, plugin: b, grants: {secrets: {A: {file: key}, B: {file: /abs}, C: {env: X}}}}]
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Grants[0].Secrets
	if got["A"].File != "/srv/jobs/key" || got["B"].File != "/abs" || got["C"].File != "" {
		t.Errorf("got %+v", got)
	}
}

func TestALimitOfWritingWithoutWritingIsWarnedOf(t *testing.T) {
	const head = "jobs: [{name: a, plugin: p, grants: {dirs: [{host: /srv/in, guest: /in, max_written: 1MiB"
	for tail, want := range map[string]int{"}]}}]\n": 1, ", mode: rw}]}}]\n": 0} {
		s, err := Load(Sources{Files: []File{{Name: "a.yaml", Data: []byte(head + tail)}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Warnings) != want || want > 0 && s.Warnings[0].Msg != "has no effect with the mode ro" {
			t.Errorf("%s warns of %v; want %d", tail, s.Warnings, want)
		}
	}
}
