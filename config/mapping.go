package config

import (
	"go.yaml.in/yaml/v4"
)

// pair is one key of a mapping with its value. The value's position is its own, keyed is where the key stands.
type pair struct {
	name  string
	keyed Position
	value value
}

// pairs are the keys of a mapping in their order, merge keys followed: those of a merged mapping come last and never
// override. It reports keys that are given twice, and keys that are not text. Nothing is an empty mapping.
func (v value) pairs() ([]pair, bool) {
	if v.isNull() {
		return nil, true
	}
	if v.node.Kind != yaml.MappingNode {
		v.wrong("is %s", v.show())
		return nil, false
	}
	var (
		own, merged []pair
		seen        = map[string]Position{}
	)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		k, n := v.child("", v.node.Content[i]), v.node.Content[i+1]
		if k.tag() == mergeTag {
			merged = append(merged, v.child("", n).merged()...)
			continue
		}
		if k.tag() != strTag {
			k.badKey()
			continue
		}
		p := pair{k.node.Value, k.pos, v.child(keyText(k.node.Value), n)}
		if first, twice := seen[p.name]; twice {
			p.at().bad("is given twice; the first is in line %d", first.Line)
			continue
		}
		seen[p.name] = p.keyed
		own = append(own, p)
	}
	for _, p := range merged {
		if _, given := seen[p.name]; !given {
			seen[p.name] = p.keyed
			p.value.key = v.child(keyText(p.name), p.value.node).key
			own = append(own, p)
		}
	}
	return own, true
}

// badKey reports a key that is not text.
func (v value) badKey() {
	switch {
	case v.node.Kind != yaml.ScalarNode || v.node.Value == "":
		v.bad("a key is %s; want text", v.show())
	default:
		v.bad("the key %s is %s; quote it if it is meant as text", v.node.Value, tagNames[v.tag()])
	}
}

// merged are the pairs that a merge key brings: those of a mapping, or of a list of mappings.
func (v value) merged() []pair {
	v.want = "a mapping, mostly an alias such as *name, or a list of them"
	if v.node.Kind != yaml.SequenceNode {
		if v.node.Kind != yaml.MappingNode {
			v.wrong("the merge key << has %s", v.show())
			return nil
		}
		ps, _ := v.pairs()
		return ps
	}
	var all []pair
	for _, n := range v.node.Content {
		if item := v.child("", n); item.node.Kind == yaml.MappingNode {
			ps, _ := item.pairs()
			all = append(all, ps...)
		} else {
			item.want = "mappings"
			item.wrong("the merge key << has a list with %s", item.show())
		}
	}
	return all
}

// at is the value with the position of its key, for what is wrong with the key.
func (p pair) at() value {
	p.value.pos = p.keyed
	return p.value
}

// keyText is a key as a part of a key path: quoted where it could be mistaken for one itself.
func keyText(s string) string {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
