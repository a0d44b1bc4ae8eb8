package jobtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
)

// LeaderOpener opens elections for [Leader].
type LeaderOpener struct {
	// Open returns an election in which nothing is held; all candidates of a case share it. In a case that runs in a bubble
	// it is called there.
	Open func(t testing.TB) jobhost.Leader
	// Cut makes the storage of an election that Open returned unreachable, until mend is called; nil if it has none.
	Cut func(t testing.TB, l jobhost.Leader) (mend func())
	// Real says that the election judges by a clock other than this process's, so that no bubble can move it. Its cases
	// then wait in real time, side by side, with leases of two seconds.
	Real bool
}

// Leader tests an election against the contract of [jobhost.Leader] and [jobhost.Lease] (SPEC 19.2).
func Leader(t *testing.T, open LeaderOpener) {
	t.Helper()
	for _, c := range leaderCases {
		if c.cut && open.Cut == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if open.Real {
				t.Parallel()
				c.test(&candidates{T: t, Leader: open.Open(t), open: open, ttl: 2 * time.Second, slack: 500 * time.Millisecond})
				return
			}
			synctest.Test(t, func(t *testing.T) {
				c.test(&candidates{T: t, Leader: open.Open(t), open: open, ttl: 30 * time.Second, slack: time.Millisecond})
			})
		})
	}
}

// resource is what the cases elect a leader of.
const resource jobhost.Name = "scheduling.jobs"

// candidates is one case under test with its election.
type candidates struct {
	*testing.T
	jobhost.Leader

	open       LeaderOpener
	ttl, slack time.Duration // of a lease; of an instant, since the election's clock may be another one
}

// wins acquires the resource, which must be granted.
func (c *candidates) wins(holder string) jobhost.Lease {
	c.Helper()
	l, err := c.Acquire(c.Context(), resource, holder, c.ttl)
	if err != nil {
		c.Fatalf("%s is refused: %v", holder, err)
	}
	if l.Holder() != holder || l.Resource() != resource {
		c.Fatalf("the lease is %q's of %q, want %q's of %q", l.Holder(), l.Resource(), holder, resource)
	}
	return l
}

// loses acquires the resource, which must be refused because somebody else has it.
func (c *candidates) loses(holder string) {
	c.Helper()
	if _, err := c.Acquire(c.Context(), resource, holder, c.ttl); jobhost.CodeOf(err) != jobhost.LeaseHeld {
		c.Errorf("%s asks for a lease that is held: got %v, want %s", holder, err, jobhost.LeaseHeld)
	}
}

func (c *candidates) renews(l jobhost.Lease, want jobhost.Code) {
	c.Helper()
	if err := l.Renew(c.Context()); jobhost.CodeOf(err) != want || want == "" && err != nil {
		c.Errorf("%s renews: got %v, want %q", l.Holder(), err, want)
	}
}

func (c *candidates) releases(l jobhost.Lease) {
	c.Helper()
	if err := l.Release(c.Context()); err != nil {
		c.Errorf("%s releases: %v", l.Holder(), err)
	}
}

// around compares an instant that the election gave with one that this process took.
func (c *candidates) around(what string, got, want time.Time) {
	c.Helper()
	if d := got.Sub(want).Abs(); d > c.slack {
		c.Errorf("%s is %v, want %v", what, got, want)
	}
}

// almost lets the time to live pass but for the slack; past lets the rest pass, and a little more.
func (c *candidates) almost() { time.Sleep(c.ttl - c.slack) }
func (c *candidates) past()   { time.Sleep(2 * c.slack) }

