package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobhost/jobhost"
)

const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	schemaURL = "jobhost:///schema" // a base that nothing else has

	maxSchemaValues = 5_000 // values of any kind that a schema may hold
	maxSchemaParts  = 1_000 // schemas in a schema
	maxDataDepth    = 100   // levels of nesting in data that is held against a schema
	maxNumber       = 400   // characters of a number, and its exponent
)

// schema is a [jobhost.DataSchema].
type schema struct {
	doc         json.RawMessage
	expressions *expressions
	free        sync.Pool // of *compiled, each for one check at a time: what is counted is the check's own
}

var _ jobhost.DataSchema = (*schema)(nil)

// compiled is a schema that is ready, and the meter that its parts charge.
type compiled struct {
	root  *jsonschema.Schema
	meter *meter
}

// newSchema makes a schema of its JSON. An error names the pointer of what is wrong in it, if it is in one place.
func newSchema(doc json.RawMessage) (*schema, error) {
	s := &schema{doc: doc, expressions: newExpressions()}
	c, err := s.compile()
	if err != nil {
		return nil, err
	}
	s.free.Put(c)
	return s, nil
}

// Check reports what is wrong with data. See [jobhost.DataSchema].
func (s *schema) Check(ctx context.Context, data json.RawMessage, whole bool) error {
	left := maxWork
	return s.within(ctx, data, whole, &left)
}

// within is Check, for no more than what is left to spend, which becomes less. A check that is too costly by itself takes all.
func (s *schema) within(ctx context.Context, data json.RawMessage, whole bool, left *int) (err error) {
	c, ok := s.free.Get().(*compiled)
	if !ok {
		if c, err = s.compile(); err != nil {
			return err // it was compiled before, so this cannot be
		}
	}
	defer s.free.Put(c)
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	v, err := decodeData(data)
	if err != nil {
		return err
	}
	most := min(*left, maxWork)
	c.meter.start(ctx, most)
	defer func() {
		*left -= most - max(c.meter.left, 0)
		switch p := recover(); {
		case p == nil:
		case p == errTooMuch && ctx.Err() != nil: //nolint:errorlint // the meter panics with this very value
			err = context.Cause(ctx)
		case p == errTooMuch: //nolint:errorlint // the same
			*left = 0
			err = &misfit{msg: "takes too long to check by the plugin's schema; make the data smaller, or the schema simpler"}
		default:
			panic(p)
		}
	}()
	fails, ok := errors.AsType[*jsonschema.ValidationError](c.root.Validate(v))
	if !ok || !whole && onlyMissing(fails) {
		return nil
	}
	return explain(fails, v, whole)
}

// misfit is what is wrong with data or with a schema, and where in it.
type misfit struct {
	at  []string // the tokens of its JSON pointer
	msg string
}

func (m *misfit) Error() string {
	if len(m.at) == 0 {
		return "the data " + m.msg
	}
	return pointer(m.at) + " " + m.msg
}

// pointer is the JSON pointer of its tokens.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// decodeData reads a JSON value, and refuses what would be too much to compute with.
func decodeData(data json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &misfit{msg: "is no JSON: " + err.Error()}
	}
	_, err := weigh(v, nil)
	return v, err
}

// weigh counts the values in v, and reports a number or a nesting that is out of bounds.
func weigh(v any, at []string) (n int, err error) {
	if len(at) > maxDataDepth {
		return 0, &misfit{at[:3], fmt.Sprintf("is nested too deep; with a schema at most %d levels are checked", maxDataDepth)}
	}
	n = 1
	add := func(token string, v any) {
		below, e := weigh(v, under(at, token))
		n += below
		if err == nil {
			err = e
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keysOf(v) {
			add(k, v[k])
		}
	case []any:
		for i, item := range v {
			add(strconv.Itoa(i), item)
		}
	case json.Number:
		_, exp, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if e, bad := strconv.Atoi(exp); exp != "" && (bad != nil || max(e, -e) > maxNumber) || len(v) > maxNumber {
			return n, &misfit{at, fmt.Sprintf("is %.20s…, a number with too many digits; at most %d are checked by a schema", v, maxNumber)}
		}
	}
	return n, err
}

// under is a place below another.
func under(at []string, token string) []string { return append(slices.Clip(at), token) }

// compile makes the schema ready. Nothing is loaded from anywhere.
func (s *schema) compile() (_ *compiled, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &misfit{msg: fmt.Sprintf("cannot be used: %v", p)}
		}
	}()
	doc, err := decodeData(s.doc)
	if err != nil {
		return nil, err
	}
	if n, _ := weigh(doc, nil); n > maxSchemaValues {
		return nil, &misfit{msg: fmt.Sprintf("has %d values; at most %d are allowed", n, maxSchemaValues)}
	}
	if err := allowed(doc, nil); err != nil {
		return nil, err
	}
	m := &meter{left: maxWork, look: -1, expressions: s.expressions} // it also holds the schema against the schema of schemas
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(m.regexp)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaError(err, doc)
	}
	root, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(err, doc)
	}
	if n := m.attach(root); n > maxSchemaParts {
		return nil, &misfit{msg: fmt.Sprintf("has %d schemas in it; at most %d are allowed", n, maxSchemaParts)}
	}
	return &compiled{root, m}, nil
}

// allowed refuses words of a schema that are not supported here: other drafts, and references that depend on who refers.
func allowed(v any, at []string) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range keysOf(v) {
			below := under(at, k)
			text, isText := v[k].(string)
			switch {
			case k == "$schema" && isText && strings.TrimSuffix(text, "#") != draft2020:
				return &misfit{below, fmt.Sprintf("is %s; want %s, or leave it out", quote(text), draft2020)}
			case (k == "$dynamicRef" || k == "$dynamicAnchor") && isText:
				return &misfit{below, "is not supported; want $ref and $anchor"}
			}
			if err := allowed(v[k], below); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := allowed(item, under(at, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// nowhere is where schemas are loaded from.
type nowhere struct{}

var errRemote = errors.New("a schema is never loaded from elsewhere")

// Load refuses.
func (nowhere) Load(string) (any, error) { return nil, errRemote }

// schemaError says what is wrong with a schema.
func schemaError(err error, doc any) error {
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		url := strings.TrimPrefix(load.URL, "jobhost:///")
		return &misfit{refersTo(doc, url, nil), fmt.Sprintf("refers to %s, and %v; put it into $defs", quote(url), errRemote)}
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if fails, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return explain(fails, doc, true)
		}
	}
	if re, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return &misfit{msg: fmt.Sprintf("has the pattern %s: %v; want a regular expression of RE2", quote(re.Regex), re.Err)}
	}
	return &misfit{msg: "is no JSON Schema: " + strings.ReplaceAll(strings.ReplaceAll(err.Error(), schemaURL, ""), "jsonschema: ", "")}
}

// refersTo is where in a document a $ref to url stands, or nothing.
func refersTo(v any, url string, at []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, url) {
			return under(at, "$ref")
		}
		for _, k := range keysOf(v) {
			if found := refersTo(v[k], url, under(at, k)); found != nil {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := refersTo(item, url, under(at, strconv.Itoa(i))); found != nil {
				return found
			}
		}
	}
	return nil
}
