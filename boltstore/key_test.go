package boltstore

import (
	"bytes"
	"cmp"
	"math"
	"testing"

	"github.com/jobhost/jobhost"
)

// FuzzKeys writes two keys of each kind: their order as bytes must be the order of what they stand for, and what can
// be read from them must be what was written.
func FuzzKeys(f *testing.F) {
	f.Add(int32(5), int64(0), "a", "t", int32(5), int64(0), "a.b", "t")
	f.Add(int32(math.MinInt32), int64(math.MinInt64), "a", "t", int32(math.MaxInt32), int64(math.MaxInt64), "a-b", "")
	f.Add(int32(-1), int64(-1), "a", "b", int32(0), int64(0), "a", "b")
	f.Fuzz(func(t *testing.T, p1 int32, at1 int64, job1, trigger1 string, p2 int32, at2 int64, job2, trigger2 string) {
		for _, s := range []string{job1, job2, trigger1, trigger2} {
			if bytes.IndexByte([]byte(s), 0) >= 0 {
				return // no name has a zero byte
			}
		}
		k1, k2 := jobhost.TriggerKey{Job: job1, Trigger: trigger1}, jobhost.TriggerKey{Job: job2, Trigger: trigger2}
		byName := cmp.Or(cmp.Compare(job1, job2), cmp.Compare(trigger1, trigger2))
		same := func(what string, a, b []byte, want int) {
			t.Helper()
			if got := bytes.Compare(a, b); got != want {
				t.Errorf("%s: %x and %x compare as %d, want %d", what, a, b, got, want)
			}
		}
		same("triggers", putTriggerKey(nil, k1), putTriggerKey(nil, k2), byName)
		same("ready", putReadyKey(nil, p1, at1, k1), putReadyKey(nil, p2, at2, k2),
			cmp.Or(cmp.Compare(p2, p1), cmp.Compare(at1, at2), byName))
		same("blocked", putBlockedKey(nil, p1, at1, k1), putBlockedKey(nil, p2, at2, k2),
			cmp.Or(cmp.Compare(job1, job2), cmp.Compare(p2, p1), cmp.Compare(at1, at2), cmp.Compare(trigger1, trigger2)))
		var id1, id2 rawID
		copy(id1[:], trigger1)
		copy(id2[:], trigger2)
		byID := cmp.Compare(id2.id(), id1.id())
		same("runs", putStarted(nil, at1, id1), putStarted(nil, at2, id2), cmp.Or(cmp.Compare(at1, at2), byID))
		same("runs of jobs", putStarted(putName(nil, job1), at1, id1), putStarted(putName(nil, job2), at2, id2),
			cmp.Or(cmp.Compare(job1, job2), cmp.Compare(at1, at2), byID))

		if p, at, k, err := readyKey(putReadyKey(nil, p1, at1, k1)); p != p1 || at != at1 || k != k1 || err != nil {
			t.Errorf("readyKey: %d, %d, %v, %v; want %d, %d, %v", p, at, k, err, p1, at1, k1)
		}
		if at, id, err := startedKey(putStarted(nil, at1, id1)); at != at1 || id != id1 || err != nil {
			t.Errorf("startedKey: %d, %x, %v; want %d, %x", at, id, err, at1, id1)
		}
		if got, ok := toRaw(id1.id()); got != id1 || !ok {
			t.Errorf("toRaw: %x, %v; want %x", got, ok, id1)
		}
	})
}

func TestOnlyIDsHaveARawForm(t *testing.T) {
	for _, id := range []jobhost.RunID{"", "0", "0123456789abcdef0123456789abcde", "0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcdef0", "0123456789abcdef0123456789abcdeg"} {
		if raw, ok := toRaw(id); ok {
			t.Errorf("%q became %x", id, raw)
		}
	}
}
