package boltstore

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

// kinds are the kinds of record: decode reads one and returns it with a function that writes it.
var kinds = []struct {
	name   string
	decode func(b []byte) (record any, encode func(*enc), err error)
}{
	{"job", func(b []byte) (any, func(*enc), error) {
		j, err := decodeJob("a", b)
		return j, func(e *enc) { e.job(&j) }, err
	}},
	{"trigger", func(b []byte) (any, func(*enc), error) {
		t, err := decodeTrigger(jobhost.TriggerKey{Job: "a", Trigger: "t"}, b)
		return t, func(e *enc) { e.trigger(&t) }, err
	}},
	{"run", func(b []byte) (any, func(*enc), error) {
		r, err := decodeRun(rawID{}, b)
		if dry := checkRun(b); (dry == nil) != (err == nil) {
			err = fmt.Errorf("checkRun says %w, and decodeRun %w", dry, err)
		}
		return r, func(e *enc) { e.run(&r) }, err
	}},
	{"ended run", func(b []byte) (any, func(*enc), error) {
		r, err := decodeEndedRun(rawID{}, b)
		_, _, segment, _ := decodeRunEnd(b)
		return r, func(e *enc) { e.endedRun(segment, &r) }, err
	}},
	{"node", func(b []byte) (any, func(*enc), error) {
		n, err := decodeNode("n", b)
		return n, func(e *enc) { e.node(&n) }, err
	}},
}

// FuzzRecord decodes any bytes: that must not panic, must not make more of them than they can hold, and what it makes
// of them must be the same when it is written and read again.
func FuzzRecord(f *testing.F) {
	seed := func(kind byte, write func(*enc)) {
		var e enc
		write(&e)
		f.Add(kind, []byte(e))
	}
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	job := jobhost.Job{JobDef: jobhost.NewJob("a", "p"), Fingerprint: "c0ffee"}
	job.Retry, job.Data = &jobhost.RetryPolicy{MaxRetries: 1, Delay: time.Second}, json.RawMessage(`{}`)
	trigger := testTrigger("a", "t", at)
	trigger.OneShot = &jobhost.OneShot{Kind: jobhost.KindManual, RunID: testID(1, at), Attempt: 1}
	trigger.Refused = jobhost.Refusals{Skipped: 1, Last: "late", At: at}
	run := succeeded(testRun(1, "a", at), at)
	run.ErrorCode, run.Digest, run.Fuel = "X", "00ff", 1<<63
	seed(0, func(e *enc) { e.job(&job) })
	seed(1, func(e *enc) { e.trigger(&trigger) })
	seed(2, func(e *enc) { e.run(&run) })
	seed(3, func(e *enc) { e.endedRun(77, &run) })
	seed(4, func(e *enc) { e.node(&jobhost.Node{ID: "n", Host: "h", Started: at}) })
	f.Add(byte(2), []byte{1, 1, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		k := kinds[int(kind)%len(kinds)]
		record, encode, err := k.decode(b)
		if err != nil {
			return
		}
		if n := len(fmt.Sprint(record)); n > 2000+16*len(b) {
			t.Errorf("%d bytes became a record of %d", len(b), n)
		}
		var e enc
		encode(&e)
		again, _, err := k.decode(e)
		if d := cmp.Diff(again, record); d != "" || err != nil {
			t.Errorf("written and read again: %v, -got +want\n%s", err, d)
		}
	})
}

func TestTextThatIsNearlyHexadecimalIsKept(t *testing.T) {
	for _, s := range []string{"", "0", "00", "0f", "0F", "c0ffee", "c0ffe", "zz", "c0ffee ", "\x00\x01", "ünïcode"} {
		var e enc
		e.hex(s)
		d := dec{b: e}
		if got := d.hex(); got != s || d.close() != nil {
			t.Errorf("%q came back as %q, %v", s, got, d.err)
		}
	}
}

// A firing costs what its records cost, so their sizes are held here.
func TestRecordsAreCompact(t *testing.T) {
	run := succeeded(testRun(1, "some-job", t0), t0.Add(time.Second))
	run.Digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	trigger := testTrigger("some-job", "some-trigger", t0)
	for _, c := range []struct {
		name  string
		write func(*enc)
		most  int
	}{
		{"run", func(e *enc) { e.run(&run) }, 90},
		{"trigger", func(e *enc) { e.trigger(&trigger) }, 50},
	} {
		var e enc
		if c.write(&e); len(e) > c.most {
			t.Errorf("%s: %d bytes, want at most %d", c.name, len(e), c.most)
		}
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		id := rapid.Custom(func(t *rapid.T) jobhost.RunID {
			return rapid.SampledFrom([]jobhost.RunID{"", testID(1, t0), testID(2, time.Unix(0, 0)), "no id"}).Draw(t, "id")
		})
		at := rapid.Custom(func(t *rapid.T) time.Time { return fromMicro(rapid.Int64Range(never, -2*never).Draw(t, "at")) })
		r := jobhost.Run{
			ID: testID(3, t0), Job: text.Draw(t, "job"), Trigger: text.Draw(t, "trigger"), Kind: jobhost.KindRetry,
			Attempt: rapid.Int().Draw(t, "attempt"), RetryOf: id.Draw(t, "retry"), RecoveryOf: id.Draw(t, "recovery"),
			ScheduledAt: at.Draw(t, "scheduled"), Priority: rapid.Int32().Draw(t, "priority"), State: jobhost.RunLost,
			Node: text.Draw(t, "node"), StartedAt: at.Draw(t, "started"), EndedAt: at.Draw(t, "ended"),
			ErrorCode: jobhost.Code(text.Draw(t, "code")), ErrorMessage: text.Draw(t, "message"), Digest: text.Draw(t, "digest"),
			Fuel: rapid.Uint64().Draw(t, "fuel"), PeakMemory: rapid.Uint64().Draw(t, "memory"),
		}
		if data := text.Draw(t, "data"); data != "" {
			r.Data = json.RawMessage(data)
		}
		var e enc
		e.endedRun(rapid.Uint32().Draw(t, "segment"), &r)
		raw, _ := toRaw(r.ID)
		got, err := decodeEndedRun(raw, e)
		if d := cmp.Diff(got, r); d != "" || err != nil {
			t.Fatalf("%v, -got +want\n%s", err, d)
		}
		job, ended, _, err := decodeRunEnd(e)
		if job != r.Job || ended != r.EndedAt.UnixMicro() || err != nil {
			t.Fatalf("decodeRunEnd: %q, %d, %v; want %q, %d", job, ended, err, r.Job, r.EndedAt.UnixMicro())
		}
	})
}
