package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Text of jobs and plugins can hold what steers a terminal: escape sequences, the C1 controls that are sequences in one
// character, and characters that turn the direction of writing and so hide what stands there.

// steers reports whether a character does something to a terminal instead of standing on it. Tabs and line feeds do not
// count.
func steers(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL and C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embedding, override and isolation
		return true
	case r == 0x200e, r == 0x200f, r == 0x061c: // marks of direction
		return true
	case r == 0x2028, r == 0x2029: // separators of lines and paragraphs
		return true
	}
	return false
}

// visible writes what steers a terminal, and bytes that are no text, as a Go string literal has them: \x1b, \u202e.
func visible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, steers) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1, steers(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case steers(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// oneLine is visible text on one line.
func oneLine(s string) string {
	return visible(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, strings.TrimSpace(s)))
}

// terminal reports whether somebody may look at what is written to w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// writeGuest writes what a plugin returned: the very bytes, but on a terminal visible text in whole lines.
func writeGuest(w io.Writer, b []byte) error {
	if terminal(w) && len(b) > 0 {
		b = []byte(strings.TrimSuffix(visible(string(b)), "\n") + "\n")
	}
	_, err := w.Write(b)
	return err
}

// harmless writes JSON whose strings have no character that steers a terminal: each is written as an escape, which means
// the same.
type harmless struct{ w io.Writer }

// Write implements io.Writer. A JSON encoder writes whole values.
func (h harmless) Write(p []byte) (int, error) {
	q := p
	if bytes.ContainsFunc(p, steers) {
		var b bytes.Buffer
		for _, r := range string(p) {
			if steers(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		q = b.Bytes()
	}
	if _, err := h.w.Write(q); err != nil {
		return 0, err
	}
	return len(p), nil
}
