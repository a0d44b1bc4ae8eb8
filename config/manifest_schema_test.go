package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jobhost/jobhost"
)

func newTestSchema(t *testing.T, doc string) *schema {
	t.Helper()
	s, err := newSchema([]byte(doc))
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return s
}

func TestAFaultIsSaidByPointerValueAndRule(t *testing.T) {
	const tagged = `{"oneOf":[{"properties":{"k":{"const":"x"},"v":{"type":"integer"}},"required":["k","v"]},{"properties":{"k":{"const":"y"}},"required":["k"]}]}`
	for _, c := range []struct{ schema, data, want, part string }{
		{`{}`, `{"a":1}`, "", ""},
		{`{"required":["a","b"]}`, `{}`, `the data lacks "a", "b"`, ""},
		{`{"properties":{"a":{"required":["b"]}}}`, `{"a":{}}`, `/a lacks "b"`, `/a lacks "b"`},
		{`{"properties":{"a/b~":{"type":["integer","null"]}}}`, `{"a/b~":"x"}`, `/a~1b~0 is "x"; want null or an integer`, "="},
		{`{"properties":{"a":{"const":{"x":1}}}}`, `{"a":2}`, `/a is 2; want {"x":1}`, "="},
		{`{"properties":{"a":{"minimum":1.5}}}`, `{"a":1}`, `/a is 1; want 1.5 or more`, "="},
		{`{"properties":{"a":{"exclusiveMaximum":3}}}`, `{"a":3}`, `/a is 3; want less than 3`, "="},
		{`{"properties":{"a":{"multipleOf":0.1}}}`, `{"a":0.25}`, `/a is 0.25; want a multiple of 0.1`, "="},
		{`{"properties":{"a":{"maxLength":2}}}`, `{"a":"äöü"}`, `/a is "äöü"; want at most 2 characters`, "="},
		{`{"properties":{"a":{"pattern":"^x+$"}}}`, `{"a":"y"}`, `/a is "y"; want text that matches "^x+$"`, "="},
		{`{"properties":{"a":{"uniqueItems":true,"maxItems":9}}}`, `{"a":[1,2,1]}`, `/a is [1,2,1]; items 0 and 2 are equal`, "="},
		{`{"properties":{"a":{"contains":{"const":1}}}}`, `{"a":[2]}`, `/a is [2]; no item is what the schema wants one to be`, "="},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `the data is {"ab":1}; the key "ab" is not of the form that the schema wants`, "="},
		{`{"properties":{"a":false}}`, `{"a":1}`, `/a is 1; nothing may stand here`, "="},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `the data lacks "b", which goes with "a"`, ""},
		{`{"minProperties":2,"maxProperties":2}`, `{"a":1}`, `the data is {"a":1}; want 2 keys or more`, ""},
		{`{"required":["z"],"properties":{"a":{"type":"string"}}}`, `{"a":1}`, `the data lacks "z"`, `/a is 1; want text`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":[]}`, `/a is []; want text, or an integer`, "="},
		{tagged, `{"k":"x"}`, `the data lacks "v"`, ""},
		{tagged, `{"k":"x","v":"1"}`, `/v is "1"; want an integer`, "="},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `the data lacks "a", or lacks "b"`, ""},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}}}`, `{"next":{"next":{"v":true}}}`, `/next/next/v is true; want an integer`, "="},
		{`{"$ref":"#"}`, `{}`, `the data is {}; the schema refers to itself without end`, "="},
		{`{"properties":{"a":{"minimum":0}}}`, `{"a":1e999999999}`, `/a is 1e999999999…, a number with too many digits; at most 400 are checked by a schema`, "="},
		{`{"properties":{"a":{"format":"email"}}}`, `{"a":"no address"}`, "", ""},
	} {
		if c.part == "=" {
			c.part = c.want
		}
		s := newTestSchema(t, c.schema)
		for _, whole := range []bool{true, false} {
			got, want := "", c.want
			if err := s.Check(t.Context(), []byte(c.data), whole); err != nil {
				got = err.Error()
			}
			if !whole {
				want = c.part
			}
			if got != want {
				t.Errorf("%s, %s, whole %v:\ngot  %s\nwant %s", c.schema, c.data, whole, got, want)
			}
		}
	}
}

// numbered repeats text with numbers in it, with commas between.
func numbered(text string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(text, i)
	}
	return strings.Join(parts, ",")
}

func TestASchemaThatIsTooMuchIsRefused(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`{"enum":[` + strings.Repeat("1,", maxSchemaValues) + `1]}`, "values; at most 5000 are allowed"},
		{`{"allOf":[` + strings.Repeat("{},", maxSchemaParts) + `{}]}`, "schemas in it; at most 1000 are allowed"},
		{`{"minimum":1e999999}`, "too many digits"},
		{`{"$dynamicRef":"#x"}`, "is not supported; want $ref and $anchor"},
		{`{"$ref":"#/$defs/none"}`, `is no JSON Schema: json-pointer in "#/$defs/none" not found`},
		{`{"$ref":"other.json"}`, `refers to "other.json"`},
		{`{"properties":{"a":{"pattern":"(a{1000}){1000}"}}}`, "want a regex"},
	} {
		if _, err := newSchema([]byte(c.doc)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v; want %q in it", c.doc, err, c.want)
		}
	}
}

// Schemas whose evaluation takes exponential time, or one step that takes very long.
func TestTheWorkOfACheckIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)
	list := `{"a":[` + strings.Repeat("1.5,", 100_000) + `1]}`
	const ref = `{"$ref":"#/$defs/x"}`
	for name, c := range map[string]struct{ schema, data string }{
		"alternatives that recurse": {
			`{"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"properties":{"a":` + ref + `},"required":["z"]},{"properties":{"a":` + ref + `},"required":["z"]}]}}}`, deep,
		},
		"patterns that recurse, in a negation": {`{"not":` + ref + `,"$defs":{"x":{"type":"object","patternProperties":{"a":` + ref + `,"^a":` + ref + `}}}}`, deep},
		"dependent schemas that recurse": {
			`{"not":` + ref + `,"$defs":{"x":{"type":"object","properties":{"a":` + ref + `},"dependentSchemas":{"a":{"properties":{"a":` + ref + `}}}}}}`, deep,
		},
		"items that are compared with many numbers": {`{"properties":{"a":{"items":{"enum":[` + strings.Repeat("2.5,", 4000) + `2]}}}}`, list},
		"long text and a large pattern":             {`{"properties":{"a":{"pattern":"(x{0,500}y){0,2}$"}}}`, `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`},
		"many patterns and many keys": {
			`{"patternProperties":{` + numbered(`"k%d":true`, 900) + `}}`, `{` + numbered(`"key%d":1`, 50_000) + `}`,
		},
		"equal items in many parts": {`{"properties":{"a":{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 900) + `{}]}}}`, `{"a":[[` + strings.Repeat("1.5,", 50_000) + `1],[]]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestSchema(t, c.schema)
			err := s.Check(t.Context(), []byte(c.data), true)
			if err == nil || !strings.Contains(err.Error(), "takes too long to check") {
				t.Errorf("got %.200v", err)
			}
			if err := s.Check(t.Context(), []byte(`{"b":1}`), true); err != nil && strings.Contains(err.Error(), "too long") {
				t.Errorf("the next check: %v", err)
			}
		})
	}
}

