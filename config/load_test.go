package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/jobhost/jobhost"
)

// load reads one file that is called jobhost.yaml.
func load(t *testing.T, text string, environ ...string) (*Settings, error) {
	t.Helper()
	return Load(Sources{Files: []File{{Name: "jobhost.yaml", Data: []byte(text)}}, Environ: environ})
}

// good reads a file that has no problem.
func good(t *testing.T, text string, environ ...string) *Settings {
	t.Helper()
	s, err := load(t, text, environ...)
	if err != nil {
		t.Fatalf("%v\n\n%s", err, text)
	}
	return s
}

// job reads the first job of a file.
func job(t *testing.T, text string) Job {
	t.Helper()
	return good(t, "jobs:\n- "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")).Jobs[0]
}

// wants checks that a file has exactly these problems, or that it has none.
func wants(t *testing.T, text string, want ...string) {
	t.Helper()
	_, err := load(t, text)
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("problems of\n%.1000s\n(-got +want):\n%s", text, diff)
	}
}

// Each archive in testdata/bad holds files, perhaps a file environ with a variable in each line, and the problems that
// loading them gives.
func TestBadConfigurations(t *testing.T) {
	paths, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d archives, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var src Sources
			for _, f := range a.Files {
				switch f.Name {
				case "environ":
					src.Environ = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
				case "problems":
				default:
					src.Files = append(src.Files, File{Name: f.Name, Data: f.Data})
				}
			}
			_, err = Load(src)
			if err == nil {
				t.Fatal("no problem was found")
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "problems" })
			a.Files = append(a.Files, txtar.File{Name: "problems", Data: []byte(err.Error() + "\n")})
			golden(t, path, string(txtar.Format(a)))
		})
	}
}

