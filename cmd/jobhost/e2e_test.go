package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestTheFirstRunIsRecorded(t *testing.T) {
	t.Parallel()
	f := newFolder(t, `
jobs:
  - name: tick
    plugin: guest
    data: {do: [say tick, 'print {"ok": true}']}
    schedule: cron * * * * * *
`)
	p := f.serve()
	r := p.await("run that succeeded", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunSucceeded}}, some)[0]
	if r.Job != "tick" || r.Trigger != "default" || r.Kind != jobhost.KindSchedule || r.Attempt != 1 || !r.ScheduledAt.Equal(r.ScheduledAt.Truncate(time.Second)) {
		t.Errorf("got %s", brief([]jobhost.Run{r}))
	}
	if out, err := p.api.Output(t.Context(), r.ID); err != nil || string(out) != `{"ok": true}` {
		t.Errorf("output %q, %v", out, err)
	}
	p.stop()
}

func TestTheDataFolderIsMadeForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "data_dir: deep/data\nplugins: {dir: deep/plugins}\n")
	p := f.launch("serve")
	if err := awaitReady(filepath.Join(f.dir, "deep", "data", "jobhost.sock")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "jobhost.db": 0o600, "jobhost.sock": 0o600, "cache": 0o700, "../plugins": 0o750} {
		info, err := os.Stat(filepath.Join(f.dir, "deep", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o; want %o", name, got, want)
		}
	}
	p.stop()
}

func TestFR11AKilledHostLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	t.Run("FR-11 kill -9 in a run, start again", func(t *testing.T) {
		f := newFolder(t, `
jobs:
  - name: long
    plugin: guest
    data: {do: [say up, host-sleep 1h]}
    requests_recovery: true
    triggers: [{name: t, schedule: "cron * * * * * *"}]
`)
		p := f.serve()
		r := p.await("run in progress", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunRunning}}, some)[0]
		time.Sleep(1100 * time.Millisecond) // the trigger comes due meanwhile and is Blocked
		p.signal(syscall.SIGKILL)
		if code := p.wait(); code != 128+int(syscall.SIGKILL) {
			t.Fatalf("exit code %d", code)
		}
		f.write("jobhost.yaml", `
jobs:
  - name: long
    plugin: guest
    data: {do: [print quick]}
    requests_recovery: true
    triggers: [{name: t, schedule: "cron * * * * * *"}]
`)
		began := time.Now()
		p = f.serve()
		lost := p.await("end of the killed run", jobhost.RunQuery{IDs: []jobhost.RunID{r.ID}}, func(runs []jobhost.Run) bool {
			return len(runs) == 1 && runs[0].State.Ended()
		})[0]
		if lost.State != jobhost.RunLost || lost.ErrorCode != "" {
			t.Errorf("the killed run is %s %s; want Lost", lost.State, lost.ErrorCode)
		}
		recovery := p.await("recovery", jobhost.RunQuery{Kinds: []jobhost.RunKind{jobhost.KindRecovery}}, some)
		if len(recovery) != 1 || recovery[0].RecoveryOf != r.ID {
			t.Errorf("recoveries:%s", brief(recovery))
		}
		// The next firing comes, though the trigger was Blocked by the killed run. The recovery sleeps with the old data, so
		// it is cancelled first.
		if _, err := jobhost.One(p.api.CancelRuns(t.Context(), []jobhost.RunID{recovery[0].ID})); err != nil {
			t.Fatal(err)
		}
		fired := p.await("next firing", jobhost.RunQuery{Job: "long", From: began, States: []jobhost.RunState{jobhost.RunSucceeded}}, func(runs []jobhost.Run) bool { return len(runs) >= 2 })
		if late := fired[0].StartedAt.Sub(fired[0].ScheduledAt); late > time.Second {
			t.Errorf("the next firing is %v late", late)
		}
		open := p.await("quiet moment", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunRunning}}, func(runs []jobhost.Run) bool { return len(runs) == 0 })
		if len(open) != 0 {
			t.Errorf("still running:%s", brief(open))
		}
		p.stop()
	})
}

func TestS101ASecondHostIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("S-101 two hosts on one data folder", func(t *testing.T) {
		f := newFolder(t, "jobs: [{name: a, plugin: ok}]\n")
		p := f.serve()
		second := f.launch("serve")
		if code := second.wait(); code != 1 {
			t.Errorf("exit code %d; want 1", code)
		}
		if got := strings.TrimSpace(second.log.String()); strings.Count(got, "\n") != 0 || !strings.Contains(got, ".jobhost/jobhost.db") || !strings.Contains(got, "another jobhost uses it") {
			t.Errorf("it said %q; want one line that names the file", got)
		}
		if r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "a"}})); err != nil || r.State != jobhost.RunSucceeded {
			t.Errorf("the first one: %s, %v; it must not be disturbed", r.State, err)
		}
		p.stop()
	})
}

