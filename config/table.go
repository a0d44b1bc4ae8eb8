package config

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// kind is a type of value: its name in the reference, and what a message asks for.
type kind struct{ name, want string }

// The kinds.
var (
	aDuration    = kind{"duration", "a duration such as 90s or 1h30m"}
	anInteger    = kind{"integer", "an integer"}
	aSize        = kind{"size", "a size in B, KiB, MiB, GiB or TiB"}
	aBoolean     = kind{"boolean", "true or false"}
	aText        = kind{"text", "text"}
	aName        = kind{"name", "a name of 1 to 128 characters of a-z, 0-9, '.', '_', '-'"}
	aPath        = kind{"path", "a path"}
	aChoice      = kind{"choice", "one"}
	anExpression = kind{"cron expression", "a cron expression such as * * 0-7 * * *"}
	aSchedule    = kind{"schedule", "a schedule such as every 10m or cron 0 3 * * *"}
	aDate        = kind{"date", "a date such as 2026-10-01"}
	aClock       = kind{"time of day", "a time of day such as 22:00 or 06:30:00"}
	aZone        = kind{"zone", "a time zone such as Europe/Berlin"}
	anObject     = kind{"mapping", "a mapping"}
	aList        = kind{"list", "a list"}
)

// field is one key of a mapping that a T is read from.
type field[T any] struct {
	name     string
	kind     kind
	def      string // default, as it could be written; empty: none
	limits   string // range, in words
	help     string
	required bool
	adds     bool               // what several files give is joined
	later    bool               // refused for now
	sub      table[T]           // keys below, read into the same T
	rows     func(string) []row // keys below that are read into something else
	read     func(*T, value)    // not with sub
}

// table is all keys of a mapping.
type table[T any] []field[T]

// row is one key with its whole path, without its type parameter.
type row struct {
	path                      string
	kind, def, limits, help   string
	required, later, hasBelow bool
}

// read reads a mapping into a T and returns what was given of it, by name. It reports unknown and missing keys.
func (t table[T]) read(into *T, v value) map[string]value {
	v.want = cmp.Or(v.want, anObject.want)
	ps, ok := v.pairs()
	if !ok {
		return nil
	}
	return t.readPairs(into, v, ps)
}

func (t table[T]) readPairs(into *T, v value, ps []pair) map[string]value {
	given := map[string]value{}
	for _, p := range ps {
		i := slices.IndexFunc(t, func(f field[T]) bool { return f.name == p.name })
		if i < 0 {
			p.at().bad("unknown key%s", t.suggest(p, v))
			continue
		}
		f := t[i]
		p.value.want = f.wants()
		given[f.name] = p.value
		switch {
		case f.sub != nil:
			f.sub.read(into, p.value)
		case f.later:
			p.at().bad("is not available yet; %s", f.help)
		case p.alone(f.adds):
			f.read(into, p.value)
		}
	}
	for _, f := range t {
		if _, ok := given[f.name]; f.required && !ok {
			v.child(keyText(f.name), v.node).bad("is missing; want %s", f.wants())
		}
	}
	return given
}

// alone reports whether a single setting is given for the first time in all files. Keys of list elements have a bracket in
// their path and are no single settings.
func (p pair) alone(adds bool) bool {
	v := p.value
	if adds || v.loose || strings.Contains(v.key, "[") {
		return true
	}
	if first, twice := v.settings[v.key]; twice {
		p.at().bad("is already given at %v; want it in one place", first)
		return false
	}
	v.settings[v.key] = p.keyed
	return true
}

// wants says what would be right.
func (f field[T]) wants() string {
	switch {
	case f.kind == aChoice:
		return f.limits
	case f.limits != "":
		return f.kind.want + ", " + f.limits
	default:
		return f.kind.want
	}
}

// list returns every key of the table, those below included, each with a path that begins with prefix.
func (t table[T]) list(prefix string) []row {
	var rows []row
	for _, f := range t {
		r := row{
			path: prefix + f.name, kind: f.kind.name, def: f.def, limits: f.limits, help: f.help,
			required: f.required, later: f.later, hasBelow: f.sub != nil || f.rows != nil,
		}
		below := r.path
		if f.kind == aList {
			below += "[]"
		}
		rows = append(rows, r)
		if f.sub != nil {
			rows = append(rows, f.sub.list(below+".")...)
		}
		if f.rows != nil {
			rows = append(rows, f.rows(below+".")...)
		}
	}
	return rows
}

// suggest completes the message about an unknown key: a key here that is spelled alike, the place above or below where a key of
// that name belongs, or all keys.
func (t table[T]) suggest(p pair, in value) string {
	var known []string
	for _, f := range t {
		if !f.later {
			known = append(known, f.name)
		}
	}
	if s := didYouMean(strings.ReplaceAll(p.name, "-", "_"), known); s != "" {
		return s
	}
	if place, ok := belongs(p.name, in); ok {
		return "; " + p.name + " belongs " + place
	}
	if in.node.Style&yaml.FlowStyle != 0 && p.value.isNull() {
		return "; inside {…} quote a value that holds a comma"
	}
	return "; known are " + strings.Join(known, ", ")
}

// belongs says where a key that is not known in a mapping is known: above it, or else below it, if that is one place.
func belongs(name string, in value) (place string, ok bool) {
	here, placed := listed(in.key), map[string]bool{}
	for _, r := range in.rows {
		placed[r.path] = !r.later
	}
	for above := here; above != ""; {
		if above, ok = strings.CutSuffix(above, "[]"); !ok {
			above = above[:max(0, strings.LastIndexByte(above, '.'))]
		}
		switch {
		case above == "" && placed[name]:
			return "at the top of the file", true
		case above != "" && placed[above+"."+name]:
			return "in " + above, true
		}
	}
	least, found := math.MaxInt, 0
	for _, r := range in.rows {
		mapping, under := strings.CutSuffix(r.path, "."+name)
		if !under || r.later || here != "" && !strings.HasPrefix(mapping, here+".") {
			continue
		}
		switch depth := strings.Count(mapping, "."); {
		case depth < least:
			place, least, found = "in "+mapping, depth, 1
		case depth == least:
			found++
		}
	}
	return place, found == 1
}

// listed is the path of a key as the table has it: jobs[].triggers[] for jobs[a].triggers[0].
func listed(key string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(key, "[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("[]")
		_, key, _ = strings.Cut(rest, "]")
	}
}

// didYouMean completes a message with the known word that is most like an unknown one, if any is: at most a third of it is other
// letters, and never more than half of the longer of both.
func didYouMean(word string, known []string) string {
	best, found := max(1, len(word)/3)+1, ""
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < best && 2*d <= max(len(word), len(k)) {
			best, found = d, k
		}
	}
	if found == "" {
		return ""
	}
	return "; did you mean " + found + "?"
}

// distance is the least number of characters to insert, delete, replace or swap with their neighbour to get from a to b.
// It gives up on long words.
func distance(a, b string) int {
	const most = 64
	if len(a) > most || len(b) > most {
		return most
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// keysOf returns the keys of a map, sorted.
func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
