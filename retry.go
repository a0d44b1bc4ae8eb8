package jobhost

import (
	"fmt"
	"time"
)

// RetryPolicy says whether and when a failed run is tried again (SPEC 17). Build it with [FixedRetry] or
// [ExponentialRetry].
type RetryPolicy struct {
	MaxRetries  int           // further runs after the first failure, 1 to 100
	Delay       time.Duration // wait before the first retry, up to 720h
	Exponential bool          // double the wait before each further retry
	MaxDelay    time.Duration // bound of exponential waits, up to 720h; 0: only the general one
}

// FixedRetry waits delay before each of at most maxRetries retries.
func FixedRetry(maxRetries int, delay time.Duration) (RetryPolicy, error) {
	p := RetryPolicy{MaxRetries: maxRetries, Delay: delay}
	return p, p.Check()
}

// ExponentialRetry waits delay before the first retry and twice as long before each further one, at most maxDelay.
func ExponentialRetry(maxRetries int, delay, maxDelay time.Duration) (RetryPolicy, error) {
	p := RetryPolicy{MaxRetries: maxRetries, Delay: delay, Exponential: true, MaxDelay: maxDelay}
	if maxDelay == 0 {
		return p, fmt.Errorf("max_delay is 0; want more than 0 and at most %v, or leave it out", TimeoutLimit)
	}
	return p, p.Check()
}

// Check reports the first value that is out of its range.
func (p RetryPolicy) Check() error {
	switch {
	case p.MaxRetries < 1 || p.MaxRetries > 100:
		return fmt.Errorf("max_retries is %d; want 1 to 100, or no retry at all", p.MaxRetries)
	case p.Delay <= 0 || p.Delay > TimeoutLimit:
		return fmt.Errorf("delay is %v; want more than 0 and at most %v", p.Delay, TimeoutLimit)
	case p.MaxDelay < 0 || p.MaxDelay > TimeoutLimit:
		return fmt.Errorf("max_delay is %v; want more than 0 and at most %v", p.MaxDelay, TimeoutLimit)
	}
	return nil
}

// DelayFor is the wait before retry n, counted from 1. It is never more than 720h.
func (p RetryPolicy) DelayFor(n int) time.Duration {
	limit := TimeoutLimit
	if p.Exponential && p.MaxDelay > 0 {
		limit = min(limit, p.MaxDelay)
	}
	d := p.Delay
	for i := 1; p.Exponential && i < n && d < limit; i++ {
		d *= 2 // cannot overflow: both factors are at most 720h
	}
	return min(d, limit)
}
