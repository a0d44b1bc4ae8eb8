package jobhost_test

import (
	"context"
	"errors"
	"slices"
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

func TestParseRunPrefix(t *testing.T) {
	const id = "019b8d2fd4fa00112233445566778899"
	for n := range len(id) + 1 {
		if got, err := jobhost.ParseRunPrefix(id[:n]); (err == nil) != (n >= jobhost.MinRunPrefix) || err == nil && got != id[:n] {
			t.Errorf("%q was read as %q, error %v", id[:n], got, err)
		}
	}
	for _, s := range []string{id + "0", "019B8D2F", "019b8d2g", "019b8d2f ", "-19b8d2f"} {
		if got, err := jobhost.ParseRunPrefix(s); err == nil || got != "" {
			t.Errorf("%q was read as %q", s, got)
		}
	}
}

// known is a scheduler that knows some runs.
type known struct {
	jobhost.Scheduler
	ids []jobhost.RunID
	err error
}

func (k known) Runs(_ context.Context, q jobhost.RunQuery) (rs []jobhost.Run, err error) {
	for _, id := range k.ids {
		if r := (jobhost.Run{ID: id}); q.Matches(&r) && len(rs) < q.Limit {
			rs = append(rs, r)
		}
	}
	return rs, k.err
}

func (k known) CountRuns(_ context.Context, q jobhost.RunQuery) (int, error) {
	n := 0
	for _, id := range k.ids {
		if r := (jobhost.Run{ID: id}); q.Matches(&r) {
			n++
		}
	}
	return n, k.err
}

func TestFindRunID(t *testing.T) {
	var ids []jobhost.RunID
	for i := range 5 {
		ids = append(ids, jobhost.NewRunID(time.UnixMilli(0x019b8d2fd4fa), [10]byte{byte(i) << 4}))
	}
	const whole = "00000000000000000000000000000009"
	for text, want := range map[string]struct {
		id  jobhost.RunID
		msg string
	}{
		whole:               {id: whole}, // nobody is asked
		string(ids[2][:13]): {id: ids[2]},
		string(ids[2][:31]): {id: ids[2]},
		string(ids[2][:12]): {msg: `5 runs begin with "019b8d2fd4fa": ` + string(ids[0]+", "+ids[1]+", "+ids[2]) + ", …; give more digits of the id (SCHEDULING_VALIDATION_001)"},
		"019b8d2fd4fb":      {msg: `run "019b8d2fd4fb" does not exist; see jobhost run ls (SCHEDULING_NOTFOUND_004)`},
		"019b8d2":           {msg: `run "019b8d2" does not exist; see jobhost run ls (SCHEDULING_NOTFOUND_004)`},
	} {
		got, err := jobhost.FindRunID(t.Context(), known{ids: ids}, text)
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if got != want.id || msg != want.msg {
			t.Errorf("%q: got %q, %q; want %q, %q", text, got, msg, want.id, want.msg)
		}
	}
	two := known{ids: slices.Clone(ids[:2])}
	if _, err := jobhost.FindRunID(t.Context(), two, "019b8d2fd4fa"); err == nil || strings.Contains(err.Error(), "…") {
		t.Errorf("of two: %v; want both named, and no more", err)
	}
	broken := errors.New("broken")
	if _, err := jobhost.FindRunID(t.Context(), known{err: broken}, "019b8d2fd4fa"); !errors.Is(err, broken) {
		t.Errorf("got %v, want the scheduler's error", err)
	}
}