func TestSIGTERMLetsRunsEnd(t *testing.T) {
	t.Parallel()
	t.Run("S-174 a short run ends, an endless one is cancelled at the deadline", func(t *testing.T) {
		f := newFolder(t, `
shutdown_timeout: 1500ms
cancel_grace: 200ms
jobs:
  - {name: short, plugin: guest, data: {do: [say up, host-sleep 500ms, print done]}}
  - {name: endless, plugin: spin}
`)
		p := f.serve()
		ids := []jobhost.RunID{f.enqueue(p, "short"), f.enqueue(p, "endless")}
		p.await("two runs in progress", jobhost.RunQuery{IDs: ids, States: []jobhost.RunState{jobhost.RunRunning}}, func(runs []jobhost.Run) bool { return len(runs) == 2 })
		p.stop()

		p = f.serve()
		runs := p.await("records", jobhost.RunQuery{IDs: ids}, some)
		got := map[string]string{}
		for _, r := range runs {
			got[r.Job] = r.State.String() + " " + string(r.ErrorCode)
		}
		if got["short"] != "Succeeded " || got["endless"] != "Canceled "+string(jobhost.Canceled) {
			t.Errorf("got %v", got)
		}
		p.stop()
	})
	t.Run("a second signal ends the waiting at once", func(t *testing.T) {
		f := newFolder(t, "shutdown_timeout: 1h\ncancel_grace: 100ms\njobs: [{name: endless, plugin: spin}]\n")
		p := f.serve()
		id := f.enqueue(p, "endless")
		p.await("run in progress", jobhost.RunQuery{IDs: []jobhost.RunID{id}, States: []jobhost.RunState{jobhost.RunRunning}}, some)
		p.signal(syscall.SIGTERM)
		p.hears("msg=stopping")
		if _, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "endless"}})); jobhost.CodeOf(err) != jobhost.NotServing {
			t.Errorf("a request while stopping: %v; want %s", err, jobhost.NotServing)
		}
		p.stop()
		if !strings.Contains(p.log.String(), "cancelling the runs in progress") {
			t.Error("the log does not say why the runs ended")
		}
	})
}

func (f *folder) enqueue(p *process, job string) jobhost.RunID {
	f.Helper()
	id, err := jobhost.One(p.api.Enqueue(f.Context(), []jobhost.EnqueueRequest{{Job: job}}))
	if err != nil {
		f.Fatal(err)
	}
	return id
}

func TestAFollowerHearsTheEndOfTheHost(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "shutdown_timeout: 0s\ncancel_grace: 100ms\njobs: [{name: talk, plugin: guest, data: {do: [say up, spin]}}]\n")
	p := f.serve()
	id := f.enqueue(p, "talk")
	follow := f.command("run", "logs", "-f", string(id))
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	if n, err := out.Read(line); err != nil || !strings.Contains(string(line[:n]), "up") {
		t.Fatalf("got %q, %v", line[:n], err)
	}
	p.stop()
	if err := follow.Wait(); err != nil {
		t.Errorf("the follower ended with %v; the run has ended, and so has its log", err)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		want   []string // of each line, what it must have
	}{
		"an unknown key": {
			"scheduler: {poll: 1s}\n", []string{"jobhost.yaml:1:13: scheduler.poll: "},
		},
		"a bad duration": {
			"jobs:\n  - name: a\n    plugin: ok\n    timeout: 1d\n", []string{"jobhost.yaml:4:14: jobs[a].timeout: "},
		},
		"a bad cron expression": {
			"jobs:\n  - {name: a, plugin: ok, schedule: 'cron 61 * * * *'}\n", []string{"jobhost.yaml:2:", "jobs[a].schedule: "},
		},
		"FR-27 an unknown zone": {
			"jobs:\n  - {name: a, plugin: ok, schedule: cron 0 3 * * * tz=Mars/Base}\n", []string{"jobhost.yaml:2:", "Mars/Base"},
		},
		"FR-49 a name twice": {
			"jobs:\n  - {name: a, plugin: ok}\n  - {name: a, plugin: trap}\n", []string{"jobhost.yaml:3:", "jobhost.yaml:2:"},
		},
		"a plugin that is not there": {
			"jobs:\n  - {name: a, plugin: ok}\n  - {name: b, plugin: missing}\n", []string{"jobhost.yaml:3:5: jobs[b].plugin: plugin \"missing\" is not in ./plugins, which has", "put the file missing.wasm there"},
		},
		"a plugin that is broken": {
			"jobs:\n  - {name: a, plugin: broken}\n", []string{"jobhost.yaml:2:5: jobs[a].plugin: plugin \"broken\" cannot be loaded: ", "broken.wasm"},
		},
		"two problems at once": {
			"jobs:\n  - {name: a, plugin: ok, timeout: 1d, retry: {max_retries: 0, delay: 1m}}\n", []string{"timeout", "max_retries"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, c.config)
			f.write(filepath.Join("plugins", "broken.wasm"), "this is no module")
			p := f.launch("serve", "--log-level", "error")
			if code := p.wait(); code != exitUsage {
				t.Errorf("exit code %d; want %d", code, exitUsage)
			}
			var lines []string
			for line := range strings.Lines(p.log.String()) {
				if !strings.HasPrefix(line, "time=") {
					lines = append(lines, line)
				}
			}
			got := strings.Join(lines, "")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it said:\n%s\nwant …%s…", got, want)
				}
			}
			if want := 1 + strings.Count(name, "two"); len(lines) != want {
				t.Errorf("%d lines; want %d:\n%s", len(lines), want, got)
			}
		})
	}
}

func TestAnInterruptedTrialAsksThePluginToStop(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "")
	f.env = []string{"XDG_CACHE_HOME=" + filepath.Join(f.dir, "cache")}
	if err := sharedFiles(t).warm(filepath.Join(f.dir, "cache", "jobhost")); err != nil {
		t.Fatal(err)
	}
	p := f.launch("exec", "plugins/guest.wasm", "--data", `{"do": ["say up", "until-cancelled", "print bye"]}`)
	p.hears("up")
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d; a plugin that stops when asked has succeeded", code)
	}
}
