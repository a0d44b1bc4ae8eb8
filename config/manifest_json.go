package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// parseJSON reads JSON into the tree that YAML is read into, with the place of every value, so that both are read by the same
// tables. A parser of YAML does not read all JSON: it knows no tabs between values and no surrogate pairs.
func (v value) parseJSON(data []byte) (root value, ok bool) {
	p := jsonParser{value: v, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	p.dec.UseNumber()
	n := p.read(0)
	if n == nil {
		return v, false
	}
	p.next()
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		p.refuse("something follows the JSON value; want one value")
		return v, false
	}
	return v.child("", n), true
}

// jsonParser builds the tree.
type jsonParser struct {
	value
	data []byte
	dec  *json.Decoder

	seen       int // bytes up to the place
	line, from int // the place's line, and the byte that it begins with
}

// advance moves the place to an offset, which only grows.
func (p *jsonParser) advance(offset int) {
	for ; p.seen < min(offset, len(p.data)); p.seen++ {
		if p.data[p.seen] == '\n' {
			p.line++
			p.from = p.seen + 1
		}
	}
}

// refuse reports what is wrong at the place.
func (p *jsonParser) refuse(format string, args ...any) {
	p.pos.Line, p.pos.Column = p.line, 1+utf8.RuneCount(p.data[p.from:p.seen])
	p.bad(format, args...)
}

// next moves the place to the beginning of the next token.
func (p *jsonParser) next() {
	offset := int(p.dec.InputOffset())
	for offset < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[offset]) >= 0 {
		offset++
	}
	p.advance(offset)
}

// token reads one token and leaves the place at its beginning.
func (p *jsonParser) token() (json.Token, bool) {
	p.next()
	t, err := p.dec.Token()
	if err == nil {
		return t, true
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		p.advance(int(e.Offset) - 1)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	p.refuse("not valid JSON: %v", err)
	return nil, false
}

// read reads one value; nil: it reported why there is none.
func (p *jsonParser) read(depth int) *yaml.Node {
	t, ok := p.token()
	if !ok {
		return nil
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line, Column: 1 + utf8.RuneCount(p.data[p.from:p.seen])}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxDepth {
			p.refuse("nested more than %d levels deep", maxDepth)
			return nil
		}
		n.Kind, n.Tag = yaml.MappingNode, mapTag
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, seqTag
		}
		for p.dec.More() {
			item := p.read(depth + 1)
			if item == nil {
				return nil
			}
			n.Content = append(n.Content, item)
		}
		if _, ok := p.token(); !ok { // the closing one
			return nil
		}
	case json.Number:
		n.Value, n.Tag = t.String(), intTag
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = floatTag
		}
	case string:
		n.Value, n.Tag = t, strTag
	case bool:
		n.Value, n.Tag = strconv.FormatBool(t), boolTag
	case nil:
		n.Tag = nullTag
	}
	return n
}
