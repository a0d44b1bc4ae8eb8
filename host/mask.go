package host

import (
	"slices"
	"unicode/utf8"
)

// hidden stands where a secret stood.
const hidden = "***"

// masker finds patterns in text in one pass, whatever the text: it is the automaton of Aho and Corasick. It does not change
// once it is built.
type masker struct {
	nodes   []maskNode
	starts  [256]bool // bytes that a pattern begins with
	longest int       // bytes of the longest pattern
}

// maskNode is a prefix of a pattern.
type maskNode struct {
	child, sibling int32 // 0: none
	fail           int32 // the longest proper suffix that is a prefix of a pattern, too
	depth          int32 // bytes of the prefix
	match          int32 // bytes of the longest pattern that ends here; 0: none
	label          byte
}

// newMasker returns a masker of patterns; nil when there is none. Empty patterns count for nothing.
func newMasker(patterns []string) *masker {
	m := &masker{nodes: make([]maskNode, 1)}
	for _, p := range patterns {
		m.add(p)
	}
	if len(m.nodes) == 1 {
		return nil
	}
	m.link()
	return m
}

func (m *masker) add(pattern string) {
	if pattern == "" {
		return
	}
	at := int32(0)
	for i := range len(pattern) {
		c := pattern[i]
		next := m.below(at, c)
		if next == 0 {
			next = int32(len(m.nodes)) //nolint:gosec // secrets are bounded, and so are their forms
			m.nodes = append(m.nodes, maskNode{label: c, depth: m.nodes[at].depth + 1, sibling: m.nodes[at].child})
			m.nodes[at].child = next
		}
		at = next
	}
	m.nodes[at].match = m.nodes[at].depth
	m.starts[pattern[0]] = true
	m.longest = max(m.longest, len(pattern))
}

// below returns the child of a node for a byte; 0: none.
func (m *masker) below(at int32, c byte) int32 {
	n := m.nodes[at].child
	for n != 0 && m.nodes[n].label != c {
		n = m.nodes[n].sibling
	}
	return n
}

// link fills in where to go on when a prefix does, breadth first.
func (m *masker) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for n := m.nodes[at].child; n != 0; n = m.nodes[n].sibling {
			queue = append(queue, n)
			if at != 0 {
				m.nodes[n].fail = m.step(m.nodes[at].fail, m.nodes[n].label)
			}
			m.nodes[n].match = max(m.nodes[n].match, m.nodes[m.nodes[n].fail].match)
		}
	}
}

// step returns the longest prefix of a pattern that the text read so far ends with, after one more byte.
func (m *masker) step(at int32, c byte) int32 {
	for {
		if n := m.below(at, c); n != 0 {
			return n
		}
		if at == 0 {
			return 0
		}
		at = m.nodes[at].fail
	}
}

// reach is how many bytes more than a limit must be looked at, so that a pattern is found whose end is beyond the limit.
func (m *masker) reach() int {
	if m == nil {
		return 0
	}
	return m.longest + utf8.UTFMax // a cut may fall into a character
}

// mask returns text with patterns hidden. Patterns that overlap are hidden as one, wherever the text is cut into pieces. A nil masker hides nothing.
func (m *masker) mask(text []byte) []byte {
	if m == nil {
		return text
	}
	f := maskFilter{masker: m}
	return f.end(f.feed(make([]byte, 0, len(text)), text))
}

// maskFilter hides patterns in a stream. It holds back what may be the beginning of one.
type maskFilter struct {
	*masker

	at    int32
	held  []byte
	cover []span // what is to be hidden in held, in order and apart from each other
	said  bool   // the first of cover is at the start, and has been written already
}

// span is a part of held, from its first byte to the one after its last.
type span struct{ from, to int }

// feed adds text and appends to dst what is settled.
func (f *maskFilter) feed(dst, text []byte) []byte {
	for len(text) > 0 {
		if f.at == 0 && len(f.held) == 0 {
			n := slices.IndexFunc(text, func(c byte) bool { return f.starts[c] })
			if n < 0 {
				return append(dst, text...)
			}
			dst, text = append(dst, text[:n]...), text[n:]
		}
		f.at = f.step(f.at, text[0])
		f.held = append(f.held, text[0])
		text = text[1:]
		node := f.nodes[f.at]
		if node.match > 0 {
			f.hide(span{len(f.held) - int(node.match), len(f.held)})
		}
		if settled := len(f.held) - int(node.depth); settled == len(f.held) || settled > 4<<10 {
			dst = f.settle(dst, settled)
		}
	}
	return dst
}

// end appends what was held back.
func (f *maskFilter) end(dst []byte) []byte {
	f.at = 0
	return f.settle(dst, len(f.held))
}

// hide notes that a part of held, which ends with it, is to be hidden.
func (f *maskFilter) hide(s span) {
	for n := len(f.cover); n > 0 && f.cover[n-1].to > s.from; n-- {
		s.from = min(s.from, f.cover[n-1].from)
		f.cover = f.cover[:n-1]
	}
	f.cover = append(f.cover, s)
}

// settle writes the first n bytes of held, of which no pattern can begin any more.
func (f *maskFilter) settle(dst []byte, n int) []byte {
	at, rest := 0, f.cover[:0]
	said := false
	for _, s := range f.cover {
		written := f.said && s.from == 0
		if s.from >= n && !written {
			rest = append(rest, span{s.from - n, s.to - n})
			continue
		}
		if !written {
			dst = append(append(dst, f.held[at:s.from]...), hidden...)
		}
		at = min(s.to, n)
		if s.to > n {
			rest = append(rest, span{0, s.to - n})
			said = true
		}
	}
	dst = append(dst, f.held[at:n]...)
	f.held = f.held[:copy(f.held, f.held[n:])]
	f.cover, f.said = rest, said
	return dst
}
