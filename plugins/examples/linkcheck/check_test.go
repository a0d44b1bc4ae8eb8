package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestDeadLinksOfTheShippedHandbook(t *testing.T) {
	got, err := Check(os.DirFS("../../../examples-data/handbook"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Pages: 5, Links: 27, External: 2, DeadCount: 8, Dead: []Dead{
		{"README.md", 9, "rota.md", "there is no rota.md"},
		{"contacts.md", 11, "[the list of neighbours][neighbours]", "the page defines no [neighbours]"},
		{"guides/opening.md", 7, "deliveries.md", "there is no guides/deliveries.md"},
		{"guides/opening.md", 15, "#closing-checklist", `guides/opening.md has no heading or anchor "closing-checklist"`},
		{"guides/roasting.md", 18, "../images/drum-clean.jpg", "there is no images/drum-clean.jpg"},
		{"guides/roasting.md", 18, "../orders.md#spare parts", `orders.md has no heading or anchor "spare parts"`},
		{"orders.md", 7, "#rows-left-out", `orders.md has no heading or anchor "rows-left-out"`},
		{"orders.md", 15, "../../shared/index.md", "leads out of the folder"},
	}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

// page is checked beside a file other.md with a heading "Two words", a picture and a folder.
func page(t *testing.T, text string, ignore ...string) Result {
	t.Helper()
	r, err := Check(fstest.MapFS{
		"docs/page.md":       {Data: []byte(text)},
		"docs/other.md":      {Data: []byte("# Two words\n")},
		"docs/with space.md": {},
		"docs/a_(b).md":      {},
		"docs/deep/pic.png":  {},
		".git/notes.md":      {Data: []byte("[x](gone.md)")},
		"docs/plain.txt":     {Data: []byte("[x](gone.md)")},
	}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLinksThatLeadSomewhere(t *testing.T) {
	for _, text := range []string{
		"[a](other.md)", "[a](./other.md)", "[a](../docs/other.md)", "[a](/docs/other.md)", "[a](deep)", "[a](deep/)",
		"[a](other.md#two-words)", "[a](other.md?plain=1#two-words)", "![a](deep/pic.png)", "[a](deep/pic.png#frag)",
		"[![a](deep/pic.png)](other.md)", "[a](with%20space.md)", "[a](<with space.md>)", "[a](a_(b).md)",
		`[a](other.md "a title")`, "[a]( other.md )", "# Ümläut & Co.\n[a](#ümläut--co)", "# A `b` [c](other.md)\n[a](#a-b-c)",
		"Head\n====\n[a](#head)", "# Same\n# Same\n[a](#same-1)", "# Trailing ##\n[a](#trailing)", `<a id="here"></a> [a](#here)`,
		"[a][Some  Ref]\n\n[some ref]: other.md", "[ref][]\n\n[ref]: <with space.md>", "[a](#)",
	} {
		if r := page(t, text); r.DeadCount != 0 || r.Links == 0 {
			t.Errorf("%q: %d links, dead %+v; want some and none dead", text, r.Links, r.Dead)
		}
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	for text, want := range map[string]string{
		"[a](gone.md)":                       "there is no docs/gone.md",
		"[a](Other.md)":                      "there is no docs/Other.md",
		"[a](/other.md)":                     "there is no other.md",
		"[a](../../etc/passwd)":              "leads out of the folder",
		"[a](other.md#Two-Words)":            `docs/other.md has no heading or anchor "Two-Words"`,
		"[a](#nothing)":                      `docs/page.md has no heading or anchor "nothing"`,
		"# Same\n[a](#same-1)":               `docs/page.md has no heading or anchor "same-1"`,
		"[a](%zz)":                           "cannot be read as a link",
		"[a][b]":                             "the page defines no [b]",
		"[b]: gone.md":                       "there is no docs/gone.md",
		"```\n# In code\n```\n[a](#in-code)": `docs/page.md has no heading or anchor "in-code"`,
	} {
		r := page(t, text)
		if len(r.Dead) != 1 || r.Dead[0].Why != want || r.Dead[0].File != "docs/page.md" || r.Dead[0].Line != 1+strings.Count(text, "\n") {
			t.Errorf("%q: %+v; want one in its last line that says %q", text, r.Dead, want)
		}
	}
}

func TestWhatIsNoLink(t *testing.T) {
	for _, text := range []string{
		"`[a](gone.md)`", "`` `[a](gone.md)` ``", "```\n[a](gone.md)\n```", "~~~ text\n```\n[a](gone.md)\n~~~", "````\n```\n[a](gone.md)\n````",
		"<!-- [a](gone.md) -->", "<!--\n[a](gone.md)\n-->", "[^1]: a footnote", "- [x] done",
	} {
		if r := page(t, text); r.Links != 0 {
			t.Errorf("%q: %d links, %+v; want none", text, r.Links, r.Dead)
		}
	}
	for _, text := range []string{"```\ncode\n```\n[a](gone.md)", "<!-- c --> [a](gone.md) <!-- d -->", "a ` b [a](gone.md)"} {
		if r := page(t, text); r.DeadCount != 1 {
			t.Errorf("%q: %d dead; want the one outside of code and comments", text, r.DeadCount)
		}
	}
}

func TestExternalAndIgnoredTargetsAreCountedOnly(t *testing.T) {
	r := page(t, "[a](https://example.com/gone.md) [b](mailto:a@example.com) [c](//example.com) [d](api/v1.md) [e](api/deep/v1.md)", "api/*.md")
	want := Result{Pages: 3 + 1, Links: 5, External: 3, DeadCount: 1, Dead: []Dead{{"docs/page.md", 1, "api/deep/v1.md", "there is no docs/api/deep/v1.md"}}}
	if diff := cmp.Diff(r, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestDeadLinksAreAllCountedAndTheFirstAreListed(t *testing.T) {
	r := page(t, strings.Repeat("[a](gone.md)\n", maxListed+3))
	if r.DeadCount != maxListed+3 || len(r.Dead) != maxListed {
		t.Errorf("%d counted, %d listed; want %d and %d", r.DeadCount, len(r.Dead), maxListed+3, maxListed)
	}
}

func TestAPageThatIsTooLargeIsAnError(t *testing.T) {
	_, err := Check(fstest.MapFS{"big.md": {Data: make([]byte, maxPage+1)}}, nil)
	if err == nil || !strings.Contains(err.Error(), "big.md has 4194305 bytes") {
		t.Errorf("error %v, want one that names page and size", err)
	}
}

func TestOptions(t *testing.T) {
	got, err := ReadOptions([]byte(`{"root":"/docs","fail_on_dead":true,"ignore":["*.png"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, Options{"/docs", true, []string{"*.png"}}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	for data, want := range map[string]string{
		`{}`:                              "root is missing; want the path of a folder, such as /docs",
		`{"root":"/docs","ignore":["["]}`: `ignore has "[", which is no pattern: syntax error in pattern`,
		`{"rot":"/docs"}`:                 `the data is no JSON of the right form: json: unknown field "rot"`,
	} {
		if _, err := ReadOptions([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("data %s: error %v, want %s", data, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"[a](b)", "# h\n=\n", "```\n`", "<!--", "[a]: <b>", "[a][]", "`` ` ``"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := 1 + strings.Count(text, "\n")
		for _, l := range Parse(text).Links {
			if l.Line < 1 || l.Line > lines {
				t.Errorf("link %q is in line %d of %d", l.Target, l.Line, lines)
			}
		}
	})
}
