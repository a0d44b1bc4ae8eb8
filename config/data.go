package config

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/jobhost/jobhost"
)

// object reads a mapping as a JSON object: keys in their order, numbers as they are written where JSON can write them
// so, dates as text. Nothing is no object. What JSON has no word for is reported, and so is more than
// [jobhost.MaxData].
func (v value) object() json.RawMessage { return v.objectBy(jsonWriter{}) }

func (v value) objectBy(w jsonWriter) json.RawMessage {
	if v.isNull() {
		return nil
	}
	if v.node.Kind != yaml.MappingNode {
		v.wrong("is %s", v.show())
		return nil
	}
	w.write(v)
	if w.failed {
		return nil
	}
	if err := jobhost.CheckData(w.out); err != nil {
		v.bad("%v", err)
		return nil
	}
	return w.out
}

// jsonWriter writes values. It goes on when one fails, to report the others too, and stops when it has written too much.
type jsonWriter struct {
	plain bool // text is written as it is, without replacements

	out    []byte
	failed bool
	full   bool
}

func (w *jsonWriter) write(v value) {
	switch v.node.Kind {
	case yaml.MappingNode:
		w.object(v)
	case yaml.SequenceNode:
		w.list(v)
	case yaml.ScalarNode:
		w.scalar(v)
	case yaml.DocumentNode, yaml.AliasNode, yaml.StreamNode: // never below a mapping
	}
	if len(w.out) > jobhost.MaxData && !w.full {
		w.failed, w.full = true, true
		v.bad("with this the data has more than %d bytes", jobhost.MaxData)
	}
}

func (w *jsonWriter) object(v value) {
	ps, ok := v.pairs()
	w.failed = w.failed || !ok
	w.out = append(w.out, '{')
	for i, p := range ps {
		if w.full {
			return
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(p.name)
		w.out = append(w.out, ':')
		w.write(p.value)
	}
	w.out = append(w.out, '}')
}

func (w *jsonWriter) list(v value) {
	w.out = append(w.out, '[')
	for i, item := range v.items() {
		if w.full {
			return
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.write(item)
	}
	w.out = append(w.out, ']')
}

func (w *jsonWriter) scalar(v value) {
	text := v.node.Value
	switch v.tag() {
	case nullTag:
		w.out = append(w.out, "null"...)
	case boolTag:
		w.out = append(w.out, strings.ToLower(text)...)
	case intTag, floatTag:
		n := number(text)
		if n == "" {
			w.failed = true
			v.bad("%s is no number that JSON can write; quote it if it is meant as text", text)
		}
		w.out = append(w.out, n...)
	case strTag:
		if w.plain {
			w.text(text)
			return
		}
		s, ok := v.expand(text)
		w.failed = w.failed || !ok
		w.text(s)
	default:
		w.text(text)
	}
}

// text writes a string, without the escapes that only HTML needs.
func (w *jsonWriter) text(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		w.failed = true
	}
	w.out = append(w.out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// number writes a YAML number as JSON, or returns nothing when it is infinite or none.
func number(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	if n, ok := new(big.Int).SetString(text, 0); ok {
		return n.String()
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	b, jsonErr := json.Marshal(f)
	if err != nil || jsonErr != nil {
		return ""
	}
	return string(b)
}