var leaderCases = []struct {
	name string
	cut  bool // it needs a storage that can be unreachable
	test func(c *candidates)
}{
	{"S-108 a free resource is granted for the time to live", false, func(c *candidates) {
		l := c.wins("a")
		c.around("the end of the lease", l.ExpiresAt(), time.Now().Add(c.ttl))
	}},
	{"S-109 one that is held by another is refused", false, func(c *candidates) {
		c.wins("a")
		c.loses("b")
	}},
	{"S-110 its holder acquires it again, and it is extended", false, func(c *candidates) {
		first := c.wins("a")
		c.almost()
		again := c.wins("a")
		c.around("the end of the lease", again.ExpiresAt(), time.Now().Add(c.ttl))
		if again.Term() != first.Term() {
			c.Errorf("the term went from %d to %d without a change of holder", first.Term(), again.Term())
		}
		c.almost()
		c.loses("b")
	}},
	{"S-111 a renewal before the end extends it", false, func(c *candidates) {
		l := c.wins("a")
		for range 2 {
			c.almost()
			c.renews(l, "")
			c.around("the end of the lease", l.ExpiresAt(), time.Now().Add(c.ttl))
			c.loses("b")
		}
	}},
	{"S-112 without renewal it is free after the time to live", false, func(c *candidates) {
		c.wins("a")
		c.almost()
		c.loses("b")
		c.past()
		c.wins("b")
		c.loses("a")
	}},
	{"S-113 a renewal after the end is refused, whether somebody took it or not", false, func(c *candidates) {
		a := c.wins("a")
		c.almost()
		c.past()
		c.renews(a, jobhost.LeaseHeld)
		b := c.wins("b")
		c.renews(a, jobhost.LeaseHeld)
		c.renews(b, "")
	}},
	{"S-114 a released resource is free at once", false, func(c *candidates) {
		a := c.wins("a")
		c.releases(a)
		c.wins("b")
		c.renews(a, jobhost.LeaseHeld)
	}},
	{"S-115 a release takes effect when the context of the acquisition has ended", false, func(c *candidates) {
		ctx, stop := context.WithCancel(c.Context())
		l, err := c.Acquire(ctx, resource, "a", c.ttl)
		if err != nil {
			c.Fatal(err)
		}
		stop()
		if err := l.Release(context.WithoutCancel(ctx)); err != nil {
			c.Error(err)
		}
		c.wins("b")
	}},
	{"S-116 a former holder's release changes nothing and is no error", false, func(c *candidates) {
		a := c.wins("a")
		c.almost()
		c.past()
		b := c.wins("b")
		c.releases(a)
		c.loses("c")
		c.renews(b, "")
		c.releases(b)
		c.releases(b)
	}},
	{"S-117 of 16 candidates at once exactly one is granted", false, func(c *candidates) {
		for round := range 20 {
			var all sync.WaitGroup
			leases := make([]jobhost.Lease, 16)
			errs := make([]error, 16)
			for i := range leases {
				all.Go(func() { leases[i], errs[i] = c.Acquire(c.Context(), resource, fmt.Sprintf("n%d", i), c.ttl) })
			}
			all.Wait()
			var winner jobhost.Lease
			granted := 0
			for i, err := range errs {
				switch {
				case err == nil:
					granted++
					winner = leases[i]
				case jobhost.CodeOf(err) != jobhost.LeaseHeld:
					c.Errorf("round %d: %v, want %s", round, err, jobhost.LeaseHeld)
				}
			}
			if granted != 1 {
				c.Fatalf("round %d: %d were granted, want 1", round, granted)
			}
			c.releases(winner)
		}
	}},
	{"S-118 resources are independent", false, func(c *candidates) {
		a := c.wins("a")
		other, err := c.Acquire(c.Context(), "other", "b", c.ttl)
		if err != nil {
			c.Fatal(err)
		}
		c.releases(a)
		if _, err := c.Acquire(c.Context(), "other", "a", c.ttl); jobhost.CodeOf(err) != jobhost.LeaseHeld {
			c.Errorf("got %v, want %s", err, jobhost.LeaseHeld)
		}
		c.renews(other, "")
	}},
	{"S-119 an unreachable storage says so, and grants nothing", true, func(c *candidates) {
		l := c.wins("a")
		mend := c.open.Cut(c, c.Leader)
		c.renews(l, jobhost.LeaseUnreachable)
		if _, err := c.Acquire(c.Context(), resource, "b", c.ttl); jobhost.CodeOf(err) != jobhost.LeaseUnreachable {
			c.Errorf("got %v, want %s", err, jobhost.LeaseUnreachable)
		}
		mend()
		c.renews(l, "")
		c.loses("b")
	}},
	{"S-120 a take-over knows until when the holder before had it", false, func(c *candidates) {
		a := c.wins("a")
		if at := a.PreviousHeldUntil(); !at.IsZero() {
			c.Errorf("the first lease has a holder before it, until %v", at)
		}
		c.almost()
		c.renews(a, "")
		renewed := time.Now()
		c.almost()
		c.past()
		b := c.wins("b")
		c.around("the last renewal", b.PreviousHeldUntil(), renewed)
		c.past()
		c.releases(b)
		released := time.Now()
		c.almost()
		d := c.wins("d")
		c.around("the release", d.PreviousHeldUntil(), released)
		if a.Term() != 0 && (b.Term() <= a.Term() || d.Term() <= b.Term()) {
			c.Errorf("the terms are %d, %d, %d; want each larger", a.Term(), b.Term(), d.Term())
		}
	}},
	{"a context that has ended is the answer, and nothing is granted", false, func(c *candidates) {
		ctx, stop := context.WithCancel(c.Context())
		stop()
		if _, err := c.Acquire(ctx, resource, "a", c.ttl); err == nil {
			c.Error("granted")
		}
		c.wins("b")
	}},
}
