package jobtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobhost/jobhost"
)

// Opener opens stores for a suite. Those that may be nil leave out the cases that need them.
type Opener struct {
	// Open returns a new, empty store and closes it when t ends.
	Open func(t testing.TB) jobhost.Store
	// Reopen closes a store that Open or Reopen returned and opens its data again; nil if nothing outlives a store.
	Reopen func(t testing.TB, s jobhost.Store) jobhost.Store
	// Small is like Open, but the store has room for 1 to 64 MiB; nil if stores cannot be limited.
	Small func(t testing.TB) jobhost.Store
}

// Store tests a store against the contract of [jobhost.Store] and [jobhost.Tx].
func Store(t *testing.T, open Opener) {
	t.Helper()
	cases := slices.Concat(jobCases, dueCases, triggerCases, runCases, queryCases, pruneCases, txCases, otherCases)
	if open.Reopen != nil {
		cases = append(cases, reopenCases...)
	}
	if open.Small != nil {
		cases = append(cases, fullCases...)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.test(&suite{T: t, open: open}) })
	}
}

type storeCase struct {
	name string
	test func(s *suite)
}

// suite is one case under test with its store.
type suite struct {
	*testing.T
	open  Opener
	store jobhost.Store
}

// st opens the case's store when it is first used.
func (s *suite) st() jobhost.Store {
	if s.store == nil {
		s.store = s.open.Open(s.T)
	}
	return s.store
}

func (s *suite) update(f func(tx jobhost.Tx) error) {
	s.Helper()
	if err := s.st().Update(s.Context(), f); err != nil {
		s.Fatalf("Update: %v", err)
	}
}

func (s *suite) view(f func(tx jobhost.Tx) error) {
	s.Helper()
	if err := s.st().View(s.Context(), f); err != nil {
		s.Fatalf("View: %v", err)
	}
}

// same compares an answer with what was expected. A primitive's error is passed on as it comes.
func same[V any](s *suite, what string, want V) func(got V, err error) {
	s.Helper()
	return func(got V, err error) {
		s.Helper()
		if err != nil {
			s.Fatalf("%s: %v", what, err)
		}
		if d := diff(got, want); d != "" {
			s.Errorf("%s: -got +want\n%s", what, d)
		}
	}
}

// diff compares records: empty data equals none, data is compared as JSON, and instants must be the same in UTC.
func diff(got, want any) string { return gocmp.Diff(got, want, equal...) }

var equal = gocmp.Options{
	cmpopts.EquateEmpty(),
	gocmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() }),
	gocmp.FilterValues(func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 },
		gocmp.Comparer(func(a, b json.RawMessage) bool { return gocmp.Equal(parsed(a), parsed(b)) })),
}

func parsed(data json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// sorted is for answers whose order the contract leaves open.
func sorted[V any, K cmp.Ordered](vs []V, err error, key func(V) K) ([]V, error) {
	slices.SortFunc(vs, func(a, b V) int { return cmp.Compare(key(a), key(b)) })
	return vs, err
}

// t0 is the instant from which cases count, a Monday.
var t0 = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// id is the n-th id that was drawn at an instant.
func id(n int, at time.Time) jobhost.RunID {
	return jobhost.NewRunID(at, [10]byte{byte(n >> 16), byte(n >> 8), byte(n), 1, 2, 3, 4, 5, 6, 7})
}

// newJob has every field set.
func newJob(name jobhost.Name) jobhost.Job {
	return jobhost.Job{
		JobDef: jobhost.JobDef{
			Name: name, Plugin: "plugin-of-" + name, Data: json.RawMessage(`{"of": "` + name + `", "n": [1, 2.50, null]}`),
			AllowConcurrent: true, RunOnEveryInstance: true, RequestsRecovery: true,
			Retry:   &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second, Exponential: true, MaxDelay: time.Minute},
			Timeout: 90 * time.Second, Description: "describes " + name + " – ünïcode", HistoryLimit: 7,
		},
		Paused: true, PauseReason: "being looked at", Source: jobhost.SourceOverridden, Fingerprint: "c0ffee",
	}
}

// newTrigger is due at an instant, and ready unless that is zero.
func newTrigger(job, name jobhost.Name, priority int32, due time.Time) jobhost.Trigger {
	return jobhost.Trigger{
		Key:        jobhost.TriggerKey{Job: job, Trigger: name},
		TriggerDef: jobhost.TriggerDef{Name: name, Schedule: "0 * * * *", Priority: priority},
		State:      jobhost.TriggerWaiting, Due: due, Ready: due,
	}
}

// fullTrigger has every field set.
func fullTrigger(job, name jobhost.Name, due time.Time) jobhost.Trigger {
	t := newTrigger(job, name, -3, due)
	t.Data = json.RawMessage(`{"trigger": true}`)
	t.Misfire, t.StartDeadline, t.Description = jobhost.MisfireRunAll, time.Hour, "every hour"
	t.State = jobhost.TriggerBlocked
	t.Ready = due.Add(time.Second)
	t.LastFired, t.FiredCount = due.Add(-time.Hour), 41
	t.Paused, t.PauseReason = true, "no reason"
	t.RunID = id(9, due)
	t.Refused = jobhost.Refusals{Skipped: 1, Blocked: 2, Deadline: 3, Last: "too late", At: due.Add(time.Microsecond)}
	t.OneShot = &jobhost.OneShot{
		Kind: jobhost.KindManual, RunID: id(10, due), Trigger: "first", Attempt: 4, RetryOf: id(11, due),
		RecoveryOf: id(12, due), Data: json.RawMessage(`{}`),
	}
	return t
}

// newRun is in progress since an instant.
func newRun(n int, job jobhost.Name, started time.Time) jobhost.Run {
	return jobhost.Run{
		ID: id(n, started), Job: job, Trigger: "t", Kind: jobhost.KindSchedule, Attempt: 1, ScheduledAt: started,
		Priority: 5, State: jobhost.RunRunning, Node: "node-1", StartedAt: started,
	}
}

// fullRun has every field set.
func fullRun(n int, job jobhost.Name, started, ended time.Time) jobhost.Run {
	r := newRun(n, job, started)
	r.Kind, r.Attempt, r.RetryOf, r.RecoveryOf = jobhost.KindRetry, 2, id(90, started), id(91, started)
	r.ScheduledAt, r.Priority, r.Data = started.Add(-time.Minute), -1, json.RawMessage(`{"a": 1e3, "b": "\u00e9"}`)
	r.State, r.EndedAt = jobhost.RunFailed, ended
	r.ErrorCode, r.ErrorMessage = "MY_CODE", "it did not work\nat all"
	r.Digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	r.Fuel, r.PeakMemory = 1<<63+5, 3<<20
	return r
}

func ended(r jobhost.Run, at time.Time) jobhost.Run {
	r.State, r.EndedAt = jobhost.RunSucceeded, at
	return r
}

func runIDs(rs []jobhost.Run, err error) ([]jobhost.RunID, error) {
	out := make([]jobhost.RunID, 0, len(rs))
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return out, err
}

func keys(ts []jobhost.Trigger, err error) ([]string, error) {
	out := make([]string, 0, len(ts))
	for _, t := range ts {
		out = append(out, t.Key.Job+"/"+t.Key.Trigger)
	}
	return out, err
}
