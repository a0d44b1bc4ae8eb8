package jobhost

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// RunID names a run: 48 bits of Unix milliseconds followed by 80 random bits, as 32 lower-case hexadecimal digits. It
// is also the trace id of the run's own trace (SPEC 2). Ids are no order: an enqueued run's id predates its start.
type RunID string

// NewRunID makes an id for now out of ten random bytes. An all-zero span id is not valid in a trace; the caller draws
// again in the unlikely case that the last eight bytes are zero.
func NewRunID(now time.Time, random [10]byte) RunID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	copy(b[6:], random[:])
	return RunID(hex.EncodeToString(b[:]))
}

// ParseRunID returns s as an id when it has the form of one.
func ParseRunID(s string) (RunID, error) {
	if len(s) == 32 {
		if b, err := hex.DecodeString(s); err == nil && hex.EncodeToString(b) == s {
			return RunID(s), nil
		}
	}
	return "", fmt.Errorf("%q is no run id; want 32 lower-case hexadecimal digits", s)
}

// MinRunPrefix is how many digits of a run id must be there at least for it to be looked up. They tell runs of one minute
// from those of others.
const MinRunPrefix = 8

// ParseRunPrefix returns s when it has the form of a run id or of its beginning, of at least [MinRunPrefix] digits.
func ParseRunPrefix(s string) (string, error) {
	if len(s) >= MinRunPrefix && len(s) <= 32 && strings.Trim(s, "0123456789abcdef") == "" {
		return s, nil
	}
	return "", fmt.Errorf("%q is no run id; want 32 lower-case hexadecimal digits, or at least the first %d of them", s, MinRunPrefix)
}

// FindRunID returns the id that text stands for: text itself when it is whole, or else the only one that begins with it,
// of the runs that s knows. Errors: NotFoundRun, InvalidDefinition for the beginning of several; what else asking s gives.
func FindRunID(ctx context.Context, s Scheduler, text string) (RunID, error) {
	if id, err := ParseRunID(text); err == nil {
		return id, nil
	}
	const shown = 3
	var runs []Run
	if _, err := ParseRunPrefix(text); err == nil {
		if runs, err = s.Runs(ctx, RunQuery{Prefix: text, Limit: shown}); err != nil {
			return "", err
		}
	}
	switch len(runs) {
	case 0:
		return "", &Error{
			Code: NotFoundRun, Msg: fmt.Sprintf("run %q does not exist", text), Hint: "see jobhost run ls",
			Params: map[string]any{"run": text},
		}
	case 1:
		return runs[0].ID, nil
	}
	n, err := s.CountRuns(ctx, RunQuery{Prefix: text})
	if err != nil {
		return "", err
	}
	first := make([]string, len(runs))
	for i := range runs {
		first[i] = string(runs[i].ID)
	}
	msg := fmt.Sprintf("%d runs begin with %q: %s", n, text, strings.Join(first, ", "))
	if n > len(first) {
		msg += ", …"
	}
	return "", &Error{
		Code: InvalidDefinition, Msg: msg, Hint: "give more digits of the id", Params: map[string]any{"run": text, "count": n},
	}
}

// SpanID is the id of the root span of the run's trace: the id's last 16 digits.
func (id RunID) SpanID() string { return string(id[len(id)-16:]) }

// Traceparent is the W3C trace context of the run's root span.
func (id RunID) Traceparent(sampled bool) string {
	flags := "00"
	if sampled {
		flags = "01"
	}
	return "00-" + string(id) + "-" + id.SpanID() + "-" + flags
}
