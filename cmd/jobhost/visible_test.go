package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func TestWhatSteersATerminalIsVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, 中文 and émoji 👩‍🚀\n\tin lines": "plain text, 中文 and émoji 👩‍🚀\n\tin lines",
		"a\x1b[2Jb":               `a\x1b[2Jb`,
		"a\u009b2Jb":              `a\u009b2Jb`,
		"user\u202etxt.exe":       `user\u202etxt.exe`,
		"\u2066x\u2069\u200f":     `\u2066x\u2069\u200f`,
		"bell\a, \x7f, \u2028":    `bell\x07, \x7f, \u2028`,
		"no text: \xff\x9b, \xc3": `no text: \xff\x9b, \xc3`,
		"\uFFFD stays":            "\uFFFD stays",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestNothingThatSteersIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		if got := visible(s); !utf8.ValidString(got) || strings.ContainsFunc(got, steers) {
			t.Errorf("visible(%q) is %q", s, got)
		}
		if got := oneLine(s); strings.ContainsAny(got, "\n\t") {
			t.Errorf("oneLine(%q) is %q", s, got)
		}
		if !utf8.ValidString(s) {
			return
		}
		var out strings.Builder
		if err := (&cli{out: &out}).encoder().Encode([]string{s}); err != nil {
			t.Fatal(err)
		}
		var back []string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || len(back) != 1 || back[0] != s || strings.ContainsFunc(out.String(), steers) {
			t.Errorf("JSON of %q is %q, and means %q, %v", s, out.String(), back, err)
		}
	})
}

func TestTablesTakeNoOrdersFromWhatTheyShow(t *testing.T) {
	var out strings.Builder
	c := &cli{out: &out}
	if err := writeList(c, asTable, []string{"a\x1b[2Jb\nc\td\u009b\u202e", ""}, "NAME", func(s string) []string { return []string{s} }); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "NAME\n"+`a\x1b[2Jb c d\u009b\u202e`+"\n-\n" {
		t.Errorf("got %q", got)
	}
}

func TestErrorsTakeNoOrdersFromWhatTheyTell(t *testing.T) {
	var said strings.Builder
	(&cli{err: &said}).report(&jobhost.Error{Code: jobhost.Unexpected, Msg: "the guest says \x1b]0;you\a\u202e"})
	if got := said.String(); got != `jobhost: the guest says \x1b]0;you\x07\u202e (SCHEDULING_UNEXPECTED_001)`+"\n" {
		t.Errorf("got %q", got)
	}
}

func TestOutputIsExactUnlessATerminalShowsIt(t *testing.T) {
	const out = "a\x1b\u009b\xff\n"
	var b strings.Builder
	if err := writeGuest(&b, []byte(out)); err != nil || b.String() != out {
		t.Errorf("written is %q, %v", b.String(), err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if terminal(w) {
		t.Error("a pipe passes for a terminal")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
