package jobhost

import (
	"context"
	"time"
)

// Leader is an election: at most one holder of a resource at any time (SPEC 19). Resources are independent of one another,
// and expiry is judged by the provider's clock.
type Leader interface {
	// Acquire takes the lease for ttl. The holder that has it already gets it again, extended. Errors: LeaseHeld when
	// somebody else has it, LeaseUnreachable.
	Acquire(ctx context.Context, resource Name, holder string, ttl time.Duration) (Lease, error)
}

// Lease is a resource that was won for a time. It may be used by one goroutine at a time.
type Lease interface {
	Resource() Name
	Holder() string
	// ExpiresAt is when it ends unless it is renewed.
	ExpiresAt() time.Time
	// PreviousHeldUntil is the last renewal, or the release, of the holder before; zero when none is known.
	PreviousHeldUntil() time.Time
	// Term grows with each change of holder, so that what a former one writes can be told; 0: the provider has none.
	Term() uint64
	// Renew extends the lease by its ttl. Errors: LeaseHeld when it was lost or has expired, also if nobody took it;
	// LeaseUnreachable.
	Renew(ctx context.Context) error
	// Release frees the resource for others at once. Releasing a lease that was lost does nothing and is no error.
	Release(ctx context.Context) error
}
