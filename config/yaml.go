package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	maxDepth  = 64       // levels of nesting, aliases followed
	maxWeight = 16 << 20 // values and their bytes, aliases followed; a file without aliases cannot reach it
)

// The tags of the values that JSON has too, and of the two that YAML adds.
const (
	strTag   = "!!str"
	intTag   = "!!int"
	floatTag = "!!float"
	boolTag  = "!!bool"
	nullTag  = "!!null"
	mapTag   = "!!map"
	seqTag   = "!!seq"
	timeTag  = "!!timestamp"
	mergeTag = "!!merge"
)

// tagNames says what a value is, in a message.
var tagNames = map[string]string{
	strTag: "text", intTag: "a number", floatTag: "a number", boolTag: "a boolean", nullTag: "nothing",
	mapTag: "a mapping", seqTag: "a list", timeTag: "a date", mergeTag: "text",
}

// hints complete the parser's messages where a habit of YAML is the usual cause.
var hints = []struct{ part, hint string }{
	{"tab character", "indent with spaces"},
	{"cannot start any token", "indent with spaces, and quote text that begins with one of @ ` % *"},
	{"mapping values are not allowed", "check the indentation, and quote text that holds a colon and a space"},
	{"expected ',' or", "inside {…} and […] quote text that holds a comma or a bracket"},
	{"found unexpected end of stream", "a quote is not closed"},
	{"unknown anchor", "define it with & before it is used with *, or quote text that begins with *"},
}

// parse reads one file into its root. It is false when the file is no YAML, or more than this program is willing to walk
// through; the reason is reported.
func (r *reader) parse(f File) (root value, ok bool) {
	root = value{reader: r, pos: Position{File: f.Name}}
	if len(f.Data) > MaxFile {
		root.bad("%v", errTooLarge)
		return root, false
	}
	loader, err := yaml.NewLoader(bytes.NewReader(f.Data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return root.syntax(err)
	}
	var doc, second yaml.Node
	err = loader.Load(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		root.node = &yaml.Node{Kind: yaml.MappingNode}
		return root, true
	}
	if err != nil {
		return root.syntax(err)
	}
	root = root.child("", doc.Content[0])
	switch err := loader.Load(&second); {
	case err == nil:
		root.child("", &second).bad("a second document begins here; want one in a file")
	case !errors.Is(err, io.EOF):
		return root.syntax(err)
	}
	w := weigher{value: root, known: map[*yaml.Node]weight{}}
	w.weigh(doc.Content[0])
	if w.stop {
		return root, false
	}
	if root.tag() == nullTag {
		root.node = &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
	}
	return root, true
}

// syntax reports what the parser says.
func (v value) syntax(err error) (value, bool) {
	msg := err.Error()
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		v.pos.Line, v.pos.Column, msg = le.Mark.Line, le.Mark.Column, le.Message
		if le.ContextMsg != "" && le.ContextMark.Line > 0 && le.ContextMark.Line < le.Mark.Line {
			msg = fmt.Sprintf("%s from line %d: %s", le.ContextMsg, le.ContextMark.Line, le.Message)
		}
	}
	for _, h := range hints {
		if strings.Contains(msg, h.part) {
			msg += "; " + h.hint
			break
		}
	}
	v.bad("not valid YAML: %s", msg)
	return v, false
}

// weight is what a tree amounts to when its aliases are followed.
type weight struct {
	sum    int
	height int
	open   bool // still being added up: an alias to it contains itself
}

// weigher walks a tree once, however often it is aliased, and reports what must not be walked any further.
type weigher struct {
	value
	known map[*yaml.Node]weight // of nodes with an anchor
	stop  bool
}

func (w *weigher) weigh(n *yaml.Node) weight {
	if n.Kind == yaml.AliasNode {
		at := w.child("", n)
		known := w.known[n.Alias]
		if known.open {
			w.refuse(at, fmt.Sprintf("the alias *%s stands inside what it stands for", n.Value))
		}
		return known
	}
	if n.Anchor != "" {
		w.known[n] = weight{open: true}
	}
	if tag := n.ShortTag(); tagNames[tag] == "" {
		w.child("", n).bad("the tag %s is not supported; leave it out", tag)
		w.stop = true
	}
	sum := weight{sum: 1 + len(n.Value)}
	for _, c := range n.Content {
		below := w.weigh(c)
		if w.stop {
			return weight{}
		}
		sum.sum += below.sum
		sum.height = max(sum.height, below.height)
		if sum.sum > maxWeight {
			w.refuse(w.child("", c), fmt.Sprintf("with its aliases followed the file has more than %d MiB; use fewer of them", maxWeight>>20))
			return weight{}
		}
	}
	if sum.height++; sum.height > maxDepth {
		w.refuse(w.child("", n), fmt.Sprintf("nested more than %d levels deep", maxDepth))
	}
	if n.Anchor != "" {
		w.known[n] = sum
	}
	return sum
}

func (w *weigher) refuse(at value, msg string) {
	if !w.stop {
		at.bad("%s", msg)
	}
	w.stop = true
}
