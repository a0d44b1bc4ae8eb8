package memstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// Election is the "local" election: a [jobhost.Leader] among the engines that share this value, in one process. Its clock
// is that of the process, which no step of the wall clock moves. It is safe for concurrent use.
type Election struct {
	mu   sync.Mutex
	held map[jobhost.Name]holding
}

// holding is who has, or last had, a resource.
type holding struct {
	holder   string
	until    time.Time
	lastSign time.Time // the last renewal, or the release
	previous time.Time // of the holder before
	term     uint64
}

// NewElection returns an election in which nothing is held.
func NewElection() *Election { return &Election{held: map[jobhost.Name]holding{}} }

// Acquire takes or extends a lease. See [jobhost.Leader].
func (e *Election) Acquire(ctx context.Context, resource jobhost.Name, holder string, ttl time.Duration) (jobhost.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	h := e.held[resource]
	switch {
	case h.holder != holder && now.Before(h.until):
		return nil, leaseHeld("acquire", resource, h.holder)
	case h.holder != holder || !now.Before(h.until):
		h = holding{holder: holder, previous: h.lastSign, term: h.term + 1}
	}
	h.until, h.lastSign = now.Add(ttl), now
	e.held[resource] = h
	return &lease{election: e, resource: resource, ttl: ttl, holding: h}, nil
}

func leaseHeld(op string, resource jobhost.Name, holder string) error {
	return &jobhost.Error{
		Code: jobhost.LeaseHeld, Op: "election." + op, Msg: fmt.Sprintf("lease %q is held by %q", resource, holder),
		Params: map[string]any{"resource": resource, "holder": holder},
	}
}

// lease is a [jobhost.Lease] of an Election.
type lease struct {
	holding

	election *Election
	resource jobhost.Name
	ttl      time.Duration
}

func (l *lease) Resource() jobhost.Name       { return l.resource }
func (l *lease) Holder() string               { return l.holder }
func (l *lease) ExpiresAt() time.Time         { return l.until }
func (l *lease) PreviousHeldUntil() time.Time { return l.previous }
func (l *lease) Term() uint64                 { return l.term }

// Renew extends the lease, if it has neither expired nor been taken.
func (l *lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := l.election
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	h := e.held[l.resource]
	if h.term != l.term || !now.Before(h.until) {
		return leaseHeld("renew", l.resource, h.holder)
	}
	h.until, h.lastSign = now.Add(l.ttl), now
	e.held[l.resource], l.holding = h, h
	return nil
}

// Release frees the resource, if this lease still holds it.
func (l *lease) Release(context.Context) error {
	e := l.election
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.held[l.resource]; h.term == l.term {
		now := time.Now()
		if now.Before(h.until) {
			h.lastSign = now
		}
		h.until = time.Time{}
		e.held[l.resource] = h
	}
	return nil
}
