package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// put writes a file of the plugin folder, whole at once.
func (f *folder) put(name string, data []byte) {
	f.Helper()
	file := filepath.Join(f.dir, "plugins", name)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		f.Fatal(err)
	}
}

// jobs lists the jobs of a host with their first schedules.
func (p *process) jobs() string {
	p.Helper()
	var list []string
	for _, r := range p.api.Status(p.Context(), nil) {
		if r.Err != nil {
			p.Fatal(r.Err)
		}
		schedule := "manual"
		if len(r.Value.Triggers) > 0 {
			schedule = r.Value.Triggers[0].Schedule
		}
		list = append(list, r.Value.Name+" "+schedule+" "+r.Value.Source.String())
	}
	return strings.Join(list, ", ")
}

// becomes waits until a host has these jobs.
func (p *process) becomes(want string) {
	p.Helper()
	got := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = p.jobs(); got == want {
			return
		}
	}
	p.Fatalf("the jobs are %q; want %q\n%s", got, want, p.log)
}

func TestJobsComeAndGoWithTheirPlugins(t *testing.T) {
	t.Parallel()
	const mine = "jobs: [{name: mine, plugin: ok}]\n"
	f := newFolder(t, mine+"vars: {often: every 2h}\n")
	f.put("first.yaml", []byte("key: report\njobs: [{name: first.job, schedule: '${often:-every 1h}'}]\n"))
	f.put("first.wasm", command(0x01))
	p := f.serve()
	const first = "first.job every 02:00:00 File, mine manual File"
	p.becomes(first)

	f.put("late.yaml", []byte("jobs: [{name: late.job, schedule: every 1h}]\n"))
	f.put("late.wasm", command(0x01, 0x01, 0x01))
	p.becomes("first.job every 02:00:00 File, late.job every 01:00:00 File, mine manual File")
	if r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "late.job"}})); err != nil || r.State != jobhost.RunSucceeded {
		t.Errorf("a run of a job that came with its plugin: %+v, %v", r, err)
	}

	f.put("late.yaml", []byte("jobs: [{name: late.job, schedule: every 3h}]\n"))
	p.becomes("first.job every 02:00:00 File, late.job every 03:00:00 File, mine manual File")

	f.put("late.yaml", []byte("jobs: [{name: late.job, schedule: hourly}]\n"))
	p.hears("plugin refused")
	p.hears("late.yaml:1:35: jobs[late.job].schedule")
	p.becomes("first.job every 02:00:00 File, late.job every 03:00:00 File, mine manual File")

	f.put("late.yaml", []byte("jobs: [{name: mine, schedule: every 3h}]\n"))
	p.hears("jobs[mine]: a job of this name is defined already, at jobhost.yaml:1:8")
	p.becomes(first) // what is wrong with one plugin is wrong with its jobs only

	for _, name := range []string{"late.yaml", "late.wasm"} {
		if err := os.Remove(filepath.Join(f.dir, "plugins", name)); err != nil {
			t.Fatal(err)
		}
	}
	p.becomes(first)
	f.write("jobhost.yaml", mine)
	p.becomes("first.job every 01:00:00 File, mine manual File")
	p.stop()
}

func TestTwoFilesOfOneKeyStopAStartOnlyIfAJobNeedsIt(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "jobs: [{name: mine, plugin: twice}]\n")
	f.put("first.yaml", []byte("key: twice\njobs: [{name: first.job}]"))
	f.put("first.wasm", command(0x01))
	f.put("second.yaml", []byte("key: twice\n"))
	f.put("second.wasm", command(0x01, 0x01))
	p := f.launch("serve")
	if code := p.wait(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	p.hears(`jobs[mine].plugin: plugin "twice" is not in ./plugins`)
	f.write("jobhost.yaml", "jobs: [{name: mine, plugin: ok}]\n")
	p = f.serve()
	p.becomes("mine manual File")
	p.hears(`plugins/second.wasm: key: \"twice\" is the key of the plugin in plugins/first.wasm already`)
	p.hears("the jobs of a plugin are left out")
	p.stop()
	f.put("second.yaml", []byte("nonsense: true\n")) // nobody needs it
	p = f.serve()
	p.becomes("first.job manual File, mine manual File")
	p.hears("second.yaml:1:1: nonsense: unknown key")
	p.stop()
}

func TestDataThatNoLongerFitsFailsTheRunForGood(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "jobs: [{name: mine, plugin: own, schedule: cron * * * * * *, data: {format: pdf}, retry: {max_retries: 3, delay: 1ms}}]\n")
	f.put("own.wasm", command(0x01))
	p := f.serve()
	p.await("a run", jobhost.RunQuery{Job: "mine", States: []jobhost.RunState{jobhost.RunSucceeded}}, some)
	f.put("own.yaml", []byte("schema: {properties: {format: {enum: [md, html]}}}\n"))
	p.hears(`: jobs[mine].data: /format is \"pdf\"; want \"md\" or \"html\"`)
	p.await("two failures", jobhost.RunQuery{Job: "mine", States: []jobhost.RunState{jobhost.RunFailed}}, func(runs []jobhost.Run) bool { return len(runs) >= 2 })
	for _, r := range p.runsOf("mine") {
		if r.State != jobhost.RunFailed {
			continue
		}
		if r.Kind != jobhost.KindSchedule || r.ErrorCode != jobhost.InvalidDefinition || !strings.Contains(r.ErrorMessage, `/format is "pdf"; want "md" or "html"`) {
			t.Errorf("got %+v", r)
		}
	}
	p.stop()
}
