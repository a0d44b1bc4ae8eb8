package host

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternsAreHidden(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
		patterns         []string
	}{
		{"none", "abc", "abc", []string{"x"}},
		{"one", "my abc is", "my *** is", []string{"abc"}},
		{"twice in a row", "abcabc", "******", []string{"abc"}},
		{"one after another", "baa", "******", []string{"aa", "b"}},
		{"the longer one", "abcd", "***", []string{"abc", "abcd"}},
		{"the longer one, which begins earlier", "zabcd", "***", []string{"abc", "zabcd"}},
		{"one that only began", "abab", "abab", []string{"abac"}},
		{"after one that only began", "ababac", "ab***", []string{"abac"}},
		{"overlapping", "abcde", "***", []string{"abc", "cde"}},
		{"inside one that only began", "xabcy", "x***y", []string{"abc", "xabcz"}},
		{"at the end", "... abc", "... ***", []string{"abc"}},
		{"bytes", "a\xff\x00b", "a***b", []string{"\xff\x00"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := newMasker(test.patterns).mask([]byte(test.text)); string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAMaskerOfNothingIsNone(t *testing.T) {
	m := newMasker([]string{""})
	if m != nil || string(m.mask([]byte("text"))) != "text" || m.reach() != 0 {
		t.Errorf("got %+v", m)
	}
}

// The automaton hides what a search for each pattern at each place finds, in whatever pieces the text comes.
func TestMaskingAgreesWithASearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[ab]{1,6}`)
		patterns := rapid.SliceOfN(word, 1, 5).Draw(rt, "patterns")
		text := rapid.StringMatching(`[abc]{0,60}`).Draw(rt, "text")
		m := newMasker(patterns)
		want := search(text, patterns)
		if got := m.mask([]byte(text)); string(got) != want {
			rt.Fatalf("mask(%q) is %q, want %q", text, got, want)
		}
		f := maskFilter{masker: m}
		var got []byte
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			got = f.feed(got, rest[:n])
			if rapid.Bool().Draw(rt, "settle") {
				got = f.settle(got, len(f.held)-int(m.nodes[f.at].depth))
			}
			rest = rest[n:]
		}
		if got = f.end(got); string(got) != want {
			rt.Fatalf("in pieces %q is %q, want %q", text, got, want)
		}
	})
}

// search is masking by hand: what is found at any place, joined where it overlaps.
func search(text string, patterns []string) string {
	var found []span
	for i := range text {
		for _, p := range patterns {
			if strings.HasPrefix(text[i:], p) {
				found = append(found, span{i, i + len(p)})
			}
		}
	}
	var b strings.Builder
	at := 0
	for len(found) > 0 {
		s := found[0]
		for found = found[1:]; len(found) > 0 && found[0].from < s.to; found = found[1:] {
			s.to = max(s.to, found[0].to)
		}
		b.WriteString(text[at:s.from] + hidden)
		at = s.to
	}
	return b.String() + text[at:]
}

// Text that is made of nearly the secret, over and over, is the worst case of a naive search.
func TestMaskingHoldsBackNoMoreThanAPattern(t *testing.T) {
	secret := strings.Repeat("a", 4<<10) + "b"
	f := maskFilter{masker: newMasker([]string{secret})}
	text := bytes.Repeat([]byte("a"), 1<<20)
	var got []byte
	for piece := range bytesIn(text, 1000) {
		got = f.feed(got, piece)
		if len(f.held) > len(secret)+5<<10 {
			t.Fatalf("%d bytes are held back", len(f.held))
		}
	}
	got = f.end(f.feed(got, []byte("b")))
	if want := len(text) - (len(secret) - 1) + len(hidden); len(got) != want {
		t.Errorf("got %d bytes, want %d", len(got), want)
	}
}

func bytesIn(b []byte, n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

func BenchmarkNewMasker(b *testing.B) {
	for name, secret := range map[string]string{"token": "s3cr3t-token-of-an-api-of-40-characters!", "key": strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ/+\n", 50)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newMasker(forms(secret))
			}
		})
	}
}

func BenchmarkMask(b *testing.B) {
	text := bytes.Repeat([]byte("an ordinary line of a log, with nothing in it\n"), 1000)
	m := newMasker(forms("s3cr3t-token-of-an-api"))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.mask(text)
	}
}
