package jobhost

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxData is the most bytes that a run's merged data may have, encoded (SPEC 3).
const MaxData = 1 << 20

// MaxDataDepth is how deep data may be nested: {"a":1} has depth 1. Readers of JSON give up at a depth of their own, often
// 10,000 for a whole document, so deeper data could be stored and not be listed any more.
const MaxDataDepth = 100

// MergeData merges layers of data, each a JSON object or empty: a later layer overwrites an equal top-level key of an
// earlier one, nested values are replaced whole, and null is a value (SPEC 3). It returns nil when all layers are
// empty, and a single layer as it is. The result may share memory with a layer.
func MergeData(layers ...json.RawMessage) (json.RawMessage, error) {
	var only json.RawMessage
	n := 0
	for _, l := range layers {
		if len(l) > 0 {
			only = l
			n++
		}
	}
	if n <= 1 {
		return only, nil
	}
	merged := map[string]json.RawMessage{}
	for _, l := range layers {
		if len(l) == 0 {
			continue
		}
		if err := json.Unmarshal(l, &merged); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // values stay as their author wrote them, and do not grow
	if err := enc.Encode(merged); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// CheckData reports whether data can be a layer: empty, or one JSON object of at most [MaxData] bytes and [MaxDataDepth]
// levels. A merge of such layers has no more levels than the deepest of them.
func CheckData(data json.RawMessage) error {
	switch {
	case len(data) == 0:
		return nil
	case len(data) > MaxData:
		return fmt.Errorf("data has %d bytes, at most %d are allowed", len(data), MaxData)
	case !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		return fmt.Errorf("data is %s; want a JSON object", beginning(data))
	}
	if err := json.Unmarshal(data, &map[string]json.RawMessage{}); err != nil {
		return fmt.Errorf("data is no JSON object: %w", err)
	}
	if depth := DataDepth(data); depth > MaxDataDepth {
		return fmt.Errorf("data is nested %d levels deep, at most %d are allowed", depth, MaxDataDepth)
	}
	return nil
}

// beginning is the first 20 characters of what should be data, and whether there are more.
func beginning(data json.RawMessage) string {
	const most = 20
	text := []rune(string(bytes.TrimSpace(data[:min(len(data), 4*most+4)])))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// DataDepth counts the levels of objects and arrays in data, which is JSON. It does not check that it is.
func DataDepth(data json.RawMessage) int {
	depth, deepest := 0, 0
	text, escaped := false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = c == '\\', c != '"'
		case c == '"':
			text = true
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}
