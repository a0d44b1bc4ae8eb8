package host

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// spanFunctions let a guest say what it does as spans of its run's trace, without any SDK.
var spanFunctions = []hostFunction{
	{abi.FuncSpanStart, i32s(2), i32s(1), spanStart},
	{abi.FuncSpanEnd, i32s(2), nil, spanEnd},
	{abi.FuncSpanAttr, i32s(5), nil, spanAttr},
	{abi.FuncEvent, i32s(2), nil, spanEvent},
}

// spans are those that a guest has opened. Ids are counted also when nothing is traced, so that a guest behaves the same.
type spans struct {
	root    jobhost.Span
	started int32
	open    []openSpan // the innermost one last
	bytes   int        // of attributes and events, at most abi.MaxSpanBytes
}

type openSpan struct {
	id   int32
	span jobhost.Span
}

// newSpans returns the spans below that of a call.
func newSpans(call jobhost.Call) spans {
	if call.Span == nil {
		return spans{root: untraced(call.Traceparent)}
	}
	return spans{root: call.Span}
}

// innermost is the parent of whatever begins now.
func (s *spans) innermost() jobhost.Span {
	if n := len(s.open); n > 0 {
		return s.open[n-1].span
	}
	return s.root
}

// find returns where the span of an id is among the open ones; -1: nowhere.
func (s *spans) find(id int32) int {
	return slices.IndexFunc(s.open, func(o openSpan) bool { return o.id == id })
}

// room reports whether so many bytes more may be kept, and counts them.
func (s *spans) room(n int) bool {
	if s.bytes+n > abi.MaxSpanBytes {
		return false
	}
	s.bytes += n
	return true
}

// end ends what the guest left open, from the inside out.
func (s *spans) end(ok bool) {
	for _, o := range slices.Backward(s.open) {
		o.span.End(ok)
	}
	s.open = nil
}

func spanStart(r *run, m api.Module, s []uint64) {
	view, ok := m.Memory().Read(api.DecodeU32(s[0]), api.DecodeU32(s[1]))
	switch {
	case !ok:
		s[0] = errno(abi.BadArgument)
		return
	case r.spans.started >= abi.MaxSpans:
		s[0] = errno(abi.Limit)
		return
	}
	r.spans.started++
	name := orDefault(r.clean(view, abi.MaxSpanText), "span")
	r.spans.open = append(r.spans.open, openSpan{r.spans.started, r.spans.innermost().Child(name)})
	s[0] = api.EncodeI32(r.spans.started)
}

func spanEnd(r *run, _ api.Module, s []uint64) {
	if i := r.spans.find(api.DecodeI32(s[0])); i >= 0 {
		r.spans.open[i].span.End(api.DecodeU32(s[1]) != 0)
		r.spans.open = slices.Delete(r.spans.open, i, i+1)
	}
}

func spanAttr(r *run, m api.Module, s []uint64) {
	key := r.text(m, abi.FuncSpanAttr, s[1], s[2], abi.MaxSpanText)
	value := r.text(m, abi.FuncSpanAttr, s[3], s[4], abi.MaxSpanValue)
	if i := r.spans.find(api.DecodeI32(s[0])); i >= 0 && key != "" && r.spans.room(len(key)+len(value)) {
		r.spans.open[i].span.SetAttribute(key, value)
	}
}

func spanEvent(r *run, m api.Module, s []uint64) {
	name := r.text(m, abi.FuncEvent, s[0], s[1], abi.MaxSpanText)
	if r.spans.room(len(name) + eventOverhead) {
		r.spans.innermost().Event(orDefault(name, "event"))
	}
}

// eventOverhead is what an event costs beside its name, roughly. It bounds how many there are.
const eventOverhead = 64

// untraced is a span of a run that has no trace. Its text is the W3C trace context that the run was given, mostly none.
type untraced string

var _ jobhost.Span = untraced("")

func (u untraced) Child(string) jobhost.Span { return u }
func (untraced) SetAttribute(string, string) {}
func (untraced) Event(string)                {}
func (untraced) End(bool)                    {}
func (u untraced) Traceparent() string       { return string(u) }
