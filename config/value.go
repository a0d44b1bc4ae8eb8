package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/jobhost/jobhost"
)

// reader is what all values of one [Load] share.
type reader struct {
	*report

	vars     map[string]string
	budget   int                 // bytes that replacements may still write
	settings map[string]Position // where each single setting was given
	rows     []row               // every key there is, for suggestions
	broken   bool                // a file could not be parsed, so that what is missing may stand in it
	unknown  int                 // variables that were not there and may stand in such a file
}

func newReader(rows []row) *reader {
	return &reader{report: &report{}, vars: map[string]string{}, budget: maxExpanded, settings: map[string]Position{}, rows: rows}
}

// value is one node of a file, or the text of one variable, with its place and the key that it stands under. It reads
// itself as the type that a key wants, and reports what is wrong.
type value struct {
	*reader

	pos   Position
	key   string
	want  string     // what would be right, for messages
	node  *yaml.Node // never an alias
	loose bool       // from the environment: text, whatever it looks like
}

// bad reports that the value is wrong.
func (v value) bad(format string, args ...any) {
	v.problem(Problem{v.pos, v.key, fmt.Sprintf(format, args...)})
}

// wrong reports that the value is not what is wanted.
func (v value) wrong(format string, args ...any) {
	v.bad("%s; want %s", fmt.Sprintf(format, args...), v.want)
}

func (v value) warning(format string, args ...any) {
	v.warn(Problem{v.pos, v.key, fmt.Sprintf(format, args...)})
}

// child is a node below v. The key is added with a dot, unless it is empty or an index.
func (v value) child(key string, n *yaml.Node) value {
	switch {
	case key == "":
	case v.key == "" || key[0] == '[':
		v.key += key
	default:
		v.key += "." + key
	}
	v.pos.Line, v.pos.Column = n.Line, n.Column
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	v.node, v.want = n, ""
	return v
}

func (v value) tag() string { return v.node.ShortTag() }

func (v value) isNull() bool { return v.tag() == nullTag && !v.loose }

// show is the value as a message shows it.
func (v value) show() string {
	switch tag := v.tag(); {
	case v.node.Kind != yaml.ScalarNode:
		return tagNames[tag]
	case tag == nullTag && !v.loose:
		return "nothing"
	case tag == strTag || v.loose:
		return quote(v.node.Value)
	default:
		return v.node.Value
	}
}

// quote quotes text and cuts it to what fits a line.
func quote(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// scalar is the text of a scalar with its replacements made, and whether it may be read as any type. Otherwise the tag
// has the last word. It reports lists, mappings and nothing.
func (v value) scalar() (text string, loose, ok bool) {
	switch {
	case v.isNull():
		v.wrong("has no value")
		return "", false, false
	case v.node.Kind != yaml.ScalarNode:
		v.wrong("is %s", v.show())
		return "", false, false
	case v.loose:
		return v.node.Value, true, true
	case v.tag() != strTag:
		return v.node.Value, false, true
	}
	text, ok = v.expand(v.node.Value)
	return text, text != v.node.Value, ok
}

// text reads a string. Other scalars are refused, because YAML may have read them as something that was not meant.
func (v value) text() (string, bool) {
	text, loose, ok := v.scalar()
	if ok && !loose && v.tag() != strTag {
		v.bad("%s is %s, not text; quote it: \"%s\"", text, tagNames[v.tag()], text)
		return "", false
	}
	if strings.ContainsRune(text, 0) {
		v.wrong("%s has a NUL character", quote(text))
		return "", false
	}
	return text, ok
}

// filled reads a string that is not empty.
func (v value) filled() (string, bool) {
	text, ok := v.text()
	if ok && text == "" {
		v.wrong("is empty")
		return "", false
	}
	return text, ok
}

// name reads a name of SPEC 2.
func (v value) name() (jobhost.Name, bool) {
	text, ok := v.text()
	if !ok {
		return "", false
	}
	if _, err := jobhost.ParseName(text); err != nil {
		v.bad("%v", err)
		return "", false
	}
	return text, true
}

// boolean reads true or false.
func (v value) boolean() (b, ok bool) {
	text, loose, ok := v.scalar()
	if !ok {
		return false, false
	}
	if word := strings.ToLower(text); (word == "true" || word == "false") && (loose || v.tag() == boolTag) {
		return word == "true", true
	}
	v.wrong("is %s", v.show())
	return false, false
}

// integer reads a decimal integer.
func (v value) integer() (int64, bool) {
	text, loose, ok := v.scalar()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !loose && v.tag() != intTag || strconv.FormatInt(n, 10) != text {
		v.wrong("is %s", v.show())
		return 0, false
	}
	return n, true
}

// integerIn reads an integer of at least low and at most high.
func integerIn[N int | int32 | uint64](v value, low, high int64) (N, bool) {
	n, ok := v.integer()
	if ok && (n < low || n > high) {
		v.wrong("%d is out of range", n)
		return 0, false
	}
	return N(n), ok
}

// duration reads a Go duration.
func (v value) duration() (time.Duration, bool) {
	text, _, ok := v.scalar()
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, true
	}
	unit := strings.TrimLeft(text, "0123456789.+-")
	switch {
	case text != "" && unit == "":
		v.wrong("%s has no unit", v.show())
	case unit == "d":
		v.wrong("%s is no duration, there is no day unit (a day is 24h)", v.show())
	default:
		v.wrong("%s is no duration", v.show())
	}
	return 0, false
}

// units are those of sizes. Decimal ones are left out: memory and files are counted in powers of two.
var units = []struct {
	name  string
	shift uint
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}

// size reads a number of bytes with its unit, or 0.
func (v value) size() (int64, bool) {
	text, _, ok := v.scalar()
	if !ok {
		return 0, false
	}
	if text == "0" {
		return 0, true
	}
	for _, u := range units {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 64)
		if err != nil || n < 0 || n > int64(1)<<62>>u.shift {
			break
		}
		return n << u.shift, true
	}
	v.wrong("%s is no size", v.show())
	return 0, false
}

// sizeText writes a size in the largest unit that divides it.
func sizeText[N int | int64 | uint64](n N) string {
	for _, u := range units {
		if n != 0 && n>>u.shift<<u.shift == n {
			return fmt.Sprintf("%d%s", n>>u.shift, u.name)
		}
	}
	return "0"
}

// items are the elements of a list; nothing is an empty one. A mapping with a valid name, or job, is labelled with it,
// others with their index.
func (v value) items() []value {
	if v.isNull() {
		return nil
	}
	if v.node.Kind != yaml.SequenceNode {
		v.wrong("is %s", v.show())
		return nil
	}
	items := make([]value, len(v.node.Content))
	for i, n := range v.node.Content {
		items[i] = v.child(fmt.Sprintf("[%d]", i), n)
		if name := items[i].label(); name != "" {
			items[i].key = fmt.Sprintf("%s[%s]", v.key, name)
		}
	}
	return items
}

// label is the valid name, or job, that a mapping has, or empty.
func (v value) label() string {
	if v.node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			k, n := v.node.Content[i], v.node.Content[i+1]
			if (k.Value == "name" || k.Value == "job") && n.ShortTag() == strTag && jobhost.ValidName(n.Value) {
				return n.Value
			}
		}
	}
	return ""
}

// texts reads a list of strings.
func (v value) texts() []string {
	v.want = "a list of text"
	var list []string
	for _, item := range v.items() {
		item.want = "text"
		if s, ok := item.text(); ok {
			list = append(list, s)
		}
	}
	return list
}
