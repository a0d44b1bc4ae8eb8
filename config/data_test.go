package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func TestDataBecomesJSON(t *testing.T) {
	for yaml, want := range map[string]string{
		`{}`: `{}`, ``: ``, `~`: ``,
		`{b: 1, a: [x, "y", 'z', ~, null, true, False]}`:                              `{"b":1,"a":["x","y","z",null,null,true,false]}`,
		`{day: 2026-10-01, at: 2026-10-01T06:00:00Z, clock: 22:00, octets: 1.2.3.4}`:  `{"day":"2026-10-01","at":"2026-10-01T06:00:00Z","clock":"22:00","octets":"1.2.3.4"}`,
		`{n: [1.50, -0, 1e3, 12345678901234567890123, 0.1]}`:                          `{"n":[1.50,-0,1e3,12345678901234567890123,0.1]}`,
		`{n: [0x1F, 0o17, 010, 0b11, 1_000, +5, .5, 5., -0x10]}`:                      `{"n":[31,15,8,3,1000,5,0.5,5,-16]}`,
		`{html: "<a> & b", text: "line\nbreak", e: "é", no: no, quoted: "1"}`:         `{"html":"<a> & b","text":"line\nbreak","e":"é","no":"no","quoted":"1"}`,
		`{a: &x {k: 1, l: 2}, b: *x, c: {<<: *x, l: 3}, d: {<<: [*x, {m: 4, k: 5}]}}`: `{"a":{"k":1,"l":2},"b":{"k":1,"l":2},"c":{"l":3,"k":1},"d":{"k":1,"l":2,"m":4}}`,
		`{k: !!str 5}`: `{"k":"5"}`,
	} {
		got := job(t, "name: a\nplugin: p\ndata: "+yaml).Def.Data
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("data %s (-got +want):\n%s", yaml, diff)
		}
	}
}

// Whatever JSON can say, YAML can say the same way.
func TestJSONIsReadAsItself(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] {
		leaf := rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e12, 1e12).AsAny(), rapid.StringMatching(`[ -~é]{0,12}`).AsAny(),
		)
		return rapid.OneOf(leaf, rapid.SliceOfN(leaf, 0, 3).AsAny(), rapid.MapOfN(rapid.StringMatching(`[ -~]{0,6}`), leaf, 0, 3).AsAny())
	})
	object := rapid.MapOfN(rapid.StringMatching(`[a-z<$ ]{0,8}`), value, 0, 4)
	rapid.Check(t, func(rt *rapid.T) {
		want, err := json.Marshal(object.Draw(rt, "data"))
		if err != nil {
			rt.Fatal(err)
		}
		if strings.Contains(string(want), "${") || strings.Contains(string(want), `"<<"`) {
			rt.Skip("means something else in YAML")
		}
		s, err := Load(Sources{Files: []File{{Name: "a.yaml", Data: []byte(`jobs: [{"name":"a","plugin":"p","data":` + string(want) + `}]`)}}})
		if err != nil {
			rt.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(s.Jobs[0].Def.Data, &a) != nil || json.Unmarshal(want, &b) != nil || !cmp.Equal(a, b) {
			rt.Fatalf("data %s, want %s", s.Jobs[0].Def.Data, want)
		}
	})
}

func TestDataIsBounded(t *testing.T) {
	kilobytes := strings.Repeat("x", 4<<10)
	lines := "jobs:\n- name: a\n  plugin: p\n  data:\n    first: &x [" + strings.Repeat(kilobytes+", ", 16) + "]\n    again: [" + strings.Repeat("*x, ", 20) + "]\n"
	wants(t, lines, "jobhost.yaml:5:61486: jobs[a].data.again[14][15]: with this the data has more than 1048576 bytes")

	half := strings.Repeat("x", jobhost.MaxData/2)
	wants(t, "jobs:\n- name: a\n  plugin: p\n  data: {a: "+half+"}\n  triggers:\n  - {name: t, schedule: every 1m, data: {b: "+half+"}}\n",
		"jobhost.yaml:6:41: jobs[a].triggers[t].data: merged with the job's, data has 1048591 bytes, at most 1048576 are allowed")
}

func TestReplacementsAreBounded(t *testing.T) {
	wants(t, "vars: {a: "+strings.Repeat("x", 1<<20)+"}\njobs:\n- {name: a, plugin: p, description: \""+strings.Repeat("${a}", 17)+"\"}\n",
		"jobhost.yaml:3:37: jobs[a].description: replacements have more than 16 MiB in all")
}

func TestGrants(t *testing.T) {
	got := good(t, `
jobs:
- {name: a, plugin: p, grants: {args: [-v, "2"], dirs: [{host: /srv/in, guest: /in}, {host: /srv/out, guest: /out, mode: rw, max_written: 1GiB}]}}
grants:
- {job: b, plugin: q, env: {TZ: UTC, N: "5"}, max_memory: 64MiB, max_output: 1MiB, max_log: 4KiB, max_fuel: 1000000}
`).Grants
	want := []Grant{
		{
			Job: "a", Plugin: "p", Pos: Position{"jobhost.yaml", 3, 32}, Args: []string{"-v", "2"},
			Dirs: []Dir{
				{"/srv/in", "/in", false, 0, Position{"jobhost.yaml", 3, 57}},
				{"/srv/out", "/out", true, 1 << 30, Position{"jobhost.yaml", 3, 86}},
			},
		},
		{
			Job: "b", Plugin: "q", Pos: Position{"jobhost.yaml", 5, 3}, Env: map[string]string{"TZ": "UTC", "N": "5"},
			MaxMemory: 64 << 20, MaxOutput: 1 << 20, MaxLog: 4 << 10, MaxFuel: 1_000_000,
		},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestGrantedDirectoriesStayApartFromOurOwn(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"conf.d", "data", "free/deep", "plugins"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"to-data": "data", "to-above": ".", "to-free": "free"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for host, want := range map[string]string{
		"free": "", "free/deep": "", "to-free": "", "not-there": "", "data2": "", "conf.data": "",
		"data": "the data directory ", "data/sub": "the data directory ", "to-data": "the data directory ", "to-data/x/y": "the data directory ",
		".": "the data directory ", "to-above": "the data directory ", "free/../data": "the data directory ",
		"plugins/new": "the plugin directory ", "conf.d": "the configuration file ", "conf.d/sub": "the configuration directory ",
	} {
		_, err := Load(Sources{Dir: dir, Files: []File{{Name: filepath.Join(dir, "conf.d/a.yaml"), Dir: filepath.Join(dir, "conf.d"), Data: []byte(
			"data_dir: data\ngrants: [{job: a, plugin: p, dirs: [{host: " + host + ", guest: /x}]}]\n")}}})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v, want no problem", host, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), " overlaps "+want)):
			t.Errorf("%s: %v, want a problem about %s", host, err, want)
		}
	}
}

func TestTextHasNoNUL(t *testing.T) {
	wants(t, "data_dir: \"a\\0b\"\n", `jobhost.yaml:1:11: data_dir: "a\x00b" has a NUL character; want a path`)
}

func TestLongValuesAreCutAtACharacter(t *testing.T) {
	text := strings.Repeat("x", 79) + "éé"
	wants(t, "store: {kind: "+text+"}\n", `jobhost.yaml:1:15: store.kind: "`+strings.Repeat("x", 79)+`"… is no kind of store; want memory or bolt`)
}
