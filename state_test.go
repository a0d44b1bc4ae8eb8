package jobhost_test

import (
	"encoding"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// transitions are the rows of SPEC 10.2. An empty state stands for a trigger that does not exist.
var transitions = []struct {
	row      string
	from, to []string
}{
	{"T1 created with a due", []string{""}, []string{"Waiting"}},
	{"T2 created without a due", []string{""}, []string{"Complete"}},
	{"T4 started, a next due exists", []string{"Waiting"}, []string{"Waiting"}},
	{"T5 started, every", []string{"Waiting"}, []string{"Running"}},
	{"T6 started, no next due", []string{"Waiting"}, []string{"Complete"}},
	{"T7 started, engine one-shot", []string{"Waiting"}, []string{""}},
	{"T8 exclusive start refused", []string{"Waiting"}, []string{"Blocked"}},
	{"T9 skipped", []string{"Waiting"}, []string{"Waiting", "Complete"}},
	{"T10 not startable here", []string{"Waiting"}, []string{"Waiting"}},
	{"T11 its run ended", []string{"Running"}, []string{"Waiting", "Complete"}},
	{"T12 its run was lost", []string{"Running"}, []string{"Waiting", "Complete"}},
	{"T13 freed, and settled at once as T4 to T7", []string{"Blocked"}, []string{"Waiting", "Running", "Complete", ""}},
	{"T14 redefined as concurrent", []string{"Blocked"}, []string{"Waiting"}},
	{"T17 redefined with another schedule", []string{"Waiting", "Blocked", "Complete"}, []string{"Waiting", "Complete"}},
	{"T18 redefined with the same schedule: Waiting", []string{"Waiting"}, []string{"Waiting"}},
	{"T18 redefined with the same schedule: Running", []string{"Running"}, []string{"Running"}},
	{"T18 redefined with the same schedule: Blocked", []string{"Blocked"}, []string{"Blocked"}},
	{"T18 redefined with the same schedule: Complete", []string{"Complete"}, []string{"Complete"}},
	{"T19 redefined while Running", []string{"Running"}, []string{"Running", "Waiting", "Complete"}},
	{"T20 deleted", []string{"Waiting", "Running", "Blocked", "Complete"}, []string{""}},
	{"T21 covered by the previous leader", []string{"Waiting"}, []string{"Waiting", "Complete"}},
}

// T16, pausing, is not in the list: it changes a flag and no state.
func TestTriggerTransitionsAreThoseOfTheSpecification(t *testing.T) {
	want := map[string][]string{}
	for _, r := range transitions {
		for _, from := range r.from {
			for _, to := range r.to {
				if !slices.Contains(want[from], to) {
					want[from] = append(want[from], to)
				}
			}
		}
	}
	got := map[string][]string{}
	for from, tos := range jobhost.TriggerTransitions {
		for _, to := range tos {
			got[from.String()] = append(got[from.String()], to.String())
		}
	}
	for _, m := range []map[string][]string{got, want} {
		for _, tos := range m {
			slices.Sort(tos)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("transitions (-got +want):\n%s", diff)
	}
}

func TestOnlyEndStatesHaveEnded(t *testing.T) {
	for s, want := range map[jobhost.RunState]bool{
		0: false, jobhost.RunPending: false, jobhost.RunRunning: false,
		jobhost.RunSucceeded: true, jobhost.RunFailed: true, jobhost.RunCanceled: true, jobhost.RunLost: true,
	} {
		if s.Ended() != want {
			t.Errorf("%q has ended: %v, want %v", s, s.Ended(), want)
		}
	}
}

type text interface {
	encoding.TextMarshaler
	String() string
}

// checkText writes and reads every value of a type.
func checkText[E interface {
	~uint8
	text
}](t *testing.T, read func(*E, []byte) error, values map[E]string,
) {
	t.Helper()
	for v, want := range values {
		if got := v.String(); got != want {
			t.Errorf("%d is written %q, want %q", v, got, want)
		}
		b, err := v.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back E
		if err := read(&back, b); err != nil || back != v {
			t.Errorf("%q is read as %d, error %v; want %d", b, back, err, v)
		}
	}
	n := E(len(values))
	if _, zero := values[0]; !zero {
		n++ // the first value is 1
	}
	if got := n.String(); !strings.HasPrefix(got, "unknown(") {
		t.Errorf("value %d has the name %q, which the test does not know", n, got)
	}
	kept := E(1)
	for _, bad := range []string{"", "RUNNING", "unknown(1)", "Nothing"} {
		if err := read(&kept, []byte(bad)); err == nil || kept != 1 || !strings.Contains(err.Error(), values[1]) {
			t.Errorf("%q was read as %d, error %v; want an error that lists the words", bad, kept, err)
		}
	}
}

func TestWordsRoundTrip(t *testing.T) {
	t.Run("trigger states", func(t *testing.T) {
		checkText(t, (*jobhost.TriggerState).UnmarshalText, map[jobhost.TriggerState]string{
			jobhost.TriggerWaiting: "Waiting", jobhost.TriggerRunning: "Running", jobhost.TriggerBlocked: "Blocked", jobhost.TriggerComplete: "Complete",
		})
	})
	t.Run("run states", func(t *testing.T) {
		checkText(t, (*jobhost.RunState).UnmarshalText, map[jobhost.RunState]string{
			jobhost.RunPending: "Pending", jobhost.RunRunning: "Running", jobhost.RunSucceeded: "Succeeded",
			jobhost.RunFailed: "Failed", jobhost.RunCanceled: "Canceled", jobhost.RunLost: "Lost",
		})
	})
	t.Run("run kinds", func(t *testing.T) {
		checkText(t, (*jobhost.RunKind).UnmarshalText, map[jobhost.RunKind]string{
			jobhost.KindSchedule: "Schedule", jobhost.KindManual: "Manual", jobhost.KindRecovery: "Recovery", jobhost.KindRetry: "Retry",
		})
	})
	t.Run("misfire policies", func(t *testing.T) {
		checkText(t, (*jobhost.Misfire).UnmarshalText, map[jobhost.Misfire]string{
			jobhost.MisfireRunOnce: "run_once", jobhost.MisfireSkip: "skip", jobhost.MisfireRunAll: "run_all",
		})
	})
	t.Run("sources", func(t *testing.T) {
		checkText(t, (*jobhost.Source).UnmarshalText, map[jobhost.Source]string{
			jobhost.SourceFile: "File", jobhost.SourceRuntime: "Runtime", jobhost.SourceOverridden: "Overridden",
		})
	})
	t.Run("in JSON", func(t *testing.T) {
		r := jobhost.Run{ID: "x", State: jobhost.RunLost, Kind: jobhost.KindRetry}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), `"state":"Lost"`) || !strings.Contains(string(b), `"kind":"Retry"`) {
			t.Errorf("run is written as %s", b)
		}
		var back jobhost.Run
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(back, r); diff != "" {
			t.Errorf("read back (-got +want):\n%s", diff)
		}
	})
}
