package engine

import "time"

// trouble is an error that kept a turn from being done, and when.
type trouble struct {
	err error
	at  time.Time
}

// Problem is why an engine that serves cannot do its work: what the store said when a turn failed. It lasts until a turn is
// stored again, or none has failed for three poll intervals. Nil means that nothing is known to be wrong.
func (e *Engine) Problem() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem()
}

// problem is Problem for a caller that holds mu.
func (e *Engine) problem() error {
	if time.Since(e.trouble.at) > 3*e.cfg.PollInterval {
		return nil
	}
	return e.trouble.err
}

// suffer notes that a turn could not be done.
func (e *Engine) suffer(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trouble = trouble{err, time.Now()}
}
