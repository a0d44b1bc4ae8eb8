package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

func TestADefinitionHasItsTriggersAndNoOneShots(t *testing.T) {
	store := memstore.New(memstore.Config{})
	e, err := New(store, native(nil), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	want := jobhost.NewJob("a", "p", jobhost.NewTrigger("early", "every 01:00:00"), jobhost.NewTrigger("late", "every 02:00:00"))
	want.Timeout, want.Data = time.Minute, []byte(`{"n":1}`)
	bare := want
	bare.Triggers = nil
	trigger := func(def jobhost.TriggerDef) jobhost.Trigger {
		return jobhost.Trigger{Key: jobhost.TriggerKey{Job: "a", Trigger: def.Name}, TriggerDef: def, State: jobhost.TriggerWaiting}
	}
	oneShot := trigger(jobhost.NewTrigger("manual-1", "once 2026-01-01T00:00:00Z"))
	oneShot.OneShot = &jobhost.OneShot{Kind: jobhost.KindManual, Attempt: 1}
	if err := store.Update(t.Context(), func(tx jobhost.Tx) error {
		return errors.Join(
			tx.PutJobs(jobhost.Job{JobDef: bare, Paused: true}, jobhost.Job{JobDef: jobhost.NewJob("b", "p")}),
			tx.PutTriggers(trigger(want.Triggers[1]), oneShot, trigger(want.Triggers[0])),
		)
	}); err != nil {
		t.Fatal(err)
	}
	got := e.Definitions(t.Context(), []jobhost.Name{"a", "none", "b"})
	if d := cmp.Diff(got[0].Value, want); d != "" || got[0].Err != nil {
		t.Errorf("a: %v, (-got +want):\n%s", got[0].Err, d)
	}
	if jobhost.CodeOf(got[1].Err) != jobhost.NotFoundJob {
		t.Errorf("none: %v", got[1].Err)
	}
	if d := cmp.Diff(got[2].Value, jobhost.NewJob("b", "p")); d != "" || got[2].Err != nil {
		t.Errorf("b: %v, (-got +want):\n%s", got[2].Err, d)
	}
}
