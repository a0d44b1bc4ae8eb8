package abi_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/abi"
)

var sample = abi.Run{
	ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "reports.nightly", Trigger: "workdays", Kind: "Retry",
	ScheduledAt: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC), Attempt: 2, RetryOf: "019a0b1c2d3e4f5061728394a5b6c7d7",
	Data:     json.RawMessage(`{"a":"<b> & c","n":12345678901234567890}`),
	Deadline: time.Date(2026, 3, 1, 6, 20, 0, 500_000_000, time.UTC), Node: "n1", Traceparent: "00-019a-01",
}

func TestRunDocumentHasTheFieldsOfTheContractInOrder(t *testing.T) {
	got, err := sample.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"019a0b1c2d3e4f5061728394a5b6c7d8","job":"reports.nightly","trigger":"workdays","kind":"Retry",` +
		`"scheduledAt":"2026-03-01T06:00:00Z","attempt":2,"retryOf":"019a0b1c2d3e4f5061728394a5b6c7d7",` +
		`"data":{"a":"<b> & c","n":12345678901234567890},"deadline":"2026-03-01T06:20:00.5Z","node":"n1","traceparent":"00-019a-01"}`
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Error(diff)
	}
}

func TestRunDocumentWithoutValuesKeepsItsFields(t *testing.T) {
	got, err := abi.Run{ID: "x", Attempt: 1}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x","job":"","trigger":"","kind":"","scheduledAt":"","attempt":1,"retryOf":"","data":{},"deadline":"","node":"","traceparent":""}`
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Error(diff)
	}
}

func TestRunDocumentReadsBackAndIgnoresUnknownFields(t *testing.T) {
	doc, err := sample.Encode()
	if err != nil {
		t.Fatal(err)
	}
	doc = append(doc[:len(doc)-1], `,"later":{"x":1}}`...)
	got, err := abi.DecodeRun(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, sample); diff != "" {
		t.Error(diff)
	}
}

func TestRunDocumentRefusesWhatIsNoObject(t *testing.T) {
	for _, data := range []string{`[]`, `"x"`, `1`, `{"a":`, `null`} {
		if doc, err := (abi.Run{Data: json.RawMessage(data)}).Encode(); err == nil {
			t.Errorf("data %s encoded as %s", data, doc)
		}
	}
	for _, doc := range []string{``, `[]`, `{"data":[]}`, `{"deadline":"tomorrow"}`, `{"attempt":"1"}`, string(make([]byte, abi.MaxDocument+1))} {
		if run, err := abi.DecodeRun([]byte(doc)); err == nil {
			t.Errorf("document %.40q decoded as %+v", doc, run)
		}
	}
}

func TestErrnoNamesItself(t *testing.T) {
	for want, e := range map[string]abi.Errno{
		"not found": -1, "denied: no grant": -2, "too large": -3, "bad argument or handle": -4,
		"the run is ending": -5, "failed": -6, "limit reached": -7, "error -99": -99,
	} {
		if got := e.Error(); got != want {
			t.Errorf("Errno(%d) = %q, want %q", int32(e), got, want)
		}
	}
}

func FuzzDecodeRun(f *testing.F) {
	doc, err := sample.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"scheduledAt":"2026-03-01T06:00:00+08:00","data":{"a":null}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		run, err := abi.DecodeRun(doc)
		if err != nil {
			return
		}
		again, err := run.Encode()
		if err != nil {
			t.Fatalf("%q decoded but does not encode: %v", doc, err)
		}
		second, err := abi.DecodeRun(again)
		if err != nil {
			t.Fatalf("%q does not decode again: %v", again, err)
		}
		last, err := second.Encode()
		if err != nil || string(last) != string(again) {
			t.Fatalf("%q encodes as %q, then as %q (%v)", doc, again, last, err)
		}
	})
}

func ExampleRun_Encode() {
	doc, err := abi.Run{ID: "1", Job: "cleanup", Kind: "Manual", Attempt: 1}.Encode()
	if err != nil {
		panic(err)
	}
	run, err := abi.DecodeRun(doc)
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Job, string(run.Data))
	// Output: cleanup {}
}