func TestEmptySourcesGiveTheDefaults(t *testing.T) {
	want := Defaults()
	for _, c := range []struct {
		name string
		text string
	}{
		{"FR-49 an empty file starts fine", ""},
		{"FR-49 a file of comments starts fine", "# nothing yet\n"},
		{"FR-49 sections without content start fine", "jobs:\ncalendars:\ngrants:\nvars:\nscheduler:\nstore:\n"},
		{"FR-49 an empty list of jobs starts fine", "jobs: []\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(*good(t, c.text), want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
	t.Run("FR-49 no file at all starts fine", func(t *testing.T) {
		s, err := Load(Sources{Environ: []string{"HOME=/", "JOBHOST_SERVER=unix:///x"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*s, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
}

func TestEverySettingIsRead(t *testing.T) {
	got := good(t, `
data_dir: /var/lib/jobhost
shutdown_timeout: 10s
cancel_grace: 1s500ms
drain_delay: 3s
scheduler:
  poll_interval: 500ms
  node_id: "7"
  max_concurrent_runs: 4
  acquire_batch_size: 2
  misfire_threshold: 0
  lease_resource: team.jobs
  lease_ttl: 1m
  node_timeout: 2m
  housekeeping_interval: 30s
  history_retention: 0s
store: {kind: bolt, max_size: 64MiB, compact_above: 0, compact_min_size: 1GiB}
plugins: {dir: /opt/plugins, max_memory: 128MiB, max_total_memory: 1GiB}
telemetry: {enabled: false}
`)
	want := Settings{
		DataDir: "/var/lib/jobhost", ShutdownTimeout: 10 * time.Second, CancelGrace: 1500 * time.Millisecond, DrainDelay: 3 * time.Second,
		Scheduler: Scheduler{
			PollInterval: 500 * time.Millisecond, NodeID: "7", MaxConcurrentRuns: 4, AcquireBatchSize: 2,
			LeaseResource: "team.jobs", LeaseTTL: time.Minute, NodeTimeout: 2 * time.Minute, HousekeepingInterval: 30 * time.Second,
		},
		Store:   Store{Kind: StoreBolt, Path: "/var/lib/jobhost/jobhost.db", MaxSize: 64 << 20, CompactMinSize: 1 << 30},
		Plugins: Plugins{Dir: "/opt/plugins", MaxMemory: 128 << 20, MaxTotalMemory: 1 << 30, KeepVersions: 5},
		HTTP:    HTTP{Socket: "/var/lib/jobhost/jobhost.sock"},
	}
	if diff := cmp.Diff(*got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestRelativePathsStartAtDir(t *testing.T) {
	s, err := Load(Sources{Dir: "/srv/jobs", Environ: []string{"JOBHOST_PLUGINS__DIR=p"}, Files: []File{{Name: "a.yaml", Data: []byte(`
store: {path: db/jobs.db}
http: {socket: /run/jobhost.sock}
grants:
- {job: a, plugin: b, dirs: [{host: out, guest: /out, mode: rw}, {host: /abs, guest: /abs}]}
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.DataDir, s.Plugins.Dir, s.Store.Path, s.HTTP.Socket, s.Grants[0].Dirs[0].Host, s.Grants[0].Dirs[1].Host}
	want := []string{"/srv/jobs/.jobhost", "/srv/jobs/p", "/srv/jobs/db/jobs.db", "/run/jobhost.sock", "/srv/jobs/out", "/abs"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestEnvironmentOverridesFiles(t *testing.T) {
	s := good(
		t, "data_dir: a\nscheduler: {poll_interval: 2s, max_concurrent_runs: 3}\n",
		"JOBHOST__DATA_DIR=b", "JOBHOST_SCHEDULER__POLL_INTERVAL=5s", "JOBHOST_SCHEDULER__NODE_ID=17", "JOBHOST_TELEMETRY__ENABLED=false",
		"JOBHOST_STORE__MAX_SIZE=0", "JOBHOST_SERVER=x", "jobhost_scheduler__poll_interval=x", "OTHER__X=y", "JOBHOST_SCHEDULER__POLL_INTERVAL=9s",
	)
	want := Defaults()
	want.DataDir, want.Store.Path, want.HTTP.Socket = "b", "b/jobhost.db", "b/jobhost.sock"
	want.Scheduler.PollInterval, want.Scheduler.MaxConcurrentRuns, want.Scheduler.NodeID = 5*time.Second, 3, "17"
	want.Telemetry.Enabled = false
	if diff := cmp.Diff(*s, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestSeveralFilesAddUp(t *testing.T) {
	s, err := Load(Sources{Files: []File{
		{Name: "a.yaml", Data: []byte("vars: {x: from a}\nscheduler: {poll_interval: 2s}\njobs: [{name: a, plugin: p, description: \"${y}\"}]")},
		{Name: "b.yaml", Data: []byte("vars: {y: from b}\nscheduler: {lease_ttl: 1m}\njobs: [{name: b, plugin: p, description: \"${x}\"}]")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ Job, Text, Pos string }
	var got []place
	for _, j := range s.Jobs {
		got = append(got, place{j.Def.Name, j.Def.Description, j.Pos.String()})
	}
	if diff := cmp.Diff(got, []place{{"a", "from b", "a.yaml:3:8"}, {"b", "from a", "b.yaml:3:8"}}); diff != "" {
		t.Errorf("jobs (-got +want):\n%s", diff)
	}
	if s.Scheduler.PollInterval != 2*time.Second || s.Scheduler.LeaseTTL != time.Minute {
		t.Errorf("poll_interval %v and lease_ttl %v, want 2s and 1m", s.Scheduler.PollInterval, s.Scheduler.LeaseTTL)
	}
}

func TestProblemsCarryTheCodeOfAnInvalidDefinition(t *testing.T) {
	_, err := load(t, "jobs: [{name: a}]")
	if got := jobhost.CodeOf(err); got != jobhost.InvalidDefinition {
		t.Errorf("code %q, want %q", got, jobhost.InvalidDefinition)
	}
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 1 {
		t.Fatalf("error %v, want one problem", err)
	}
	want := Problem{Position{"jobhost.yaml", 1, 8}, "jobs[a].plugin", "is missing; want " + aName.want}
	if diff := cmp.Diff(problems[0], want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing to warn of", "scheduler: {lease_ttl: 1001ms, node_timeout: 2001ms, misfire_threshold: 0}\njobs: [{name: a, plugin: p, schedule: every 1m}]", nil},
		{
			"a lease shorter than a cycle", "scheduler:\n  lease_ttl: 1s",
			[]string{"jobhost.yaml:2:14: scheduler.lease_ttl: lease_ttl 1s is not more than poll_interval 1s, so the lease may run out between two renewals"},
		},
		{
			"a cycle longer than the lease and the nodes' patience", "scheduler: {poll_interval: 45s}",
			[]string{
				"jobhost.yaml:1:28: scheduler.poll_interval: lease_ttl 30s is not more than poll_interval 45s, so the lease may run out between two renewals",
				"jobhost.yaml:1:28: scheduler.poll_interval: node_timeout 1m30s is not more than twice poll_interval 45s, so a live node may be taken for lost",
			},
		},
		{
			"skip without a threshold",
			"scheduler: {misfire_threshold: 0}\njobs:\n- {name: a, plugin: p, triggers: [{name: t, schedule: every 1m, misfire: skip}]}",
			[]string{"jobhost.yaml:3:74: jobs[a].triggers[t].misfire: with scheduler.misfire_threshold 0 every firing is late, so that skip leaves none"},
		},
		{"a path for memory", "store: {kind: memory, path: x.db}", []string{"jobhost.yaml:1:29: store.path: has no effect with the store kind memory"}},
		{
			"a bound for fixed waits", "jobs:\n- {name: a, plugin: p, retry: {max_retries: 1, delay: 1s, max_delay: 2s}}",
			[]string{"jobhost.yaml:2:70: jobs[a].retry.max_delay: has no effect with a fixed backoff"},
		},
		{
			"a socket's path that is too long", "data_dir: /" + strings.Repeat("d", 100),
			[]string{`jobhost.yaml:1:11: data_dir: the socket's path "/` + strings.Repeat("d", 79) + `"… has 114 bytes, and some systems allow 103`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, w := range good(t, c.text).Warnings {
				got = append(got, w.Error())
			}
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestAListOfProblemsIsBounded(t *testing.T) {
	_, err := load(t, "jobs:\n"+strings.Repeat("- {name: A}\n", 500))
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != maxProblems+1 {
		t.Fatalf("%d problems, want %d and a line that counts the rest", len(problems), maxProblems)
	}
	if got, want := problems[maxProblems].Error(), "and 800 more problems"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
}

func TestAProblemIsOneLine(t *testing.T) {
	wants(t, "\"a\\nb\\x1b[31m\": 1\n", `jobhost.yaml:1:1: "a\nb\x1b[31m": unknown key; known are `+strings.Join(topNames(), ", "))
}

func topNames() []string {
	var names []string
	for _, f := range topKeys() {
		if !f.later {
			names = append(names, f.name)
		}
	}
	return names
}
