package jobhost

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
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
