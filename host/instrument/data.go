package instrument

import (
	"cmp"
	"slices"
	"sort"
)

// dataSegment is a data segment. An active one is written when the module is instantiated.
type dataSegment struct {
	passive bool
	known   bool   // active, and its offset is a constant
	offset  uint32 // if known
	expr    []byte // the offset as an expression, if not
	data    []byte
}

func (s *dataSegment) end() uint64 { return uint64(s.offset) + uint64(len(s.data)) }

// readData checks the data segments.
func (m *module) readData(r *reader) {
	n := r.count("data segments", 2, maxSegments)
	m.segments = make([]dataSegment, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		m.segments = append(m.segments, m.dataSegment(r))
	}
}

// writeData writes the data segments, merged when that is on.
func (m *module) writeData() {
	segments := m.segments
	if m.cfg.has(Merge) && m.mergeable() {
		segments = m.merge()
		if m.cfg.Image > 0 {
			m.image = takeImage(segments, m.cfg.Image, 2*len(m.bin))
		}
	}
	m.stats.SegmentsBefore, m.stats.SegmentsAfter = len(m.segments), len(segments)
	if m.segments == nil {
		return
	}
	v := m.vec(sectionData)
	v.n = len(segments)
	for i := range segments {
		v.b = segments[i].write(v.b)
	}
}

func (m *module) dataSegment(r *reader) (s dataSegment) {
	at := r.at
	switch flags := r.u32(); {
	case r.err != nil:
		return s
	case flags == 1:
		s.passive = true
	case flags == 2:
		if memory := r.u32(); memory != 0 {
			r.refuse(at, multiMemory, "a data segment for another memory")
		}
	case flags != 0:
		r.failAt(at, Malformed, "a data segment has the unknown flags %#x", flags)
	}
	if !s.passive {
		if r.err == nil && m.memories == 0 {
			r.failAt(at, Malformed, "a data segment is for a memory, and there is none")
		}
		s.offset, s.known = place(*r)
		s.expr = m.constant(r, nil)
	}
	s.data = r.take(r.u32())
	return s
}

func (s *dataSegment) write(out []byte) []byte {
	switch {
	case s.passive:
		out = append(out, 1)
	case s.known:
		out = append(sleb(append(out, 0, opI32Const), int64(int32(s.offset))), opEnd)
	default:
		out = append(append(out, 0), s.expr...)
	}
	return append(uleb(out, uint32(len(s.data))), s.data...)
}

// mergeable reports whether merging cannot be told from not merging. The memory must be the module's own, so that it is
// empty at first and nobody sees it if the module cannot be instantiated. Each segment with a known offset must fit, else
// the module cannot be, with an error that names a segment. And no memory.init may name an active segment: it counts as
// dropped by then, but not every runtime agrees.
func (m *module) mergeable() bool {
	size := uint64(m.pages) << 16
	return m.ownMemory && !m.initsActive &&
		!slices.ContainsFunc(m.segments, func(s dataSegment) bool { return s.known && s.end() > size })
}

// maxGap is how many zeros may stand between two segments that become one.
const maxGap = 64

// merge makes few segments of many. Segments whose offset is not known stay where they are among the active ones, since
// they may overlap those before and behind them.
func (m *module) merge() []dataSegment {
	merged := merger{gap: maxGap, spare: 2 * len(m.bin)}
	m.newSegments = make([]uint32, len(m.segments))
	for i, s := range m.segments {
		switch {
		case s.passive:
			merged.out = append(merged.out, s)
			m.newSegments[i] = uint32(len(merged.out) - 1)
		case s.known:
			merged.group = append(merged.group, s)
		default:
			merged.flush()
			merged.gap = 0 // from here on the memory between segments may not be zero any more
			merged.out = append(merged.out, s)
		}
	}
	merged.flush()
	// To drop an active segment changes nothing; one stands for all of them.
	active := slices.IndexFunc(merged.out, func(s dataSegment) bool { return !s.passive })
	for i, s := range m.segments {
		if !s.passive {
			m.newSegments[i] = uint32(active)
		}
	}
	return merged.out
}

type merger struct {
	out   []dataSegment
	group []dataSegment // with known offsets, in order, not yet merged
	gap   int           // how many zeros may be filled in between two of them
	spare int           // how many in all
}

// flush merges the group.
func (g *merger) flush() {
	if len(g.group) == 0 {
		return
	}
	first := len(g.out)
	for _, s := range g.sorted() {
		if n := len(g.out); n > first {
			last := &g.out[n-1]
			gap := int(int64(s.offset) - int64(last.end()))
			if gap <= min(g.gap, g.spare) {
				g.spare -= max(gap, 0)
				// Its bytes come later, so that overlapping ones end up in the right order.
				last.data = grown(last.data, gap+len(s.data))
				continue
			}
		}
		g.out = append(g.out, dataSegment{known: true, offset: s.offset, data: grown(nil, len(s.data))})
	}
	runs := g.out[first:]
	for _, s := range g.group {
		i := sort.Search(len(runs), func(i int) bool { return runs[i].offset > s.offset }) - 1
		if len(s.data) > 0 {
			copy(runs[i].data[s.offset-runs[i].offset:], s.data)
		}
	}
	if len(runs) == 0 { // all are empty; one is kept for those who name them
		g.out = append(g.out, g.group[0])
	}
	g.group = g.group[:0]
}

// sorted returns the segments of the group that are not empty, by offset.
func (g *merger) sorted() []dataSegment {
	sorted := slices.DeleteFunc(slices.Clone(g.group), func(s dataSegment) bool { return len(s.data) == 0 })
	slices.SortStableFunc(sorted, func(a, b dataSegment) int { return cmp.Compare(a.offset, b.offset) })
	return sorted
}

// grown makes b longer by n zero bytes; it stays as it is if n is not positive.
func grown(b []byte, n int) []byte { return append(b, make([]byte, max(n, 0))...) }

func (m *module) readDataCount(r *reader) {
	at := r.at
	if n := r.u32(); r.err == nil && uint64(n) != uint64(len(m.segments)) {
		r.failAt(at, Malformed, "%d data segments are announced, but there are %d", n, len(m.segments))
	}
	m.dataCount = true
}

// segmentIndex is the index of a data segment after merging.
func (m *module) segmentIndex(segment uint32) uint32 {
	if m.newSegments == nil {
		return segment
	}
	return m.newSegments[segment]
}
