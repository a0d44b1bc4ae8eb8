package boltstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// What a trigger's first form did not have comes out as nothing, and all of today's comes back.
func TestRefusalsOfBothFormsAreRead(t *testing.T) {
	trigger := testTrigger("j", "t", t0)
	trigger.Refused = jobhost.Refusals{
		Skipped: 1, Blocked: 2, Deadline: 3, Collapsed: 4, AtLeast: true, Last: "late", At: t0.Add(time.Second), Slot: t0.Add(-time.Minute),
	}
	var e enc
	e.trigger(&trigger)
	got, err := decodeTrigger(trigger.Key, e)
	if d := cmp.Diff(got, trigger); d != "" || err != nil {
		t.Errorf("today's form: %v (-got +want)\n%s", err, d)
	}

	before := jobhost.Refusals{Skipped: 1, Blocked: 2, Deadline: 3, Last: "late", At: t0.Add(time.Second)}
	trigger.Refused = before
	e = nil
	e.trigger(&trigger)
	var more enc // that the first form did not have
	more.int(0)
	more.int(time.Time{}.UnixMicro() - before.At.UnixMicro())
	old := append([]byte{1}, e[1:len(e)-len(more)]...)
	if got, err = decodeTrigger(trigger.Key, old); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, trigger); d != "" {
		t.Errorf("the first form (-got +want)\n%s", d)
	}
	if _, err := decodeTrigger(trigger.Key, append([]byte{3}, e[1:]...)); err == nil {
		t.Error("a form that does not exist is read")
	}
}
