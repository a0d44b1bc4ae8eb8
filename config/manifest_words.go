package config

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	schemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain is the fault that is most worth reading, of what was checked. Unless the data is whole, what is only missing is none.
func explain(err *jsonschema.ValidationError, v any, whole bool) error {
	f := worst(err, whole)
	if strings.HasPrefix(f.words, lacks) {
		return &misfit{at: f.at, msg: f.words}
	}
	return &misfit{at: f.at, msg: "is " + show(lookUp(v, f.at)) + "; " + f.words}
}

const lacks = "lacks "

// fault is one rule that a value breaks.
type fault struct {
	at    []string
	words string
	tag   bool // the value is another one than the one that is wanted, as where it says which alternative is meant
}

// worst goes down to the fault to show: the first in the order of places.
func worst(err *jsonschema.ValidationError, whole bool) fault {
	f := fault{at: err.InstanceLocation, words: ruleWords(err.ErrorKind)}
	if f.words != "" {
		switch err.ErrorKind.(type) {
		case *schemakind.Const, *schemakind.Enum:
			f.tag = true
		}
		return f
	}
	causes := slices.Clone(err.Causes)
	if !whole {
		causes = slices.DeleteFunc(causes, onlyMissing)
	}
	if len(causes) == 0 {
		f.words = "does not fit the schema"
		return f
	}
	slices.SortStableFunc(causes, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation) // the library walks objects in any order
	})
	switch err.ErrorKind.(type) {
	case *schemakind.AnyOf, *schemakind.OneOf:
		return alternatives(f, causes, whole)
	}
	return worst(causes[0], whole)
}

// alternatives shows the fault of the alternative that is most likely meant: one that fails by something else than by its
// tag, and as far down as possible. When several fail at the same place, it shows all of them.
func alternatives(f fault, causes []*jsonschema.ValidationError, whole bool) fault {
	var best fault
	var all []string
	for i, c := range causes {
		found := worst(c, whole)
		switch {
		case i > 0 && slices.Equal(best.at, found.at):
			if words := strings.TrimPrefix(found.words, "want "); !slices.Contains(all, words) && found.words != all[0] {
				all = append(all, words)
			}
		case i == 0, best.tag && !found.tag, best.tag == found.tag && len(found.at) > len(best.at):
			best, all = found, []string{found.words}
		}
	}
	if best.words = strings.Join(all, ", or "); len(all) > 3 {
		f.words = fmt.Sprintf("fits none of %d alternatives", len(causes))
		return f
	}
	return best
}

// onlyMissing reports whether what is wrong could be mended by laying more over the data: keys at the top that are missing.
func onlyMissing(err *jsonschema.ValidationError) bool {
	switch err.ErrorKind.(type) {
	case *schemakind.Required, *schemakind.DependentRequired, *schemakind.MinProperties:
		return len(err.InstanceLocation) == 0
	case *schemakind.Not:
		return len(err.InstanceLocation) == 0
	case *schemakind.AnyOf:
		return slices.ContainsFunc(err.Causes, onlyMissing)
	case *schemakind.OneOf:
		return len(err.Causes) == 0 && len(err.InstanceLocation) == 0 || slices.ContainsFunc(err.Causes, onlyMissing)
	}
	return len(err.Causes) > 0 && !slices.ContainsFunc(err.Causes, func(c *jsonschema.ValidationError) bool { return !onlyMissing(c) })
}

