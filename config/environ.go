package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readEnviron lets variables override the settings of files. Lists, mappings and what is below them have no variable.
func (d *draft) readEnviron(r *reader, top table[draft], environ []string) {
	known := map[string]setting{}
	settings(top, "", known)
	for _, p := range Misnamed(environ) {
		r.warn(p)
	}
	seen := map[string]bool{}
	for _, e := range environ {
		name, text, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "JOBHOST_") || !strings.Contains(name, "__") || seen[name] {
			continue
		}
		seen[name] = true
		v := value{
			reader: r, pos: Position{File: "$" + name}, loose: true,
			node: &yaml.Node{Kind: yaml.ScalarNode, Value: text},
		}
		s, ok := known[name]
		if !ok {
			v.bad("no setting has this variable%s", meantVariable(name, keysOf(known)))
			continue
		}
		v.key, v.want = s.key, s.field.wants()
		if s.field.later {
			v.bad("is not available yet; %s", s.field.help)
			continue
		}
		s.field.read(d, v)
	}
}

// meantVariable completes a message with the variable that is most like an unknown one, if any is. Within a section that there
// is only the rest counts, so that a long section does not make everything in it alike.
func meantVariable(name string, known []string) string {
	at := strings.LastIndex(name, "__") + len("__")
	var rests []string
	for _, k := range known {
		if rest, ok := strings.CutPrefix(k, name[:at]); ok {
			rests = append(rests, rest)
		}
	}
	if len(rests) == 0 {
		return didYouMean(name, known)
	}
	text := didYouMean(name[at:], rests)
	if text == "" {
		slices.Sort(rests)
		return "; behind " + name[:at] + " there are " + strings.Join(rests, ", ")
	}
	return strings.Replace(text, "did you mean ", "did you mean "+name[:at], 1)
}

// setting is a key that a variable can give.
type setting struct {
	key   string
	field field[draft]
}

// settings adds the keys of a table by the names of their variables.
func settings(t table[draft], prefix string, into map[string]setting) {
	for _, f := range t {
		key := prefix + f.name
		switch {
		case f.sub != nil:
			settings(f.sub, key+".", into)
		case f.kind != aList && f.kind != anObject:
			into[variableName(key)] = setting{key, f}
		}
	}
}

// variableName is the environment variable of a key: JOBHOST_SCHEDULER__POLL_INTERVAL is scheduler.poll_interval, and
// JOBHOST__DATA_DIR is data_dir.
func variableName(key string) string {
	name := strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
	if !strings.Contains(key, ".") {
		name = "_" + name
	}
	return "JOBHOST_" + name
}

// Misnamed warns of variables that are not read and look as if they were meant to be: those that have the name of a setting
// but for the number of underscores.
func Misnamed(environ []string) (found Problems) {
	known := map[string]setting{}
	settings(topKeys(), "", known)
	bare := func(name string) string { return strings.ReplaceAll(name, "_", "") }
	meant := map[string]string{}
	for name := range known {
		meant[bare(name)] = name
	}
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		right, ok := meant[bare(name)]
		if ok && strings.HasPrefix(name, "JOBHOST_") && !strings.Contains(name, "__") {
			found = append(found, Problem{Position{File: "$" + name}, known[right].key, "is not read; the variable of this setting is " + right})
		}
	}
	return found
}
