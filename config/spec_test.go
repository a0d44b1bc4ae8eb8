package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestDefinitions(t *testing.T) {
	t.Run("S-03 two triggers of one name in a job", func(t *testing.T) {
		wants(t, "jobs:\n- name: a\n  plugin: p\n  triggers:\n  - {name: x, schedule: every 1m}\n  - {name: x, schedule: every 2m}\n",
			"jobhost.yaml:6:5: jobs[a].triggers[x]: the job has two triggers of this name; the first is at jobhost.yaml:5:5")
	})
	t.Run("S-04 the same trigger name in two jobs", func(t *testing.T) {
		wants(t, "jobs:\n- {name: a, plugin: p, triggers: [{name: x, schedule: every 1m}]}\n- {name: b, plugin: p, triggers: [{name: x, schedule: every 1m}]}\n")
	})
	for _, prefix := range []string{"retry-", "recovery-", "manual-"} {
		t.Run("S-05 a trigger with the prefix "+prefix, func(t *testing.T) {
			wants(t, "jobs:\n- {name: a, plugin: p, triggers: [{name: "+prefix+"x, schedule: every 1m}]}\n",
				fmt.Sprintf("jobhost.yaml:2:42: jobs[a].triggers[%sx].name: the prefix %q is reserved for triggers that jobhost writes itself", prefix, prefix))
		})
	}
	t.Run("S-06 a trigger with schedule manual", func(t *testing.T) {
		wants(t, "jobs:\n- {name: a, plugin: p, triggers: [{name: x, schedule: manual}]}\n",
			`jobhost.yaml:2:55: jobs[a].triggers[x].schedule: "manual" is not for a trigger; leave the trigger out, a job without triggers runs only on request`)
	})
	const timeout = "jobs:\n- {name: a, plugin: p, timeout: %s}\n"
	for _, bad := range []string{"0s", "0", "-1s", "720h0m0.000000001s"} {
		t.Run("S-07 timeout "+bad, func(t *testing.T) {
			wants(t, fmt.Sprintf(timeout, bad),
				"jobhost.yaml:2:33: jobs[a].timeout: "+shown(bad)+" is out of range; want a duration such as 90s or 1h30m, more than 0, at most 720h, or none")
		})
	}
	t.Run("S-07 timeout 720h", func(t *testing.T) { wants(t, fmt.Sprintf(timeout, "720h")) })

	const retry = "jobs:\n- {name: a, plugin: p, retry: {max_retries: %s, delay: %s, backoff: exponential, max_delay: %s}}\n"
	for _, c := range [][3]string{{"1", "1ns", "1ns"}, {"100", "720h", "720h"}} {
		t.Run("S-08 retry "+strings.Join(c[:], " "), func(t *testing.T) { wants(t, fmt.Sprintf(retry, c[0], c[1], c[2])) })
	}
	for _, c := range []struct {
		max, delay, maxDelay string
		column               int
		want                 string
	}{
		{"0", "1s", "1s", 45, "max_retries: 0 is out of range; want an integer, 1 to 100"},
		{"101", "1s", "1s", 45, "max_retries: 101 is out of range; want an integer, 1 to 100"},
		{"1", "0s", "1s", 55, `delay: "0s" is out of range; want a duration such as 90s or 1h30m, more than 0, at most 720h`},
		{"1", "720h0m0.000000001s", "1s", 55, `delay: "720h0m0.000000001s" is out of range; want a duration such as 90s or 1h30m, more than 0, at most 720h`},
		{"1", "1s", "0s", 92, `max_delay: "0s" is out of range; want a duration such as 90s or 1h30m, more than 0, at most 720h`},
	} {
		t.Run(fmt.Sprintf("S-08 retry %s %s %s", c.max, c.delay, c.maxDelay), func(t *testing.T) {
			wants(t, fmt.Sprintf(retry, c.max, c.delay, c.maxDelay), fmt.Sprintf("jobhost.yaml:2:%d: jobs[a].retry.%s", c.column, c.want))
		})
	}
	t.Run("S-13 defaults of a bare definition", func(t *testing.T) {
		got := job(t, "name: a\nplugin: p\nschedule: every 1m").Def
		want := jobhost.JobDef{Name: "a", Plugin: "p", HistoryLimit: 1000, Triggers: []jobhost.TriggerDef{
			{Name: "default", Schedule: "every 00:01:00", Priority: 5, Misfire: jobhost.MisfireRunOnce},
		}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
}

// shown is a plain YAML scalar as messages show it.
func shown(text string) string {
	if text == "0" {
		return text
	}
	return fmt.Sprintf("%q", text)
}

func TestEachBadOptionNamesItsKey(t *testing.T) {
	bad := map[string][]string{
		"poll_interval":         {"0s", "-1s", "5", "soon", "", "[]"},
		"node_id":               {`""`, "5", strings.Repeat("x", 256)},
		"max_concurrent_runs":   {"0", "-1", "1.5", "many", `"5"`},
		"acquire_batch_size":    {"0", "-1", "0x10"},
		"misfire_threshold":     {"-1s", "1d"},
		"lease_resource":        {"Upper", `""`, "a b", "7"},
		"lease_ttl":             {"0s", "-1s"},
		"node_timeout":          {"0s", "-1s"},
		"housekeeping_interval": {"0s", "-1s"},
		"history_retention":     {"-1s", "forever"},
	}
	for _, f := range schedulerKeys() {
		if len(bad[f.name]) == 0 {
			t.Errorf("no bad value of %s is tried", f.name)
		}
		for _, value := range bad[f.name] {
			t.Run(fmt.Sprintf("S-193 %s %.20s", f.name, value), func(t *testing.T) {
				_, err := load(t, "scheduler:\n  "+f.name+": "+value+"\n")
				if err == nil {
					t.Fatal("no problem was found")
				}
				want := fmt.Sprintf("jobhost.yaml:2:%d: scheduler.%s: ", len(f.name)+5, f.name)
				if value == "" {
					want = fmt.Sprintf("jobhost.yaml:2:%d: scheduler.%s: has no value; want ", len(f.name)+4, f.name)
				}
				if got := err.Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
					t.Errorf("%s; want one line that begins with %s", got, want)
				}
			})
		}
	}
	t.Run("S-193 an unknown option", func(t *testing.T) {
		wants(t, "scheduler:\n  poll_intervall: 1s\n", "jobhost.yaml:2:3: scheduler.poll_intervall: unknown key; did you mean poll_interval?")
	})
}

func TestFingerprint(t *testing.T) {
	base := job(t, `
name: a
plugin: p
data: {x: 1, y: [1, "two"]}
retry: {max_retries: 3, delay: 1m}
timeout: 20m
triggers:
- {name: t, schedule: every 1h}
- {name: u, schedule: cron 0 0 6 * * MON-FRI tz=Asia/Shanghai}
`)
	if len(base.Fingerprint) != 64 || base.Fingerprint != base.Def.Fingerprint() {
		t.Fatalf("fingerprint %q, want that of the definition", base.Fingerprint)
	}
	same := map[string]string{
		"S-180 reformatted": `
{"name": "a", "plugin": 'p', "data": {"x": 1, "y": [1, "two"]}, "retry": {"max_retries": 3, "delay": "60s"}, "timeout": "1200s",
 "triggers": [{"name": "t", "schedule": "every   01:00:00"}, {"name": "u", "schedule": "cron 0 0 6 * *  MON-FRI tz=Asia/Shanghai"}]}`,
		"S-180 keys reordered": `
triggers:
- {schedule: every 1h, name: t}
- {schedule: cron 0 0 6 * * MON-FRI tz=Asia/Shanghai, name: u}
timeout: 20m
retry: {delay: 1m, max_retries: 3}
data: {y: [1, two], x: 1}
plugin: p
name: a`,
		"S-180 defaults spelled out": `
name: a
plugin: p
data: {x: 1, y: [1, two]}
allow_concurrent: false
run_on_every_instance: false
requests_recovery: false
retry: {max_retries: 3, delay: 1m, backoff: fixed}
timeout: 20m
description: ""
history_limit: 1000
triggers:
- {name: t, schedule: every 1h, data: {}, priority: 5, misfire: run_once, start_deadline: none, description: ""}
- {name: u, schedule: cron 0 0 6 * * MON-FRI tz=Asia/Shanghai}`,
		"S-180 grants are not part of it": `
name: a
plugin: p
data: {x: 1, y: [1, two]}
retry: {max_retries: 3, delay: 1m}
timeout: 20m
grants: {args: [x]}
triggers:
- {name: t, schedule: every 1h}
- {name: u, schedule: cron 0 0 6 * * MON-FRI tz=Asia/Shanghai}`,
	}
	for name, text := range same {
		t.Run(name, func(t *testing.T) {
			if got := job(t, text); got.Fingerprint != base.Fingerprint {
				t.Errorf("the fingerprint changed with the definition (-got +want):\n%s", cmp.Diff(got.Def, base.Def))
			}
		})
	}
	t.Run("S-180 another value changes it", func(t *testing.T) {
		if job(t, "name: a\nplugin: p").Fingerprint == job(t, "name: a\nplugin: q").Fingerprint {
			t.Error("two definitions have one fingerprint")
		}
	})
}

func TestTheSameJobInTwoFiles(t *testing.T) {
	t.Run("S-181 the error names both places", func(t *testing.T) {
		_, err := Load(Sources{Files: []File{
			{Name: "a.yaml", Data: []byte("jobs:\n- {name: nightly, plugin: p}\n")},
			{Name: "b.yaml", Data: []byte("jobs:\n- {name: other, plugin: p}\n- {plugin: q, name: nightly}\n")},
		}})
		want := "b.yaml:3:3: jobs[nightly]: a job of this name is defined already, at a.yaml:2:3; want each name once"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
	t.Run("FR-49 in one file too", func(t *testing.T) {
		wants(t, "jobs:\n- {name: a, plugin: p}\n- {name: a, plugin: p}\n",
			"jobhost.yaml:3:3: jobs[a]: a job of this name is defined already, at jobhost.yaml:2:3; want each name once")
	})
}

func TestZones(t *testing.T) {
	t.Run("FR-27 an unknown zone is an error with file, line and key", func(t *testing.T) {
		_, err := load(t, "jobs:\n- name: a\n  plugin: p\n  schedule: cron 0 3 * * * tz=Mars/Base\n")
		if want := `jobhost.yaml:4:13: jobs[a].schedule: "cron 0 3 * * * tz=Mars/Base": `; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `"Mars/Base"`) {
			t.Errorf("error %v, want one that begins with %s", err, want)
		}
	})
	t.Run("FR-27 a known one works", func(t *testing.T) {
		if got, want := job(t, "name: a\nplugin: p\nschedule: cron 0 3 * * * tz=Asia/Shanghai").Def.Triggers[0].Schedule, "cron 0 3 * * * tz=Asia/Shanghai"; got != want {
			t.Errorf("schedule %q, want %q", got, want)
		}
	})
}
