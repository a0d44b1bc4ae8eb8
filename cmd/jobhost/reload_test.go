package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// reload writes a configuration, asks the host to take it, and waits until it says something.
func (p *process) reload(config, says string) {
	p.Helper()
	before := strings.Count(p.log.String(), says)
	p.write("jobhost.yaml", config)
	p.signal(syscall.SIGHUP)
	p.hearsMore(says, before)
}

// hearsMore waits until the log has a text more often than it had.
func (p *process) hearsMore(text string, before int) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Count(p.log.String(), text) > before {
			return
		}
	}
	p.Fatalf("it does not say %q again", text)
}

const inForce = "the configuration is in force"

func (p *process) status(job string) jobhost.JobStatus {
	p.Helper()
	st, err := jobhost.One(p.api.Status(p.Context(), []jobhost.Name{job}))
	if err != nil {
		p.Fatal(err)
	}
	return st
}

func (p *process) runsOf(job string) []jobhost.Run {
	p.Helper()
	runs, err := p.api.Runs(p.Context(), jobhost.RunQuery{Job: job, Limit: 1000})
	if err != nil {
		p.Fatal(err)
	}
	slices.Reverse(runs)
	return runs
}

// ready reports whether /readyz says so.
func (p *process) ready() bool {
	p.Helper()
	c := http.Client{Transport: overSocket(filepath.Join(p.dir, ".jobhost", "jobhost.sock"))}
	resp, err := c.Get("http://jobhost/readyz")
	if err != nil {
		p.Fatal(err)
	}
	_ = resp.Body.Close() // it is not read
	return resp.StatusCode == http.StatusOK
}

func TestFR47AReloadDelaysNoFiring(t *testing.T) {
	t.Parallel()
	t.Run("FR-47 a reload during a long run", func(t *testing.T) {
		const tick = "  - {name: tick, plugin: ok, schedule: cron * * * * * *}\n"
		const long = "  - {name: long, plugin: guest, data: {do: [say up, until-cancelled]}}\n"
		f := newFolder(t, "jobs:\n"+tick+long)
		p := f.serve()
		id := f.enqueue(p, "long")
		p.await("long run", jobhost.RunQuery{IDs: []jobhost.RunID{id}, States: []jobhost.RunState{jobhost.RunRunning}}, some)
		p.await("three ticks", jobhost.RunQuery{Job: "tick"}, func(runs []jobhost.Run) bool { return len(runs) >= 3 })
		// The plugin of the new job is one that must be compiled first.
		if err := os.WriteFile(filepath.Join(f.dir, "plugins", "late.wasm"), command(0x01, 0x01, 0x01), 0o600); err != nil {
			t.Fatal(err)
		}
		p.reload("jobs:\n"+tick+long+"  - {name: new, plugin: late, schedule: cron * * * * * *}\n", inForce)
		n := len(p.runsOf("tick"))
		p.await("three more", jobhost.RunQuery{Job: "tick"}, func(runs []jobhost.Run) bool { return len(runs) >= n+3 })
		ticks := p.runsOf("tick")
		for i, r := range ticks[1:] {
			if gap := r.ScheduledAt.Sub(ticks[i].ScheduledAt); gap != time.Second {
				t.Errorf("%v between two ticks:%s", gap, brief(ticks[i:i+2]))
			}
			if late := r.StartedAt.Sub(r.ScheduledAt); late > time.Second {
				t.Errorf("a tick is %v late:%s", late, brief([]jobhost.Run{r}))
			}
		}
		p.await("run of the new job", jobhost.RunQuery{Job: "new"}, some)
		if st := p.status("long"); !st.IsRunning {
			t.Error("the long run has not survived the reload")
		}
		if !p.ready() {
			t.Error("a reload has made the host unready")
		}
		if _, err := jobhost.One(p.api.CancelRuns(t.Context(), []jobhost.RunID{id})); err != nil {
			t.Fatal(err)
		}
		p.stop()
	})
}

