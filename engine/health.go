package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/jobhost/jobhost"
)

// complainEvery is how often one and the same trouble is in the log. A store that is full for a night is not to bury
// everything else that the log has of it.
const complainEvery = time.Minute

// trouble is what keeps turns from being done. The zero value: nothing does.
type trouble struct {
	err    error
	since  time.Time // of the first turn that failed
	at     time.Time // of the last
	told   time.Time // when the log was last told
	failed int       // turns since the first
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
	now := time.Now()
	if e.problem() == nil {
		e.trouble = trouble{since: now}
	}
	if !sameTrouble(err, e.trouble.err) {
		e.trouble.told = time.Time{}
	}
	e.trouble.err, e.trouble.at = err, now
}

// complain notes that the loop's turn failed, and tells the log of a trouble that is new or was not told lately.
func (e *Engine) complain(ctx context.Context, err error) {
	e.suffer(err)
	e.mu.Lock()
	t := &e.trouble
	t.failed++
	tell := t.at.Sub(t.told) >= complainEvery
	if tell {
		t.told = t.at
	}
	said := *t
	e.mu.Unlock()
	switch {
	case !tell:
	case said.failed == 1:
		e.log.ErrorContext(ctx, "a turn failed", slog.Any("err", err))
	default:
		e.log.ErrorContext(ctx, "turns keep failing", slog.Int("failed", said.failed),
			slog.Duration("for", said.at.Sub(said.since).Round(time.Second)), slog.Any("err", err))
	}
}

// relieved ends a trouble, since a turn was stored, and tells the log if it was told of the trouble.
func (e *Engine) relieved(ctx context.Context) {
	e.mu.Lock()
	past := e.trouble
	e.trouble = trouble{}
	e.mu.Unlock()
	if past.failed > 0 {
		e.log.InfoContext(ctx, "turns succeed again", slog.Int("failed", past.failed),
			slog.Duration("for", time.Since(past.since).Round(time.Second)))
	}
}

// sameTrouble reports whether two errors are of one kind. Their texts may differ in figures.
func sameTrouble(a, b error) bool {
	if a == nil || b == nil {
		return false
	}
	code := jobhost.CodeOf(a)
	return code == jobhost.CodeOf(b) && (code != "" || a.Error() == b.Error())
}
