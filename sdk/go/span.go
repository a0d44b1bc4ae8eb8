package jobhost

import "context"

// Span is a part of a run that shows up in its trace.
type Span struct {
	run *Run
	id  int32
}

// Start begins a span inside the run that the context belongs to. Its parent is the innermost span that is open, so a span
// that is started last is to be ended first. A run has at most 128; those after them, and spans outside a run, are not
// traced. Spans that are open end with the run.
func Start(ctx context.Context, name string) *Span {
	r, ok := FromContext(ctx)
	if !ok {
		return &Span{}
	}
	return &Span{r, r.host.SpanStart(name)}
}

// Set adds what is to be known about the span.
func (s *Span) Set(key, value string) {
	if s.run != nil {
		s.run.host.SpanAttr(s.id, key, value)
	}
}

// End ends the span, as a failure when err is not nil.
func (s *Span) End(err error) {
	if s.run == nil {
		return
	}
	if err != nil {
		s.Set("error.message", err.Error())
	}
	s.run.host.SpanEnd(s.id, err == nil)
	s.run = nil
}

// Event marks an instant on the innermost span that is open.
func Event(ctx context.Context, name string) {
	if r, ok := FromContext(ctx); ok {
		r.host.Event(name)
	}
}
