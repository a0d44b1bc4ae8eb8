package config

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternsThatAreTooLargeAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	const many = "the patterns of a schema may take 100000 instructions in all; use smaller repetitions, or fewer patterns"
	each := func(form string) string {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ schema, want string }{
		"one pattern":        {`{"pattern":"` + strings.Repeat("x{1000}", 500) + `"}`, many},
		"nested repetitions": {`{"properties":{"a":{"pattern":"((x{1,10}){1,10}){1,10}((y{10}){10}){0,10}((z{100}y{100}x{100}w{900}){0,1}){0,1}` + strings.Repeat("v{1000}", 100) + `"}}}`, many},
		"many patterns":      {`{"allOf":[` + each(`{"pattern":"x{1000}%d"},`) + `{}]}`, many},
		"keys":               {`{"patternProperties":{` + each(`"x{1000}%d":{},`) + `"y":{}}}`, "is not of the form that the schema wants"},
		"names of keys":      {`{"propertyNames":{"allOf":[` + each(`{"pattern":"x{1000}%d"},`) + `{}]}}`, many},
		"large classes":      {`{"allOf":[` + each(`{"pattern":"`+strings.Repeat(`\\pL\\pN1`, 30)+`%d"},`) + `{}]}`, many},
		"below a reference":  {`{"$ref":"#/x/0","x":[{"pattern":"` + strings.Repeat("x{1000}", 500) + `"}]}`, many},
		"a long one":         {`{"pattern":"` + strings.Repeat("x", maxPattern+1) + `"}`, "it has 4097 bytes; at most 4096 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSchema([]byte(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 10_000 {
				t.Errorf("got %.500v", err)
			}
		})
	}
}

func TestAPatternIsCompiledOnce(t *testing.T) {
	s := newTestSchema(t, `{"properties":{"a":{"pattern":"^x{900}$"},"b":{"pattern":"^x{900}$"}},"patternProperties":{"^x{900}$":true}}`)
	left := s.expressions.left
	if spent := maxInstructions - left; spent < 900 || spent > 3_000 {
		t.Errorf("it took %d instructions", spent)
	}
	for range 200 { // more than a schema could pay for
		c, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		s.free.Put(c)
	}
	if s.expressions.left != left {
		t.Error("a further check pays for the patterns again")
	}
}

func TestTheEstimateOfAPatternIsNotTooSmall(t *testing.T) {
	alphabet := []string{"x", "ä", ".", "[a-f]", `\pL`, "(?i:k)", "(", ")", "(?:", ")", "|", "*", "+?", "?", "{3}", "{2,}", "{0,4}", "{1,7}", "{0}", "^", "$", `\b`}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 14).Draw(t, "pattern"), "")
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Skip("it is no pattern")
		}
		size, _ := estimate(re)
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(prog.Inst); size+4 < n || size > 8*n+64 {
			t.Fatalf("%q takes %d instructions, and %d were estimated", text, n, size)
		}
	})
}
