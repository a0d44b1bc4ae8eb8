package host_test

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

func TestAGuestMayHaveThePlannedTime(t *testing.T) {
	planned := sample("").ScheduledAt
	within := func(at int64, from time.Time) bool {
		d := time.Unix(0, at).Sub(from)
		return d >= 0 && d < time.Minute
	}
	do := func(clock host.Clock) []int64 {
		h := caller(t, host.Defaults(), host.Grant{Clock: clock})
		got, _ := makeCalls(t, h, jobhost.Call{}, call{F: "now"}, call{F: "wasi_sleep", N: 20}, call{F: "now"})
		return numbers(got)
	}
	got := do(host.ClockPlanned)
	if !within(got[0], planned) || got[1] < 20 || got[1] > 10_000 {
		t.Errorf("it is %v after the planned time, and the guest slept %d ms", time.Unix(0, got[0]).Sub(planned), got[1])
	}
	if passed := time.Duration(got[2] - got[0]); passed < 20*time.Millisecond || passed > time.Minute {
		t.Errorf("%v passed", passed)
	}
	for _, clock := range []host.Clock{"", host.ClockReal} {
		begun := time.Now()
		if got = do(clock); !within(got[0], begun) {
			t.Errorf("with %q it is %v, %v is true", clock, time.Unix(0, got[0]), begun)
		}
	}
}
