package config

import (
	"strings"
)

// maxExpanded is the most bytes that all replacements of one [Load] may write together.
const maxExpanded = 16 << 20

// expand replaces ${name:-default} by the variable of that name, or by the default when it is unset or empty (SPEC
// 26.3). ${name} without either is reported. $${ stands for ${, and what was replaced is not looked at again.
func (v value) expand(text string) (string, bool) {
	if !strings.Contains(text, "${") {
		return text, true
	}
	rest := text
	var b strings.Builder
	for ok := true; ; {
		before, after, found := strings.Cut(rest, "${")
		if strings.HasSuffix(before, "$") && found {
			b.WriteString(before[:len(before)-1] + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		if !found {
			v.budget -= b.Len()
			return b.String(), ok
		}
		inside, tail, closed := strings.Cut(after, "}")
		s, good := "", false
		switch {
		case !closed:
			v.bad("%s: ${ has no closing brace; want ${name:-default}, or $${ for a plain ${", quote(text))
		case strings.Contains(inside, "${"):
			v.bad("%s: ${…} cannot stand inside another; want ${name:-default}", quote(text))
		default:
			s, good = v.variable(text, inside)
		}
		if !good {
			ok = false
		}
		if v.budget < b.Len()+len(s) {
			v.bad("replacements have more than %d MiB in all", maxExpanded>>20)
			return "", false
		}
		b.WriteString(s)
		rest = tail
		if !closed {
			return "", false
		}
	}
}

// variable is the value of name, or of name:-default.
func (v value) variable(text, inside string) (string, bool) {
	name, def, hasDefault := strings.Cut(inside, ":-")
	if s := v.vars[name]; s != "" {
		return s, true
	}
	switch {
	case !validVar(name):
		v.bad("%s: %s is no name of a variable; want ${name:-default}", quote(text), quote(name))
	case hasDefault:
		return def, true
	case v.broken:
		v.unknown++ // it may stand in the file that could not be read; that is reported already
	default:
		v.bad("%s: the variable %s is not set; set it in the section vars, or write ${%s:-default}%s",
			quote(text), name, name, didYouMean(name, keysOf(v.vars)))
	}
	return "", false
}

// validVar reports whether a variable may have this name: letters, digits, dots, dashes and underscores.
func validVar(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c) {
			return false
		}
	}
	return name != ""
}

// readVars reads one section vars. Any scalar is taken as it is written, so that numbers need no quotes.
func (r *reader) readVars(v value) {
	v.want = "a mapping of names to text"
	ps, _ := v.pairs()
	for _, p := range ps {
		key := "vars." + p.name
		first, twice := r.settings[key]
		p.value.want = "text"
		switch {
		case !validVar(p.name):
			p.at().bad("is no name of a variable; want letters, digits, '.', '_', '-'")
		case twice:
			p.at().bad("is already set at %v; want it in one place", first)
		case p.value.tag() == mapTag, p.value.tag() == seqTag:
			p.value.wrong("is %s", p.value.show())
		default:
			r.settings[key] = p.keyed
			r.vars[p.name] = p.value.node.Value
			if p.value.isNull() {
				r.vars[p.name] = ""
			}
		}
	}
}
