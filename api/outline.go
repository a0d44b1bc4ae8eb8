package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// The bounds of what a request says outside of data.
const (
	maxDepth = 20       // levels of objects and arrays
	maxKey   = 256      // bytes of a key
	maxText  = 64 << 10 // bytes of a text
	maxTexts = 4 << 20  // bytes of all texts and keys
)

// boundedJSON is JSON that is counted before it becomes values: a small wrong item of three bytes becomes hundreds of
// bytes when it is decoded, checked and complained about, so a body of some MiB could take all memory.
var boundedJSON = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}

// unmarshal decodes a body. The framework asks twice: for any value, which it holds against the schema, and for the type
// of the operation, also when the first has failed.
func unmarshal(body []byte, into any) error {
	got, err := outlineOf(body)
	if err != nil {
		return err
	}
	if v, ok := into.(*any); ok {
		*v = got
		return nil
	}
	return json.Unmarshal(body, into)
}

// opaque stands for data in an outline: it is the schema of nobody here, and may have a million values.
type opaque struct{}

// UnmarshalJSON drops the value.
func (*opaque) UnmarshalJSON([]byte) error { return nil }

// outlineOf decodes a body of bounded size without what stands under a key "data".
func outlineOf(body []byte) (any, error) {
	if err := json.Unmarshal(body, &opaque{}); err != nil { // its syntax, told as json tells it
		return nil, err
	}
	return (&outline{dec: json.NewDecoder(bytes.NewReader(body)), left: MaxValues, texts: maxTexts}).value(0)
}

// outline reads one body.
type outline struct {
	dec   *json.Decoder
	left  int // values that it may still have
	texts int // bytes of them
}

func (o *outline) value(depth int) (any, error) {
	if o.left--; o.left < 0 {
		return nil, fmt.Errorf("the request has more than %d values outside of data; want several requests", MaxValues)
	}
	tok, err := o.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if depth++; depth > maxDepth {
			return nil, fmt.Errorf("the request is nested more than %d levels deep", maxDepth)
		}
		if tok == '{' {
			return o.object(depth)
		}
		return o.array(depth)
	case string:
		return tok, o.text("text", tok, maxText)
	}
	return tok, nil
}

// text charges a text or a key.
func (o *outline) text(what, s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("the %s %.20q… has %d bytes, at most %d are allowed", what, s, len(s), most)
	}
	if o.texts -= len(s); o.texts < 0 {
		return fmt.Errorf("the request has more than %d MiB of text outside of data; want several requests", maxTexts>>20)
	}
	return nil
}

func (o *outline) object(depth int) (any, error) {
	m := map[string]any{}
	for o.dec.More() {
		tok, err := o.dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("%v stands where a key should", tok)
		}
		if err := o.text("key", key, maxKey); err != nil {
			return nil, err
		}
		if strings.EqualFold(key, "data") {
			if err := o.dec.Decode(&opaque{}); err != nil {
				return nil, err
			}
			m[key] = opaque{}
			continue
		}
		if m[key], err = o.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := o.dec.Token()
	return m, err
}

// array reads the items of a batch or, further below, the triggers of a job: there are no other lists.
func (o *outline) array(depth int) (any, error) {
	most, what := MaxItems, "the request"
	if depth > 1 {
		most, what = jobhost.MaxTriggers, "a list in the request"
	}
	list := []any{}
	for o.dec.More() {
		if len(list) == most {
			return nil, fmt.Errorf("%s has more than %d items; want several requests, or fewer triggers in a job", what, most)
		}
		v, err := o.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := o.dec.Token()
	return list, err
}
