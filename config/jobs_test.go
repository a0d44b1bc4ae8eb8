package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// The example of SPEC 26.1, as it stands there.
func TestExampleOfTheSpecification(t *testing.T) {
	s := good(t, `
scheduler:
  poll_interval: 1s
  max_concurrent_runs: 32
calendars:
  - {name: holidays, kind: holiday, dates: [2026-10-01, 2026-10-02], tz: Asia/Shanghai}
  - {name: weekends, kind: weekly}
vars:
  reservations.remove_overdue_cron: 0 30 18 * * ?
grants:
  - {job: reports.nightly, dirs: [{host: ./reports, guest: /out, mode: rw}], max_memory: 64MiB}
jobs:
  - name: cleanup.nightly
    plugin: cleanup
    schedule: cron 0 3 * * * tz=Asia/Shanghai
  - name: reports.nightly
    plugin: nightly-report
    data: {format: pdf}
    retry: {max_retries: 3, delay: 1m, backoff: exponential, max_delay: 30m}
    timeout: 20m
    requests_recovery: true
    triggers:
      - name: workdays
        schedule: cron 0 0 6 * * MON-FRI tz=Asia/Shanghai calendar=holidays
      - name: month-end
        schedule: cron 0 0 22 L * ? tz=Asia/Shanghai
        data: {format: xlsx}
        priority: 8
        misfire: skip
  - name: exports.daily
    plugin: exporter
    data: {mode: full}
    retry: {max_retries: 5, delay: 2m}
    timeout: 15m
    triggers:
      - {name: morning, schedule: cron 0 30 8 * * * tz=Asia/Shanghai calendar=weekends}
      - {name: hourly, schedule: every 1h, data: {mode: delta}, priority: 2}
  - name: reservations.remove-overdue
    plugin: remove-overdue
    schedule: cron ${reservations.remove_overdue_cron:-0 0 18 * * ?}
`)
	trigger := func(name, schedule string, change func(*jobhost.TriggerDef)) jobhost.TriggerDef {
		d := jobhost.NewTrigger(name, schedule)
		if change != nil {
			change(&d)
		}
		return d
	}
	cleanup := jobhost.NewJob("cleanup.nightly", "cleanup", trigger("default", "cron 0 3 * * * tz=Asia/Shanghai", nil))
	reports := jobhost.NewJob("reports.nightly", "nightly-report",
		trigger("workdays", "cron 0 0 6 * * MON-FRI tz=Asia/Shanghai calendar=holidays", nil),
		trigger("month-end", "cron 0 0 22 L * ? tz=Asia/Shanghai", func(d *jobhost.TriggerDef) {
			d.Data, d.Priority, d.Misfire = []byte(`{"format":"xlsx"}`), 8, jobhost.MisfireSkip
		}),
	)
	reports.Data, reports.Timeout, reports.RequestsRecovery = []byte(`{"format":"pdf"}`), 20*time.Minute, true
	reports.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Minute, Exponential: true, MaxDelay: 30 * time.Minute}
	exports := jobhost.NewJob("exports.daily", "exporter",
		trigger("morning", "cron 0 30 8 * * * tz=Asia/Shanghai calendar=weekends", nil),
		trigger("hourly", "every 01:00:00", func(d *jobhost.TriggerDef) { d.Data, d.Priority = []byte(`{"mode":"delta"}`), 2 }),
	)
	exports.Data, exports.Timeout = []byte(`{"mode":"full"}`), 15*time.Minute
	exports.Retry = &jobhost.RetryPolicy{MaxRetries: 5, Delay: 2 * time.Minute}
	overdue := jobhost.NewJob("reservations.remove-overdue", "remove-overdue", trigger("default", "cron 0 30 18 * * ?", nil))

	var got []jobhost.JobDef
	for _, j := range s.Jobs {
		got = append(got, j.Def)
	}
	if diff := cmp.Diff(got, []jobhost.JobDef{cleanup, reports, exports, overdue}); diff != "" {
		t.Errorf("jobs (-got +want):\n%s", diff)
	}
	type said struct{ timeout, retry bool }
	if got, want := (said{s.Jobs[0].TimeoutGiven, s.Jobs[1].RetryGiven}), (said{false, true}); got != want {
		t.Errorf("what was said: %v, want %v", got, want)
	}
	if len(s.Calendars) != 2 || len(s.Grants) != 1 || s.Grants[0].Plugin != "nightly-report" || len(s.Warnings) != 0 {
		t.Errorf("calendars %v, grants %+v, warnings %v", s.Calendars, s.Grants, s.Warnings)
	}
}

// "none" is said, and is the same definition as silence.
func TestNoneOptsOut(t *testing.T) {
	silent, opted := job(t, "name: a\nplugin: p"), job(t, "name: a\nplugin: p\ntimeout: none\nretry: none")
	if diff := cmp.Diff(silent.Def, opted.Def); diff != "" || silent.Fingerprint != opted.Fingerprint {
		t.Errorf("the definitions differ:\n%s", diff)
	}
	if silent.TimeoutGiven || silent.RetryGiven || !opted.TimeoutGiven || !opted.RetryGiven {
		t.Errorf("given: %v %v and %v %v; want silence told from none", silent.TimeoutGiven, silent.RetryGiven, opted.TimeoutGiven, opted.RetryGiven)
	}
}