func TestFR48ARemovedJobStopsWithTheReload(t *testing.T) {
	t.Parallel()
	t.Run("FR-48 remove, wait, bring back; nobody sends a signal", func(t *testing.T) {
		const tick = "jobs: [{name: tick, plugin: ok, schedule: cron * * * * * *}]\n"
		f := newFolder(t, tick)
		p := f.serve()
		p.await("a tick", jobhost.RunQuery{Job: "tick"}, some)
		f.write("jobhost.yaml", "jobs: []\n")
		p.hears("a job is in no file any more")
		p.hears(inForce)
		n := len(p.runsOf("tick"))
		if _, err := jobhost.One(p.api.Status(t.Context(), []jobhost.Name{"tick"})); jobhost.CodeOf(err) != jobhost.NotFoundJob {
			t.Errorf("the job that was removed: %v", err)
		}
		time.Sleep(2100 * time.Millisecond)
		if got := len(p.runsOf("tick")); got != n || n == 0 {
			t.Errorf("%d runs, and %d when it was removed", got, n)
		}
		back := time.Now()
		f.write("jobhost.yaml", tick)
		p.hearsMore(inForce, 1)
		runs := p.await("a tick after it was back", jobhost.RunQuery{Job: "tick", From: back}, some)
		if first := runs[len(runs)-1]; first.ScheduledAt.Before(back) {
			t.Errorf("the first one makes up for the time without it:%s", brief(runs))
		}
		p.stop()
	})
}

func TestFR49ABadFileKeepsTheLastGoodConfiguration(t *testing.T) {
	t.Parallel()
	t.Run("FR-49 three cases", func(t *testing.T) {
		f := newFolder(t, "jobs: [{name: tick, plugin: ok, schedule: cron * * * * * *}]\n")
		p := f.serve()
		const refused = "the configuration is refused; the last good one stays"
		p.reload("jobs:\n  - {name: a, plugin: ok}\n  - {name: a, plugin: trap}\n", refused)
		p.reload("jobs:\n  - {name: a, plugin: nowhere}\n  - {name: b, plugin: ok, timeout: 1d}\n  - {name: c, plugin: ok, shedule: x}\n", refused)
		p.reload("jobs:\n  - {name: a, plugin: nowhere}\n", refused)
		for _, want := range []string{
			`jobhost.yaml:3:5: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:5`, "jobs[b].timeout", "jobs[c].shedule",
			`jobs[a].plugin: plugin \"nowhere\" is not in`,
		} {
			p.hears(want)
		}
		n := len(p.runsOf("tick"))
		p.await("further tick", jobhost.RunQuery{Job: "tick"}, func(runs []jobhost.Run) bool { return len(runs) > n })
		if !p.ready() {
			t.Error("a bad file has made the host unready")
		}
		// The plugin comes, and what was refused for its sake is taken without being asked again.
		if err := os.WriteFile(filepath.Join(f.dir, "plugins", "nowhere.wasm"), tiny["ok.wasm"], 0o600); err != nil {
			t.Fatal(err)
		}
		p.hears(inForce)
		if r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "a"}})); err != nil || r.State != jobhost.RunSucceeded {
			t.Errorf("the new job: %s, %v", r.State, err)
		}
		if _, err := jobhost.One(p.api.Status(t.Context(), []jobhost.Name{"tick"})); jobhost.CodeOf(err) != jobhost.NotFoundJob {
			t.Errorf("the job that is in no file any more: %v", err)
		}
		// A file that was emptied removes nothing; one that says so does.
		p.reload("", refused)
		p.hears("jobhost.yaml: has no settings in it, and its jobs are in force: a; put back what was in it, or write `jobs: []` there")
		if jobs := p.api.Status(t.Context(), nil); len(jobs) != 1 {
			t.Errorf("an empty file leaves %d jobs; want 1", len(jobs))
		}
		p.reload("jobs: []\n", inForce)
		if jobs := p.api.Status(t.Context(), nil); len(jobs) != 0 {
			t.Errorf("jobs: [] leaves %d jobs", len(jobs))
		}
		if err := os.Remove(filepath.Join(f.dir, "jobhost.yaml")); err != nil {
			t.Fatal(err)
		}
		p.hears("jobhost.yaml: the file is gone")
		p.stop()
	})
}

func TestGrantsChangeWithAReload(t *testing.T) {
	t.Parallel()
	config := func(args string) string {
		return "jobs: [{name: a, plugin: guest, data: {do: [args]}, grants: {args: [" + args + "]}}]\n"
	}
	f := newFolder(t, config("one"))
	p := f.serve()
	says := func(want string) {
		t.Helper()
		r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "a"}}))
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.api.Output(t.Context(), r.ID)
		if err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("the guest got %q, %v; want …%s", out, err, want)
		}
	}
	says("one")
	p.reload(config("two"), inForce)
	says("two")
	// Grants of a configuration that is refused are not given.
	p.reload(config("three")+"calendars: [{name: c}]\n", "the configuration is refused")
	says("two")
	p.stop()
}

