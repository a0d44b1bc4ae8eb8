package jobhost_test

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestRunQueryMatches(t *testing.T) {
	at := time.Date(2026, time.January, 5, 10, 0, 0, 0, time.UTC)
	run := jobhost.Run{
		ID: "a", Job: "j", Trigger: "t", Kind: jobhost.KindRetry, RetryOf: "first", State: jobhost.RunFailed, Node: "n", StartedAt: at,
	}
	for _, tt := range []struct {
		name  string
		query jobhost.RunQuery
		want  bool
	}{
		{"no filter", jobhost.RunQuery{}, true},
		{"the page does not filter", jobhost.RunQuery{Skip: 10, Limit: 1}, true},
		{"one of the ids", jobhost.RunQuery{IDs: []jobhost.RunID{"b", "a"}}, true},
		{"none of the ids", jobhost.RunQuery{IDs: []jobhost.RunID{"b"}}, false},
		{"the beginning of its id", jobhost.RunQuery{Prefix: "a"}, true},
		{"the beginning of another", jobhost.RunQuery{Prefix: "aa"}, false},
		{"the job", jobhost.RunQuery{Job: "j"}, true},
		{"another job", jobhost.RunQuery{Job: "jj"}, false},
		{"the trigger", jobhost.RunQuery{Trigger: "t"}, true},
		{"another trigger", jobhost.RunQuery{Trigger: "j"}, false},
		{"one of the states", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunLost, jobhost.RunFailed}}, true},
		{"none of the states", jobhost.RunQuery{States: []jobhost.RunState{jobhost.RunRunning}}, false},
		{"one of the kinds", jobhost.RunQuery{Kinds: []jobhost.RunKind{jobhost.KindRetry}}, true},
		{"none of the kinds", jobhost.RunQuery{Kinds: []jobhost.RunKind{jobhost.KindManual}}, false},
		{"the node", jobhost.RunQuery{Node: "n"}, true},
		{"another node", jobhost.RunQuery{Node: "m"}, false},
		{"the first run of the chain", jobhost.RunQuery{RetryOf: "first"}, true},
		{"another chain", jobhost.RunQuery{RetryOf: "a"}, false},
		{"from its start", jobhost.RunQuery{From: at}, true},
		{"from after its start", jobhost.RunQuery{From: at.Add(1)}, false},
		{"to its start", jobhost.RunQuery{To: at}, false},
		{"to after its start", jobhost.RunQuery{To: at.Add(1)}, true},
		{"in another zone", jobhost.RunQuery{From: at.In(time.FixedZone("x", 3600)), To: at.Add(1).In(time.FixedZone("y", -3600))}, true},
		{"all filters", jobhost.RunQuery{IDs: []jobhost.RunID{"a"}, Job: "j", Trigger: "t", Node: "n", RetryOf: "first", From: at}, true},
		{"all filters but one", jobhost.RunQuery{IDs: []jobhost.RunID{"a"}, Job: "j", Trigger: "x", Node: "n", RetryOf: "first", From: at}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.query.Matches(&run); got != tt.want {
				t.Errorf("matches is %v, want %v", got, tt.want)
			}
		})
	}
	never := jobhost.Run{ID: "a", State: jobhost.RunCanceled, EndedAt: at}
	if !never.ListedAt().Equal(at) || !run.ListedAt().Equal(at) {
		t.Errorf("listed at %v and %v, want the end of what never started and the start of another, %v", never.ListedAt(), run.ListedAt(), at)
	}
	for _, q := range []jobhost.RunQuery{{From: at.Add(1)}, {To: at}} {
		if q.Matches(&never) {
			t.Errorf("%+v selects a run that ended without a start at %v", q, at)
		}
	}
	if q := (jobhost.RunQuery{From: at, To: at.Add(1)}); !q.Matches(&never) {
		t.Errorf("%+v does not select a run that ended without a start at %v", q, at)
	}
}