// ruleWords says a rule; empty where what is below says more.
func ruleWords(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *schemakind.Type:
		return "want " + strings.Join(withArticles(k.Want), " or ")
	case *schemakind.Enum:
		return "want " + oneOf(k.Want)
	case *schemakind.Const:
		return "want " + show(k.Want)
	case *schemakind.Required:
		return lacks + quoted(k.Missing)
	case *schemakind.DependentRequired:
		return fmt.Sprintf("%s%s, which goes with %s", lacks, quoted(k.Missing), quote(k.Prop))
	case *schemakind.AdditionalProperties:
		slices.Sort(k.Properties)
		return "the schema has no " + quoted(k.Properties)
	case *schemakind.FalseSchema:
		return "nothing may stand here"
	case *schemakind.Minimum:
		return "want " + ratio(k.Want) + " or more"
	case *schemakind.Maximum:
		return "want " + ratio(k.Want) + " or less"
	case *schemakind.ExclusiveMinimum:
		return "want more than " + ratio(k.Want)
	case *schemakind.ExclusiveMaximum:
		return "want less than " + ratio(k.Want)
	case *schemakind.MultipleOf:
		return "want a multiple of " + ratio(k.Want)
	case *schemakind.MinLength:
		return fmt.Sprintf("want %d characters or more", k.Want)
	case *schemakind.MaxLength:
		return fmt.Sprintf("want at most %d characters", k.Want)
	case *schemakind.Pattern:
		return "want text that matches " + quote(k.Want)
	case *schemakind.MinItems:
		return fmt.Sprintf("want %d items or more", k.Want)
	case *schemakind.MaxItems:
		return fmt.Sprintf("want at most %d items", k.Want)
	case *schemakind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *schemakind.Contains:
		return "no item is what the schema wants one to be"
	case *schemakind.MinContains:
		return fmt.Sprintf("%d items are what the schema wants %d to be", len(k.Got), k.Want)
	case *schemakind.MaxContains:
		return fmt.Sprintf("%d items are what the schema wants at most %d to be", len(k.Got), k.Want)
	case *schemakind.MinProperties:
		return fmt.Sprintf("want %d keys or more", k.Want)
	case *schemakind.MaxProperties:
		return fmt.Sprintf("want at most %d keys", k.Want)
	case *schemakind.PropertyNames:
		return "the key " + quote(k.Property) + " is not of the form that the schema wants"
	case *schemakind.Not:
		return "the schema excludes this"
	case *schemakind.OneOf:
		if len(k.Subschemas) == 2 {
			return "fits two alternatives of which the schema wants one"
		}
	case *schemakind.RefCycle:
		return "the schema refers to itself without end"
	case *schemakind.Format: // only schemas themselves are held against one
		return fmt.Sprintf("want a %s: %v", k.Want, k.Err)
	}
	return ""
}

// withArticles are the types of JSON as people say them.
func withArticles(types []string) []string {
	words := map[string]string{
		"null": "null", "boolean": "true or false", "number": "a number", "integer": "an integer", "string": "text", "array": "a list", "object": "a mapping",
	}
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = words[t]
	}
	return out
}

func oneOf(values []any) string {
	const most = 12
	list := make([]string, 0, most+1)
	for _, v := range values[:min(len(values), most)] {
		list = append(list, show(v))
	}
	if len(values) > most {
		list = append(list, fmt.Sprintf("%d more", len(values)-most))
	}
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

func quoted(keys []string) string {
	const most = 8
	list := make([]string, 0, most+1)
	for _, k := range keys[:min(len(keys), most)] {
		list = append(list, quote(k))
	}
	if len(keys) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

func ratio(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	if n, exact := r.FloatPrec(); exact {
		return r.FloatString(n)
	}
	return r.String()
}

// show writes a value for a message, and no more of it than fits a line.
func show(v any) string {
	const most = 80
	switch v := v.(type) {
	case string:
		return quote(v)
	case map[string]any:
		if len(v) > 8 {
			return fmt.Sprintf("a mapping of %d keys", len(v))
		}
	case []any:
		if len(v) > 8 {
			return fmt.Sprintf("a list of %d items", len(v))
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "…"
	}
	return string(b)
}

// lookUp is the value at a place.
func lookUp(v any, at []string) any {
	for _, token := range at {
		switch in := v.(type) {
		case map[string]any:
			v = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}
