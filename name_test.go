package jobhost_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func TestNames(t *testing.T) {
	t.Run("S-01 valid names", func(t *testing.T) {
		for _, s := range []string{"a", "0", "a.b_c-9", strings.Repeat("a", 128)} {
			got, err := jobhost.ParseName(s)
			if got != s || err != nil || !jobhost.ValidName(s) {
				t.Errorf("%q: parsed as %q, %v; valid is %v", s, got, err, jobhost.ValidName(s))
			}
		}
	})
	t.Run("S-02 invalid names", func(t *testing.T) {
		for _, s := range []string{"", "A", ".a", "-a", "_a", "a b", "a/b", strings.Repeat("a", 129)} {
			got, err := jobhost.ParseName(s)
			if got != "" || err == nil || jobhost.ValidName(s) {
				t.Errorf("%q: parsed as %q, %v; valid is %v", s, got, err, jobhost.ValidName(s))
			}
		}
	})
	t.Run("an error says what is wrong and where", func(t *testing.T) {
		for s, want := range map[string]string{
			"":                       "empty",
			strings.Repeat("a", 129): "129 characters, at most 128",
			"-a":                     `starts with '-'`,
			"aB":                     `capital 'B'`,
			"a/b":                    `'/' at character 2`,
			"job-é":                  `'é' at character 5`,
			"a\x00":                  `'\x00' at character 2`,
		} {
			if _, err := jobhost.ParseName(s); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v does not say %s", s, err, want)
			}
		}
	})
}

func TestNamesAreThoseOfTheGrammar(t *testing.T) {
	grammar := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)
	near := rapid.StringMatching(`[a-z0-9._-]{0,2}[A-Za-z0-9._ /-]{0,3}[a-z0-9.]{0,130}`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(near, rapid.String()).Draw(t, "name")
		if got, want := jobhost.ValidName(s), grammar.MatchString(s) && !strings.HasSuffix(s, "\n"); got != want {
			t.Fatalf("%q: valid is %v, want %v", s, got, want)
		}
	})
}
