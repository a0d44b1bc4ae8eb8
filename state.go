package jobhost

import (
	"fmt"
	"slices"
)

// TriggerState is the stored state of a trigger. Paused is a flag beside it, not a state (SPEC 10.1).
type TriggerState uint8

// The states of a trigger. [TriggerTransitions] says which may follow which.
const (
	TriggerWaiting  TriggerState = iota + 1 // has a due time and may be claimed
	TriggerRunning                          // an interval trigger whose run is in progress; it has no due until that ends
	TriggerBlocked                          // was due while a run of its exclusive job was in progress; the due is kept
	TriggerComplete                         // has no next due; kept for inspection
)

// TriggerTransitions lists for each state the states that one transition of SPEC 10.2 may lead to. Zero stands for a
// trigger that does not exist: new, or removed.
var TriggerTransitions = map[TriggerState][]TriggerState{
	0:               {TriggerWaiting, TriggerComplete},                                    // T1, T2
	TriggerWaiting:  {TriggerWaiting, TriggerRunning, TriggerBlocked, TriggerComplete, 0}, // T4–T10, T17, T18, T20, T21
	TriggerRunning:  {TriggerRunning, TriggerWaiting, TriggerComplete, 0},                 // T11, T12, T18–T20
	TriggerBlocked:  {TriggerBlocked, TriggerWaiting, TriggerRunning, TriggerComplete, 0}, // T13 (and the settling in its commit), T14, T17, T18, T20
	TriggerComplete: {TriggerComplete, TriggerWaiting, 0},                                 // T17, T18, T20
}

// RunState is the state of a run (SPEC 15.2). End states never change.
type RunState uint8

// The states of a run. RunPending is shown for an enqueued run that has not started; it has no record yet.
const (
	RunPending   RunState = iota + 1
	RunRunning            // in progress
	RunSucceeded          // the plugin returned success within its limit
	RunFailed             // the plugin returned failure, trapped, broke the contract or exceeded its limit
	RunCanceled           // ended because of a cancel request or because the host stopped
	RunLost               // its node disappeared
)

// Ended reports whether s is an end state.
func (s RunState) Ended() bool { return s >= RunSucceeded }

// RunKind says what caused a run (SPEC 15.1).
type RunKind uint8

// The kinds of run.
const (
	KindSchedule RunKind = iota + 1 // a due trigger
	KindManual                      // Trigger or Enqueue
	KindRecovery                    // follows a run whose node was lost
	KindRetry                       // follows a failed run
)

// Misfire says what happens to a firing that is late by more than the misfire threshold (SPEC 12).
type Misfire uint8

// The misfire policies. The zero value is the default.
const (
	MisfireRunOnce Misfire = iota // run once now, however many were missed
	MisfireSkip                   // run none of them
	MisfireRunAll                 // run each missed time in turn, one per poll interval
)

// Source says how a job's definition got into the store (SPEC 21).
type Source uint8

// The sources of a definition.
const (
	SourceFile       Source = iota + 1 // a configuration file or a plugin's manifest
	SourceRuntime                      // a Schedule call, without a file definition
	SourceOverridden                   // has a file definition, but a Schedule call changed it
)

var (
	triggerStates = []string{"", "Waiting", "Running", "Blocked", "Complete"}
	runStates     = []string{"", "Pending", "Running", "Succeeded", "Failed", "Canceled", "Lost"}
	runKinds      = []string{"", "Schedule", "Manual", "Recovery", "Retry"}
	misfires      = []string{"run_once", "skip", "run_all"}
	sources       = []string{"", "File", "Runtime", "Overridden"}
)

func (s TriggerState) String() string { return word(triggerStates, s) }
func (s RunState) String() string     { return word(runStates, s) }
func (k RunKind) String() string      { return word(runKinds, k) }
func (m Misfire) String() string      { return word(misfires, m) }
func (s Source) String() string       { return word(sources, s) }

// MarshalText writes the state's name.
func (s TriggerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s RunState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the kind's name.
func (k RunKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// MarshalText writes the policy's name.
func (m Misfire) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// MarshalText writes the source's name.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *TriggerState) UnmarshalText(b []byte) error {
	return read(s, triggerStates, b, "trigger state")
}

// UnmarshalText reads a state's name.
func (s *RunState) UnmarshalText(b []byte) error { return read(s, runStates, b, "run state") }

// UnmarshalText reads a kind's name.
func (k *RunKind) UnmarshalText(b []byte) error { return read(k, runKinds, b, "run kind") }

// UnmarshalText reads a policy's name.
func (m *Misfire) UnmarshalText(b []byte) error { return read(m, misfires, b, "misfire policy") }

// UnmarshalText reads a source's name.
func (s *Source) UnmarshalText(b []byte) error { return read(s, sources, b, "source") }

func word[E ~uint8](words []string, e E) string {
	if int(e) < len(words) {
		return words[e]
	}
	return fmt.Sprintf("unknown(%d)", e)
}

// read finds the value of a word. The empty one, which stands for the zero value of some types, is no word.
func read[E ~uint8](e *E, words []string, b []byte, what string) error {
	i := slices.Index(words, string(b))
	if i < 0 || len(b) == 0 {
		return fmt.Errorf("%q is no %s; want one of %q", b, what, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" }))
	}
	*e = E(i)
	return nil
}
