package jobhost

import (
	"context"
	"sync"
	"time"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// lookAgain is how often a waiting guest asks whether it should stop.
const lookAgain = 100 * time.Millisecond

// watch returns the context of a run, and what ends it. It has the run's deadline and is cancelled, with [ErrStopped] as its
// cause, once the run is asked to stop: at the next call of Err, or within lookAgain while the guest waits in Go. A guest
// that computes without either is not told.
func watch(ctx context.Context, h wire.Host) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := func() {}
	if left, limited := h.Left(); limited {
		ctx, release = context.WithTimeout(ctx, left)
	}
	poll := func() {
		if h.Stopping() {
			cancel(ErrStopped)
		}
	}
	poll()
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for ctx.Err() == nil {
			wait, done := context.WithTimeout(ctx, lookAgain)
			<-wait.Done()
			done()
			poll()
		}
	})
	return asking{ctx, poll}, func() {
		cancel(nil)
		release()
		watcher.Wait()
	}
}

// asking is a context that asks the host before it says that all is well.
type asking struct {
	context.Context //nolint:containedctx // it is one

	poll func()
}

// Err implements [context.Context].
func (c asking) Err() error {
	c.poll()
	return c.Context.Err()
}

// Sleep waits, and returns the cause of the context's end if that comes first. It holds up all goroutines; where others have
// something to do, wait for a timer instead.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r, ok := FromContext(ctx)
	if !ok {
		wait, done := context.WithTimeout(ctx, d)
		defer done()
		<-wait.Done()
		return ended(ctx)
	}
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline)+time.Millisecond) //nolint:forbidigo // a context's deadline is an instant
	}
	err := r.host.Sleep(d)
	if cause := ended(ctx); cause != nil {
		return cause
	}
	return err
}

// ended is why the context is over; nil while it is not.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
