package host

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// capture keeps the head and the tail of what a guest writes to stdout, and marks the cut between them.
type capture struct {
	max   int
	head  []byte
	tail  []byte
	total int64
}

// sizes are how much is kept of the head and of the tail. With little room there is none for a mark, so the head is all.
func (c *capture) sizes() (head, tail int) {
	if c.max < 128 {
		return c.max, 0
	}
	return c.max / 2, c.max - c.max/2
}

// add takes everything and keeps at most the limit.
func (c *capture) add(p []byte) {
	c.total += int64(len(p))
	first, keep := c.sizes()
	if room := first - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > keep {
		p = p[len(p)-keep:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*keep {
		c.tail = c.tail[:copy(c.tail, c.tail[len(c.tail)-keep:])]
	}
}

// text returns what was kept, and whether that is all; nil if nothing was written. All of it is as the guest wrote it, whether
// that is text or not. Around the mark of a cut it is valid UTF-8, of at most the limit together.
func (c *capture) text() (text []byte, whole bool) {
	if c.total == 0 {
		return nil, true
	}
	_, keep := c.sizes()
	tail := c.tail[max(0, len(c.tail)-keep):]
	if int64(len(c.head)+len(tail)) == c.total {
		return slices.Concat(c.head, tail), true
	}
	if keep == 0 {
		return cut(valid(cut(c.head, c.max)), c.max), false
	}
	mark := fmt.Sprintf("\n… %d bytes cut …\n", c.total-int64(len(c.head)+len(tail)))
	room := max(0, c.max-len(mark))
	head := valid(cut(c.head, min(len(c.head), room/2)))
	head = cut(head, room/2)
	tail = cutHead(valid(cutHead(tail, room-len(head))), room-len(head))
	return cut(slices.Concat(head, []byte(mark), tail), c.max), false
}

// lines splits what a guest writes to stderr into the lines of the run's log.
type lines struct {
	sink    jobhost.RunSink
	pause   func() // called before each line; may not return
	line    []byte
	dropped int    // bytes of the current line that were not kept
	last    string // the last line that is not blank
	crash   string // the last line with which a language's runtime announces a crash
}

// take splits one piece of at most abi.MaxChunk bytes.
func (l *lines) take(p []byte) {
	for len(p) > 0 {
		l.pause()
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.add(p)
			return
		}
		l.add(p[:i])
		l.flush()
		p = p[i+1:]
	}
}

func (l *lines) add(p []byte) {
	k := min(len(p), abi.MaxLine-len(l.line))
	l.line = append(l.line, p[:k]...)
	l.dropped += len(p) - k
}

// flush ends the current line. Blank lines are no entries.
func (l *lines) flush() {
	s := string(valid(bytes.TrimRight(l.line, "\r")))
	dropped := l.dropped
	l.line, l.dropped = l.line[:0], 0
	if strings.TrimSpace(s) == "" {
		return
	}
	if dropped > 0 || len(s) > abi.MaxLine {
		mark := fmt.Sprintf(" … %d bytes cut", dropped)
		s = string(cut([]byte(s), abi.MaxLine-len(mark))) + mark
	}
	l.last = s
	if isCrash(s) {
		l.crash = s
	}
	l.sink.Log(abi.Info, s)
}

// pass hands a guest's bytes on without secrets, in pieces between which the run can end.
func (r *run) pass(p []byte, f *maskFilter, to func([]byte)) {
	var clean []byte
	for piece := range slices.Chunk(p, abi.MaxChunk) {
		r.pause()
		if f.masker != nil {
			clean = f.feed(clean[:0], piece)
			piece = clean
		}
		to(piece)
	}
}

// stdin serves the merged data from memory, so that a read never waits.
type stdin struct {
	r    *run
	data *bytes.Reader
}

// Read implements io.Reader.
func (s *stdin) Read(p []byte) (int, error) {
	s.r.check()
	return s.data.Read(p)
}

type stdout struct{ r *run }

// Write implements io.Writer.
func (s *stdout) Write(p []byte) (int, error) {
	s.r.pass(p, &s.r.stdoutMask, s.r.stdout.add)
	return len(p), nil
}

type stderr struct{ r *run }

// Write implements io.Writer.
func (s *stderr) Write(p []byte) (int, error) {
	s.r.pass(p, &s.r.stderrMask, s.r.stderr.take)
	return len(p), nil
}

// flush hands on what the streams hold back: the guest has ended.
func (r *run) flush() {
	if r.mask != nil {
		r.stdout.add(r.stdoutMask.end(nil))
		r.stderr.pause = func() {} // the run may have ended
		r.stderr.take(r.stderrMask.end(nil))
	}
	r.stderr.flush() // a last line without a newline
}

// isCrash reports whether a line is the one that says what went wrong, before a stack trace or a hint follows.
func isCrash(s string) bool {
	return strings.HasPrefix(s, "panic: ") || strings.HasPrefix(s, "fatal error: ") ||
		strings.HasPrefix(s, "thread '") && strings.Contains(s, "panicked at")
}

// message is what stderr says about a failure: the line that announces a crash, or else the last line.
func (l *lines) message() string {
	if l.crash != "" {
		return l.crash
	}
	return l.last
}

// valid returns b as valid UTF-8. Bytes that are none become replacement characters.
func valid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// cut returns at most n bytes from the start of b, without half a character at the end.
func cut(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	n = max(0, n)
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return b[:i]
		}
	}
	return b[:n]
}

// cutHead returns at most n bytes from the end of b, without half a character at the start.
func cutHead(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	b = b[len(b)-max(0, n):]
	for i := range min(utf8.UTFMax, len(b)) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
