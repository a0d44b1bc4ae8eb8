package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

func TestEveryDefinitionComesBackFromJSONAsItWas(t *testing.T) {
	wait := rapid.Map(rapid.Int64Range(0, int64(jobhost.TimeoutLimit)+1), func(n int64) time.Duration { return time.Duration(n) })
	data := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(`{"a":null,"b":[1.50,"<x>"]}`)})
	text := rapid.StringMatching(`[a-zä<&" ]{0,9}`)
	trigger := rapid.Custom(func(t *rapid.T) jobhost.TriggerDef {
		return jobhost.TriggerDef{
			Name: text.Draw(t, "name"), Schedule: text.Draw(t, "schedule"), Data: data.Draw(t, "data"), Priority: rapid.Int32().Draw(t, "priority"),
			Misfire:       rapid.SampledFrom([]jobhost.Misfire{jobhost.MisfireRunOnce, jobhost.MisfireSkip, jobhost.MisfireRunAll}).Draw(t, "misfire"),
			StartDeadline: wait.Draw(t, "deadline"), Description: text.Draw(t, "description"),
		}
	})
	retry := rapid.Custom(func(t *rapid.T) *jobhost.RetryPolicy {
		return &jobhost.RetryPolicy{
			MaxRetries: rapid.Int().Draw(t, "max"), Delay: 1 + wait.Draw(t, "delay"),
			Exponential: rapid.Bool().Draw(t, "exponential"), MaxDelay: wait.Draw(t, "max delay"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := jobhost.JobDef{
			Name: text.Draw(t, "name"), Plugin: text.Draw(t, "plugin"), Data: data.Draw(t, "data"), Description: text.Draw(t, "description"),
			AllowConcurrent: rapid.Bool().Draw(t, "concurrent"), RunOnEveryInstance: rapid.Bool().Draw(t, "local"), RequestsRecovery: rapid.Bool().Draw(t, "recovery"),
			Retry: rapid.OneOf(rapid.Just((*jobhost.RetryPolicy)(nil)), retry).Draw(t, "retry"), Timeout: wait.Draw(t, "timeout"), HistoryLimit: rapid.Int().Draw(t, "limit"),
		}
		if ts := rapid.SliceOfN(trigger, 0, 3).Draw(t, "triggers"); len(ts) > 0 {
			want.Triggers = ts
		}
		b, err := json.Marshal(api.DefinitionOf(want))
		if err != nil {
			t.Fatal(err)
		}
		var wire api.Definition
		if err := json.Unmarshal(b, &wire); err != nil {
			t.Fatal(err)
		}
		got, err := wire.JobDef()
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("data", compact)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b, diff)
		}
	})
}

// compact writes equal JSON equally.
func compact(r json.RawMessage) string {
	if len(r) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(r, &v); err != nil {
		return err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestABareDefinitionHasTheDefaultsOfTheFile(t *testing.T) {
	for text, want := range map[string]jobhost.JobDef{
		`{"name":"a","plugin":"p"}`:                                                 jobhost.NewJob("a", "p"),
		`{"name":"a","plugin":"p","schedule":"manual"}`:                             jobhost.NewJob("a", "p"),
		`{"name":"a","plugin":"p","schedule":"every 1m"}`:                           jobhost.NewJob("a", "p", jobhost.NewTrigger("default", "every 1m")),
		`{"name":"a","plugin":"p","schedule":"nonsense"}`:                           jobhost.NewJob("a", "p", jobhost.NewTrigger("default", "nonsense")),
		`{"name":"a","plugin":"p","timeout":"none","data":null}`:                    jobhost.NewJob("a", "p"),
		`{"name":"a","plugin":"p","triggers":[{"name":"t","schedule":"every 1m"}]}`: jobhost.NewJob("a", "p", jobhost.NewTrigger("t", "every 1m")),
	} {
		var d api.Definition
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		got, err := d.JobDef()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
