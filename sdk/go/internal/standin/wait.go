package standin

import (
	"context"
	"time"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// Wait waits as a host does: until d is over, or the run is asked to stop.
func Wait(stop context.Context, d time.Duration) error {
	wait, done := context.WithTimeout(stop, d)
	defer done()
	<-wait.Done()
	if stop.Err() != nil {
		return wire.Ending
	}
	return nil
}
