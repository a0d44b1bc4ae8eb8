package jobhosttest

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jobhost/jobhost/sdk/go/internal/standin"
	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// recorder is the host of one run, and writes down what it is told.
type recorder struct {
	*standin.Responses

	host *Host
	stop context.Context //nolint:containedctx // it is the request to stop

	mu     sync.Mutex // a handler may have goroutines, and here they are real ones
	result Result
	open   []int32 // spans, the innermost last
}

func (r *recorder) Document() ([]byte, error) {
	deadline, _ := r.stop.Deadline()
	return r.host.document(deadline)
}

func (r *recorder) Output(result []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Output = bytes.Clone(result)
}

func (r *recorder) Fail(code, message string, permanent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Code, r.result.Message, r.result.Permanent = code, message, permanent
}

func (r *recorder) Log(level int, entry string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Log = append(r.result.Log, Entry{slog.Level(level), entry})
}

func (r *recorder) Progress(done, total int64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Progress = append(r.result.Progress, Progress{done, total, message})
}

func (r *recorder) Stopping() bool { return r.stop.Err() != nil }

func (r *recorder) Left() (time.Duration, bool) {
	deadline, ok := r.stop.Deadline()
	return time.Until(deadline), ok //nolint:forbidigo // a context's deadline is an instant
}

func (r *recorder) Sleep(d time.Duration) error { return standin.Wait(r.stop, d) }

func (r *recorder) Get(key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.host.DenyKV {
		return nil, wire.Denied
	}
	return standin.Values(r.host.Values).Get(key)
}

func (r *recorder) Set(key string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.host.DenyKV {
		return wire.Denied
	}
	return standin.Values(r.host.Values).Set(key, value)
}

func (r *recorder) Delete(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.host.DenyKV {
		return wire.Denied
	}
	return standin.Values(r.host.Values).Delete(key)
}

func (r *recorder) Keys(prefix string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.host.DenyKV {
		return nil, wire.Denied
	}
	return standin.Values(r.host.Values).Keys(prefix)
}

func (r *recorder) Send(head, body []byte) (int32, error) {
	if r.stop.Err() != nil {
		return 0, wire.Ending
	}
	return r.Responses.Send(r.stop, head, body)
}

// maxSpans is the most spans of a run.
const maxSpans = 128

func (r *recorder) SpanStart(name string) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.result.Spans) == maxSpans {
		return int32(wire.Limit)
	}
	s := Span{Name: name, Attributes: map[string]string{}}
	if n := len(r.open); n > 0 {
		s.Parent = r.result.Spans[r.open[n-1]-1].Name
	}
	r.result.Spans = append(r.result.Spans, s)
	id := int32(len(r.result.Spans)) //nolint:gosec // at most maxSpans
	r.open = append(r.open, id)
	return id
}

func (r *recorder) SpanEnd(id int32, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, open := range r.open {
		if open == id {
			r.open = append(r.open[:i], r.open[i+1:]...)
			r.result.Spans[id-1].Ended, r.result.Spans[id-1].OK = true, ok
			return
		}
	}
}

func (r *recorder) SpanAttr(id int32, key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id >= 1 && int(id) <= len(r.result.Spans) && !r.result.Spans[id-1].Ended {
		r.result.Spans[id-1].Attributes[key] = value
	}
}

func (r *recorder) Event(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Events = append(r.result.Events, name)
}
