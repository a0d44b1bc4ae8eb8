package jobhost_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// full is a definition in which every field has a value that is not its default.
func full() jobhost.JobDef {
	return jobhost.JobDef{
		Name: "j", Plugin: "p", Data: json.RawMessage(`{"a":1,"b":{"c":[1,2.50,"<x>"]}}`), AllowConcurrent: true,
		RunOnEveryInstance: true, RequestsRecovery: true, Timeout: time.Minute, Description: "nightly", HistoryLimit: 7,
		Retry: &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second, Exponential: true, MaxDelay: time.Hour},
		Triggers: []jobhost.TriggerDef{
			{
				Name: "x", Schedule: "every 10m x5", Data: json.RawMessage(`{"d":true}`), Priority: 8,
				Misfire: jobhost.MisfireSkip, StartDeadline: time.Second, Description: "often",
			},
			jobhost.NewTrigger("y", "cron 0 0 9 * * MON-FRI tz=Asia/Shanghai"),
		},
	}
}

func TestFingerprintIgnoresHowADefinitionIsWritten(t *testing.T) {
	if err := full().Check(); err != nil {
		t.Fatal(err)
	}
	want := full().Fingerprint()
	for name, change := range map[string]func(*jobhost.JobDef){
		"data with other space and order": func(d *jobhost.JobDef) {
			d.Data = json.RawMessage("{ \"b\":{\"c\":[ 1,2.50,\"\\u003cx>\" ]},\n\"a\":1}")
		},
		"triggers in another order":   func(d *jobhost.JobDef) { d.Triggers[0], d.Triggers[1] = d.Triggers[1], d.Triggers[0] },
		"an interval in another form": func(d *jobhost.JobDef) { d.Triggers[0].Schedule = "EVERY  00:10:00   x5" },
		"an empty object for no data": func(d *jobhost.JobDef) { d.Triggers[1].Data = json.RawMessage(" {} ") },
	} {
		d := full()
		change(&d)
		if got := d.Fingerprint(); got != want {
			t.Errorf("%s: the fingerprint changed", name)
		}
	}
	if len(want) != 64 {
		t.Errorf("fingerprint is %q, want a SHA-256 in hexadecimal", want)
	}
}

// A field that is added to a definition has to be in the fingerprint.
func TestFingerprintCoversEveryField(t *testing.T) {
	want := full().Fingerprint()
	zero := func(name string, fields func(*jobhost.JobDef) reflect.Value) {
		d := full()
		for i := range fields(&d).NumField() {
			d := full()
			fields(&d).Field(i).SetZero()
			if d.Fingerprint() == want {
				t.Errorf("%s.%s does not change the fingerprint", name, fields(&d).Type().Field(i).Name)
			}
		}
	}
	zero("JobDef", func(d *jobhost.JobDef) reflect.Value { return reflect.ValueOf(d).Elem() })
	zero("TriggerDef", func(d *jobhost.JobDef) reflect.Value { return reflect.ValueOf(&d.Triggers[0]).Elem() })
	zero("RetryPolicy", func(d *jobhost.JobDef) reflect.Value { return reflect.ValueOf(d.Retry).Elem() })
}
