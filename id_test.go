package jobhost_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func TestRunIDs(t *testing.T) {
	at := time.UnixMilli(0x019b8d2fd4fa)
	random := [10]byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99}
	id := jobhost.NewRunID(at, random)
	if want := jobhost.RunID("019b8d2fd4fa00112233445566778899"); id != want {
		t.Fatalf("id is %s, want %s: 48 bits of milliseconds and the random bytes", id, want)
	}
	if got := id.SpanID(); got != "2233445566778899" {
		t.Errorf("span id is %s, want the last 16 digits", got)
	}
	if got, want := id.Traceparent(true), "00-019b8d2fd4fa00112233445566778899-2233445566778899-01"; got != want {
		t.Errorf("traceparent is %s, want %s", got, want)
	}
	if got, want := id.Traceparent(false), "00-019b8d2fd4fa00112233445566778899-2233445566778899-00"; got != want {
		t.Errorf("traceparent of a run that is not sampled is %s, want %s", got, want)
	}
	// The zone of the clock does not matter, nor what is below a millisecond.
	if other := jobhost.NewRunID(at.Add(999*time.Microsecond).In(time.FixedZone("x", 3600)), random); other != id {
		t.Errorf("id is %s for the same millisecond, want %s", other, id)
	}
}

func TestParseRunID(t *testing.T) {
	const good = "019b8d2fd4fa00112233445566778899"
	for _, s := range []string{"", good[1:], good + "0", strings.ToUpper(good), strings.Repeat("g", 32), " " + good[1:], good[:8] + "-" + good[9:]} {
		if id, err := jobhost.ParseRunID(s); err == nil || id != "" {
			t.Errorf("%q was read as %q, error %v", s, id, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var random [10]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(t, "random"))
		now := time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(t, "milliseconds"))
		id := jobhost.NewRunID(now, random)
		if got, err := jobhost.ParseRunID(string(id)); got != id || err != nil {
			t.Fatalf("%s was read as %s, error %v", id, got, err)
		}
	})
}