func TestAGrantBoundsTheLogThatIsKept(t *testing.T) {
	t.Parallel()
	var do []string
	for i := range 100 {
		do = append(do, fmt.Sprintf(`"say line %d %s"`, i, strings.Repeat("x", 50)))
	}
	f := newFolder(t, "jobs: [{name: a, plugin: guest, data: {do: ["+strings.Join(do, ", ")+"]}, grants: {max_log: 1KiB}}]\n")
	p := f.serve()
	r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "a"}}))
	if err != nil {
		t.Fatal(err)
	}
	var size int
	var log []string
	for e, err := range p.api.Log(t.Context(), r.ID, jobhost.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		size += len(e.Msg)
		log = append(log, e.Msg)
	}
	if n := len(log); n < 3 || size > 1<<10 || !strings.HasPrefix(log[0], "line 0 ") || !strings.HasPrefix(log[n-1], "line 99 ") || !strings.Contains(strings.Join(log, "\n"), "lines are missing here") {
		t.Errorf("of the log %d bytes are kept:\n%s", size, strings.Join(log, "\n"))
	}
	p.stop()
}

func TestCalendarsChangeWithAReload(t *testing.T) {
	t.Parallel()
	config := func(days string) string {
		return "calendars: [{name: c, kind: weekly, days: [" + days + "]}]\n" +
			"jobs: [{name: a, plugin: ok, schedule: cron 0 0 0 * * * calendar=c}, {name: b, plugin: ok, schedule: cron 0 0 0 * * *}]\n"
	}
	f := newFolder(t, config("MON, TUE, WED, THU, FRI, SAT"))
	p := f.serve()
	if day := p.status("a").NextRun.Weekday(); day != time.Sunday {
		t.Fatalf("the next run is on a %v", day)
	}
	before := p.status("b")
	p.reload(config("TUE, WED, THU, FRI, SAT, SUN"), inForce)
	if day := p.status("a").NextRun.Weekday(); day != time.Monday {
		t.Errorf("the next run is on a %v", day)
	}
	if after := p.status("b"); !after.NextRun.Equal(before.NextRun) {
		t.Errorf("a job without a calendar has moved from %v to %v", before.NextRun, after.NextRun)
	}
	p.stop()
}

func TestSettingsThatNeedAStartAreNamed(t *testing.T) {
	t.Parallel()
	const jobs = "jobs: [{name: a, plugin: ok}]\n"
	f := newFolder(t, jobs)
	p := f.serve()
	other := jobs + "data_dir: elsewhere\nscheduler: {poll_interval: 3s}\nstore: {max_size: 1GiB}\nhttp: {socket: other.sock}\n"
	p.reload(other, inForce)
	p.hears(`settings="data_dir, scheduler.poll_interval, store.max_size, http.socket"`)
	p.reload(other+"calendars: []\n", inForce)
	if n := strings.Count(p.log.String(), "some settings change with the next start only"); n != 1 {
		t.Errorf("it is said %d times; want once", n)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other data folder: %v", err)
	}
	p.stop()
}

func TestAnOverrideSurvivesAReloadOfOtherJobs(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "jobs: [{name: a, plugin: ok}, {name: b, plugin: ok}]\n")
	p := f.serve()
	f.write("change.yaml", "jobs: [{name: a, plugin: ok, description: changed}]\n")
	if out, err := f.command("job", "apply", "-f", "change.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.reload("jobs: [{name: a, plugin: ok}, {name: b, plugin: ok, description: new}]\n", inForce)
	if st := p.status("a"); st.Source != jobhost.SourceOverridden || st.Description != "changed" {
		t.Errorf("got %v %q", st.Source, st.Description)
	}
	p.reload("jobs: [{name: a, plugin: ok, description: the file's}]\n", inForce)
	if st := p.status("a"); st.Source != jobhost.SourceFile || st.Description != "the file's" {
		t.Errorf("got %v %q", st.Source, st.Description)
	}
	p.hears("the file's definition replaces one that was made at run time")
	p.stop()
}
