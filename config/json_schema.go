package config

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Schema is a JSON Schema (draft 2020-12) of the configuration file, for editors that complete and check as one types. It is
// made from the table that the files are read by, and says a little less: what depends on other values, on the sense of a
// schedule or on variables is for [Load] alone.
func Schema() ([]byte, error) {
	root := object{Type: "object", Properties: map[string]*object{}, Additional: new(bool)}
	for _, r := range topKeys().list("") {
		if !r.later {
			root.add(strings.Split(r.path, "."), r)
		}
	}
	root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", "jobhost.yaml"
	return json.MarshalIndent(root, "", "  ")
}

// object is a schema.
type object struct {
	ID          string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"` // a word or several
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Default     any                `json:"default,omitempty"`
	Items       *object            `json:"items,omitempty"`
	Properties  map[string]*object `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *bool              `json:"additionalProperties,omitempty"` // nil: allowed
}

// add puts a key where its path says.
func (o *object) add(path []string, r row) {
	name, list := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		o.Properties[name] = r.schema()
		if r.required {
			o.Required = append(o.Required, name)
		}
		return
	}
	below := o.Properties[name]
	if list {
		if below.Items == nil {
			below.Items = &object{Type: "object"}
		}
		below = below.Items
	}
	if below.Properties == nil {
		below.Properties, below.Additional = map[string]*object{}, new(bool)
	}
	below.add(path[1:], r)
}

// schema is that of the key alone. Any text may name a variable, so that a number or a boolean may be written as text.
func (r row) schema() *object {
	o := &object{Description: upper(r.help)}
	if r.limits != "" && r.kind != aChoice.name {
		o.Description += " (" + r.limits + ")"
	}
	switch r.kind {
	case anInteger.name:
		o.Type = []string{"integer", "string"}
		if n, err := strconv.Atoi(r.def); err == nil {
			o.Default = n
			return o
		}
	case aBoolean.name:
		o.Type, o.Default = []string{"boolean", "string"}, r.def == "true"
		return o
	case aSize.name:
		o.Type = []string{"integer", "string"}
	case anObject.name:
		o.Type = []string{"object", "null"}
		if r.def == none {
			o.Type = []string{"object", "null", "string"}
		}
		return o
	case aList.name:
		o.Type = []string{"array", "null"}
		return o
	case aChoice.name:
		o.Type, o.Enum = "string", strings.Split(strings.NewReplacer(" or ", ", ").Replace(r.limits), ", ")
	case aDuration.name:
		o.Type, o.Pattern = "string", `^(none|0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+|.*\$\{.*)$`
	case aName.name:
		o.Type, o.Pattern = "string", `^([a-z0-9._-]{1,128}|.*\$\{.*)$`
	default:
		o.Type = "string"
	}
	if r.def != "" && !strings.ContainsAny(r.def, " <") {
		o.Default = r.def
	}
	return o
}
