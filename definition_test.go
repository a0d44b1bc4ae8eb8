package jobhost_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// problems are the messages of a definition's check. Each is an error with the code of invalid definitions.
func problems(t *testing.T, d jobhost.JobDef) []string {
	t.Helper()
	err := d.Check()
	if err == nil {
		return nil
	}
	var list []string
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("the check returned %T, want joined errors", err)
	}
	for _, e := range joined.Unwrap() {
		if code := jobhost.CodeOf(e); code != jobhost.InvalidDefinition {
			t.Errorf("%v has the code %q", e, code)
		}
		list = append(list, e.Error())
	}
	return list
}

// manyTriggers is a job with n triggers, from the hundred-and-second on without a name.
func manyTriggers(n int) jobhost.JobDef {
	d := jobhost.NewJob("j", "p")
	for i := range n {
		name := ""
		if i <= jobhost.MaxTriggers {
			name = "t" + strconv.Itoa(i)
		}
		d.Triggers = append(d.Triggers, jobhost.NewTrigger(name, "every 1h"))
	}
	return d
}

func TestDefinitions(t *testing.T) {
	hourly := func(name jobhost.Name) jobhost.TriggerDef { return jobhost.NewTrigger(name, "every 1h") }
	for _, tt := range []struct {
		name string
		def  jobhost.JobDef
		want string // part of the only problem; empty: valid
	}{
		{"S-03 two triggers of one name in a job", jobhost.NewJob("j", "p", hourly("x"), hourly("x")), `trigger "x": the job has two triggers of this name`},
		{"S-04 the same trigger name in two jobs, the first", jobhost.NewJob("j", "p", hourly("x")), ""},
		{"S-04 the same trigger name in two jobs, the second", jobhost.NewJob("k", "p", hourly("x")), ""},
		{"S-05 a trigger named retry-x", jobhost.NewJob("j", "p", hourly("retry-x")), `"retry-" is reserved`},
		{"S-05 a trigger named recovery-x", jobhost.NewJob("j", "p", hourly("recovery-x")), `"recovery-" is reserved`},
		{"S-05 a trigger named manual-x", jobhost.NewJob("j", "p", hourly("manual-x")), `"manual-" is reserved`},
		{"a trigger named retry", jobhost.NewJob("j", "p", hourly("retry")), ""},
		{"S-06 a trigger with the schedule manual", jobhost.NewJob("j", "p", jobhost.NewTrigger("x", "manual")), "not for a trigger"},
		{"a job without triggers", jobhost.NewJob("j", "p"), ""},
		{"as many triggers as may be", manyTriggers(jobhost.MaxTriggers), ""},
		{"one trigger too many", manyTriggers(jobhost.MaxTriggers + 1), "triggers: the job has 101, at most 100 are allowed"},
		{"far too many triggers, of which no more is said", manyTriggers(100_000), "triggers: the job has 100000, at most 100 are allowed"},
		{"a bad job name", jobhost.NewJob("J", "p"), "capital 'J'"},
		{"a bad plugin name", jobhost.NewJob("j", "../p"), "plugin"},
		{"a bad trigger name", jobhost.NewJob("j", "p", hourly("a b")), `trigger "a b"`},
		{"a bad schedule", jobhost.NewJob("j", "p", jobhost.NewTrigger("x", "now and then")), `schedule "now and then"`},
		{"a negative start deadline", with(jobhost.NewJob("j", "p", hourly("x")), func(d *jobhost.JobDef) { d.Triggers[0].StartDeadline = -1 }), "start_deadline is -1ns"},
		{"an unknown misfire policy", with(jobhost.NewJob("j", "p", hourly("x")), func(d *jobhost.JobDef) { d.Triggers[0].Misfire = 7 }), "misfire"},
		{"data of a trigger that is no object", with(jobhost.NewJob("j", "p", hourly("x")), func(d *jobhost.JobDef) { d.Triggers[0].Data = json.RawMessage("[]") }), "want a JSON object"},
		{"data of the job that is no object", with(jobhost.NewJob("j", "p"), func(d *jobhost.JobDef) { d.Data = json.RawMessage(" ") }), "want a JSON object"},
		{"a retry policy out of range", with(jobhost.NewJob("j", "p"), func(d *jobhost.JobDef) { d.Retry = &jobhost.RetryPolicy{Delay: time.Minute} }), "max_retries is 0"},
		{"a negative history limit", with(jobhost.NewJob("j", "p"), func(d *jobhost.JobDef) { d.HistoryLimit = -1 }), "history_limit"},
		{"no history limit", with(jobhost.NewJob("j", "p"), func(d *jobhost.JobDef) { d.HistoryLimit = 0 }), ""},
		{"the smallest priority", with(jobhost.NewJob("j", "p", hourly("x")), func(d *jobhost.JobDef) { d.Triggers[0].Priority = -1 << 31 }), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := problems(t, tt.def)
			switch {
			case tt.want == "" && got != nil:
				t.Errorf("problems %q, want none", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("problems %q, want one with %q", got, tt.want)
			}
		})
	}
}

