package jobhost_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

const longest = 720 * time.Hour

func TestRetryPolicyRanges(t *testing.T) {
	t.Run("S-08 values out of range are refused", func(t *testing.T) {
		for _, tt := range []struct {
			name       string
			maxRetries int
			delay      time.Duration
			maxDelay   time.Duration // of an exponential policy
			fixed      bool          // whether a fixed policy is valid
			exp        bool          // whether an exponential one is
		}{
			{"max_retries 0", 0, time.Minute, time.Hour, false, false},
			{"max_retries 1", 1, time.Minute, time.Hour, true, true},
			{"max_retries 100", 100, time.Minute, time.Hour, true, true},
			{"max_retries 101", 101, time.Minute, time.Hour, false, false},
			{"delay 0", 1, 0, time.Hour, false, false},
			{"delay 1ns", 1, 1, time.Hour, true, true},
			{"delay 720h", 1, longest, time.Hour, true, true},
			{"delay 720h and 1ns", 1, longest + 1, time.Hour, false, false},
			{"max_delay 0", 1, time.Minute, 0, true, false},
			{"max_delay negative", 1, time.Minute, -1, true, false},
			{"max_delay 720h", 1, time.Minute, longest, true, true},
			{"max_delay 720h and 1ns", 1, time.Minute, longest + 1, true, false},
		} {
			if _, err := jobhost.FixedRetry(tt.maxRetries, tt.delay); (err == nil) != tt.fixed {
				t.Errorf("fixed, %s: error %v", tt.name, err)
			}
			if _, err := jobhost.ExponentialRetry(tt.maxRetries, tt.delay, tt.maxDelay); (err == nil) != tt.exp {
				t.Errorf("exponential, %s: error %v", tt.name, err)
			}
		}
	})
}

func TestDelayFor(t *testing.T) {
	fixed, err := jobhost.FixedRetry(5, 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := jobhost.ExponentialRetry(7, time.Minute, 30*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	free := jobhost.RetryPolicy{MaxRetries: 100, Delay: time.Minute, Exponential: true}
	low, err := jobhost.ExponentialRetry(3, time.Hour, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		policy jobhost.RetryPolicy
		n      []int
		want   []time.Duration
	}{
		{"S-09 fixed waits are equal", fixed, []int{1, 2, 3, 4, 5}, minutes(2, 2, 2, 2, 2)},
		{"S-10 exponential waits double up to the bound", bounded, []int{1, 2, 3, 4, 5, 6, 7}, minutes(1, 2, 4, 8, 16, 30, 30)},
		{"S-11 exponential waits without a bound end at 720h and never overflow", free, []int{16, 17, 100}, minutes(32768, 720*60, 720*60)},
		{"a bound below the delay bounds the first wait too", low, []int{1, 2, 3}, minutes(1, 1, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.policy.Check(); err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			for _, n := range tt.n {
				got = append(got, tt.policy.DelayFor(n))
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("waits (-got +want):\n%s", diff)
			}
		})
	}
}

func minutes(ns ...int) []time.Duration {
	ds := make([]time.Duration, 0, len(ns))
	for _, n := range ns {
		ds = append(ds, time.Duration(n)*time.Minute)
	}
	return ds
}

// Whatever the policy, waits are positive, at most 720h, and never shrink.
func TestWaitsStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := jobhost.RetryPolicy{
			MaxRetries:  rapid.IntRange(1, 100).Draw(t, "max retries"),
			Delay:       time.Duration(rapid.Int64Range(1, int64(longest)).Draw(t, "delay")),
			Exponential: rapid.Bool().Draw(t, "exponential"),
			MaxDelay:    time.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "max delay")),
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		last := time.Duration(0)
		for n := 1; n <= p.MaxRetries; n++ {
			d := p.DelayFor(n)
			if d <= 0 || d > longest || d < last {
				t.Fatalf("wait %d is %v after %v", n, d, last)
			}
			last = d
		}
	})
}

// The published vectors, which other implementations can use too.
func TestRetryVectors(t *testing.T) {
	type vector struct {
		Policy struct {
			Backoff    string   `json:"backoff"`
			MaxRetries int      `json:"max_retries"`
			Delay      float64  `json:"delay_seconds"`
			MaxDelay   *float64 `json:"max_delay_seconds"`
		} `json:"policy"`
		Delays []float64 `json:"delays_seconds"`
		Error  bool      `json:"error"`
		Note   string    `json:"note"`
		Why    string    `json:"why"`
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	file, err := os.ReadFile("testdata/schedule.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(file) {
		if !bytes.Contains(line, []byte(`"kind": "retry"`)) {
			continue
		}
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(v.Policy.Backoff+" "+v.Note+v.Why, func(t *testing.T) {
			p := jobhost.RetryPolicy{MaxRetries: v.Policy.MaxRetries, Delay: seconds(v.Policy.Delay), Exponential: v.Policy.Backoff == "exponential"}
			err := p.Check()
			if v.Policy.MaxDelay != nil {
				p, err = jobhost.ExponentialRetry(p.MaxRetries, p.Delay, seconds(*v.Policy.MaxDelay))
			}
			if (err != nil) != v.Error {
				t.Fatalf("error %v, want one: %v", err, v.Error)
			}
			for i, want := range v.Delays {
				if got := p.DelayFor(i + 1); got != seconds(want) {
					t.Errorf("wait %d is %v, want %v", i+1, got, seconds(want))
				}
			}
		})
	}
	if n == 0 {
		t.Error("the file has no retry vectors")
	}
}
