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

// calmAfter is how many poll intervals must pass without a turn that fails for a trouble to be over.
const calmAfter = 3

// trouble is what keeps turns from being done. The zero value: nothing does.
type trouble struct {
	err    error     // nil: a turn was stored since
	last   error     // the same, also then
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
	if time.Since(e.trouble.at) > calmAfter*e.cfg.PollInterval {
		return nil
	}
	return e.trouble.err
}

// suffer notes that a turn could not be done.
func (e *Engine) suffer(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	t := &e.trouble
	if now.Sub(t.at) > calmAfter*e.cfg.PollInterval {
		*t = trouble{since: now}
	}
	if !sameTrouble(err, t.last) {
		t.told = time.Time{}
	}
	t.err, t.last, t.at = err, err, now
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

// relieved ends a trouble, since a turn was stored. That it was there is kept: on a store that is about full, turns that fail
// and turns that succeed alternate.
func (e *Engine) relieved() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trouble.err = nil
}

// calm tells the log that the trouble which it was told of is over, once no turn has failed for a while.
func (e *Engine) calm(ctx context.Context) {
	e.mu.Lock()
	past := e.trouble
	over := past.failed > 0 && e.problem() == nil && time.Since(past.at) >= calmAfter*e.cfg.PollInterval
	if over {
		e.trouble = trouble{}
	}
	e.mu.Unlock()
	if over {
		e.log.InfoContext(ctx, "turns succeed again", slog.Int("failed", past.failed),
			slog.Duration("for", past.at.Sub(past.since).Round(time.Second)))
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