// The library follows references by recursion. Chains of them and nesting are bounded, and so is its stack.
func TestLongChainsOfReferencesNeedNoEndlessStack(t *testing.T) {
	var defs []string
	for i := range 300 {
		defs = append(defs, fmt.Sprintf(`"r%d":{"allOf":[{"$ref":"#/$defs/r%d"}]}`, i, i+1))
	}
	doc := `{"$ref":"#/$defs/r0","$defs":{` + strings.Join(defs, ",") + `,"r300":{"properties":{"a":{"$ref":"#/$defs/r0"}}}}}`
	s := newTestSchema(t, doc)
	data := strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)
	if err := s.Check(t.Context(), []byte(data), true); err != nil && !strings.Contains(err.Error(), "too long to check") {
		t.Error(err)
	}
}

func BenchmarkSchemaCheck(b *testing.B) {
	s, err := newSchema([]byte(`{"type":"object","properties":{"format":{"enum":["md","html"]},"top":{"type":"integer","minimum":1},"tags":{"items":{"pattern":"^[a-z]+$"}}},"required":["format"]}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Check(b.Context(), []byte(`{"format":"md","top":3,"tags":["a","bc"]}`), true); err != nil {
			b.Fatal(err)
		}
	}
}

func TestACheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	over := &jobhost.Error{Code: jobhost.Canceled, Msg: "over"}
	cancel(over)
	s := newTestSchema(t, `{"properties":{"a":{"items":{"allOf":[{"type":"integer"},{"minimum":0}]}}}}`)
	data := []byte(`{"a":[` + strings.Repeat("1,", 5_000) + `1]}`)
	if err := s.Check(ctx, data, true); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
	if err := s.Check(t.Context(), data, true); err != nil {
		t.Errorf("with time: %v", err)
	}
}

func TestChecksGoOnSideBySide(t *testing.T) {
	s := newTestSchema(t, `{"properties":{"a":{"type":"integer"}}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if err := s.Check(t.Context(), []byte(`{"a":1}`), true); err != nil {
					t.Error(err)
				}
				if err := s.Check(t.Context(), []byte(`{"a":"x"}`), true); err == nil {
					t.Error("text is taken for an integer")
				}
			}
		})
	}
	group.Wait()
}

// Whatever a schema and data are, a check ends, and says the same twice. Data that fits as a whole fits as a part.
func FuzzSchema(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}`, `{"a":0,"b":[1,1]}`)
	f.Add(`{"oneOf":[{"$ref":"#/$defs/x"},{"not":{"$ref":"#/$defs/x"}}],"$defs":{"x":{"patternProperties":{"^a":{"uniqueItems":true}}}}}`, `{"ab":[1,1.0]}`)
	f.Add(`{"unevaluatedProperties":false,"if":{"required":["k"]},"then":{"dependentSchemas":{"k":{"properties":{"k":true}}}}}`, `{"k":1}`)
	f.Fuzz(func(t *testing.T, doc, data string) {
		s, err := newSchema([]byte(doc))
		if err != nil || jobhost.CheckData([]byte(data)) != nil {
			return
		}
		whole := s.Check(t.Context(), []byte(data), true)
		if again := s.Check(t.Context(), []byte(data), true); !sameText(whole, again) {
			t.Errorf("two answers: %v and %v", whole, again)
		}
		if part := s.Check(t.Context(), []byte(data), false); whole == nil && part != nil {
			t.Errorf("the whole fits, and as a part: %v", part)
		}
	})
}