func with(d jobhost.JobDef, change func(*jobhost.JobDef)) jobhost.JobDef {
	change(&d)
	return d
}

func TestTimeLimits(t *testing.T) {
	t.Run("S-07 a time limit is more than 0 and at most 720h", func(t *testing.T) {
		for _, tt := range []struct {
			limit time.Duration
			valid bool
		}{{0, false}, {-time.Second, false}, {1, true}, {longest, true}, {longest + 1, false}} {
			if err := jobhost.CheckTimeout(tt.limit); (err == nil) != tt.valid {
				t.Errorf("%v: error %v", tt.limit, err)
			}
			if tt.limit == 0 {
				continue // in a definition: no limit
			}
			d := jobhost.NewJob("j", "p")
			d.Timeout = tt.limit
			if got := problems(t, d); (got == nil) != tt.valid {
				t.Errorf("%v in a definition: problems %q", tt.limit, got)
			}
		}
	})
	t.Run("a definition without one is valid", func(t *testing.T) {
		if got := problems(t, jobhost.NewJob("j", "p")); got != nil {
			t.Errorf("problems %q", got)
		}
	})
}

func TestDefaults(t *testing.T) {
	t.Run("S-13 a bare definition", func(t *testing.T) {
		want := jobhost.JobDef{
			Name: "j", Plugin: "p", HistoryLimit: 1000,
			Triggers: []jobhost.TriggerDef{{Name: "x", Schedule: "every 1h", Priority: 5, Misfire: jobhost.MisfireRunOnce}},
		}
		if diff := cmp.Diff(jobhost.NewJob("j", "p", jobhost.NewTrigger("x", "every 1h")), want); diff != "" {
			t.Errorf("definition (-got +want):\n%s", diff)
		}
		if got := want.Triggers[0].Misfire.String(); got != "run_once" {
			t.Errorf("the default misfire policy is %s", got)
		}
	})
}

func TestCheckReportsEveryProblem(t *testing.T) {
	d := jobhost.NewJob("J", "P",
		jobhost.TriggerDef{Name: "retry-1", Schedule: "manual", Data: json.RawMessage("1"), Misfire: 9, StartDeadline: -1},
		jobhost.TriggerDef{Name: "retry-1", Schedule: "never"})
	d.Data, d.Retry, d.Timeout, d.HistoryLimit = json.RawMessage("["), &jobhost.RetryPolicy{}, -1, -1
	got := problems(t, d)
	for _, want := range []string{
		`job "J": name:`, `job "J": plugin:`, `job "J": data:`, `job "J": retry:`, `job "J": timeout:`, `job "J": history_limit:`,
		`is reserved`, `schedule "manual"`, `start_deadline`, `misfire`, `trigger "retry-1": data`, `two triggers`, `schedule "never"`,
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no problem says %s", want)
		}
	}
	if len(got) != 14 { // both triggers have the reserved prefix
		t.Errorf("%d problems:\n%s", len(got), strings.Join(got, "\n"))
	}
	var e *jobhost.Error
	if !errors.As(d.Check(), &e) || e.Op != "define" || e.Unwrap() == nil {
		t.Errorf("the first problem is %+v", e)
	}
}

// Each layer may be small enough and their merge too large.
func TestMergedDataIsBounded(t *testing.T) {
	data := func(key string, size int) json.RawMessage {
		return json.RawMessage(`{"` + key + `":"` + strings.Repeat("<", size) + `"}`)
	}
	d := jobhost.NewJob("j", "p", jobhost.NewTrigger("x", "every 1h"))
	d.Data = data("a", 700<<10)

	d.Triggers[0].Data = data("a", 700<<10)
	if got := problems(t, d); got != nil {
		t.Errorf("the trigger's layer replaces the job's, but: %.200q", got)
	}
	d.Triggers[0].Data = data("b", 300<<10)
	if got := problems(t, d); got != nil {
		t.Errorf("the merge has 1000 KiB, but: %.200q", got)
	}
	d.Triggers[0].Data = data("b", 700<<10)
	got := problems(t, d)
	if len(got) != 1 || !strings.Contains(got[0], "merged with the job's, data has") {
		t.Errorf("the merge has 1400 KiB, but: %.200q", got)
	}
}
