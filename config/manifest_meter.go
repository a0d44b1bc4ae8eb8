package config

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// meter bounds the work of a check. The author of a schema is not trusted: without a bound a few lines of it and of data
// would keep the host busy for years. Each part of a schema charges before it is applied; when the check has spent what it
// has, or its context has ended, the meter panics with errTooMuch.
//
// The library has no hook for that, so the format of each part is used as one: it is asked before anything that takes time,
// and formats assert nothing in the draft that is read.
type meter struct {
	ctx  context.Context //nolint:containedctx // of the check in progress
	left int
	look int // when the context is looked at next

	expressions *expressions // of the schema
}

// applying is what it costs to apply a part to a value, apart from what that depends on.
const applying = 16

var errTooMuch = errors.New("the check takes too much")

const (
	maxWork   = 3_000_000   // what a check may spend; a second or two on a slow machine
	maxOfAll  = 4 * maxWork // the same of all jobs of a plugin together, when a configuration is read
	lookEvery = 10_000      // spent between two looks at the context
)

func (m *meter) start(ctx context.Context, left int) { m.ctx, m.left, m.look = ctx, left, left }

func (m *meter) charge(n int) {
	m.left -= n
	if m.left < 0 {
		panic(errTooMuch)
	}
	if m.left <= m.look {
		m.look = m.left - lookEvery
		if m.ctx.Err() != nil {
			panic(errTooMuch)
		}
	}
}

// attach makes each part that can be reached from root charge, and returns how many there are.
func (m *meter) attach(root *jsonschema.Schema) int {
	seen := map[*jsonschema.Schema]bool{root: true}
	queue := []*jsonschema.Schema{root}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		p := parts(s)
		for _, list := range [][]*jsonschema.Schema{p.here, p.each, p.one} {
			for _, c := range list {
				if !seen[c] {
					seen[c] = true
					queue = append(queue, c)
				}
			}
		}
		if s.Bool == nil {
			s.Format = m.format(s, p)
		}
	}
	return len(queue)
}

// format charges for applying s to a value: for what s itself does, and for that part of its parts' work which they do
// before they charge.
func (m *meter) format(s *jsonschema.Schema, p applied) *jsonschema.Format {
	here, each, one := applying+len(s.Required)+len(s.DependentRequired)+total(p.here), total(p.each), 0
	for _, c := range p.one {
		one = max(one, early(c))
	}
	return &jsonschema.Format{Name: "work", Validate: func(v any) error {
		m.charge(here)
		switch v := v.(type) {
		case map[string]any:
			m.charge(len(v) * (1 + each + one))
		case []any:
			m.charge(len(v) * (1 + each + one))
			if s.UniqueItems {
				m.charge(10 * size(v)) // up to 20 items are compared each with each, more by their hashes
			}
		case string:
			m.charge(len(v) / 64)
		}
		return nil
	}}
}

func total(parts []*jsonschema.Schema) (n int) {
	for _, p := range parts {
		n += early(p)
	}
	return n
}

// early is the work of a part before it charges: comparing with the values of enum and const.
func early(s *jsonschema.Schema) int {
	n := 1
	if s.Enum != nil {
		n += size(s.Enum.Values)
	}
	if s.Const != nil {
		n += size(*s.Const)
	}
	return n
}

// size is how much there is to compare in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			n += 1 + len(k)/64 + size(item)
		}
	case []any:
		for _, item := range v {
			n += size(item)
		}
	case string:
		n += len(v) / 64
	case json.Number:
		n += 4
	}
	return n
}

// applied are the schemas in a schema, by how often they are applied: to the same value, to each value in it, or each value
// in it to one of them.
type applied struct{ here, each, one []*jsonschema.Schema }

func parts(s *jsonschema.Schema) (p applied) {
	add := func(to *[]*jsonschema.Schema, schemas ...*jsonschema.Schema) {
		for _, c := range schemas {
			if c != nil {
				*to = append(*to, c)
			}
		}
	}
	add(&p.here, s.Ref, s.Not, s.If, s.Then, s.Else)
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		add(&p.here, list...)
	}
	for _, c := range s.DependentSchemas {
		add(&p.here, c)
	}
	for _, d := range s.Dependencies {
		if c, ok := d.(*jsonschema.Schema); ok {
			add(&p.here, c)
		}
	}
	add(&p.each, s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains, s.Items2020, s.ContentSchema)
	if c, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		add(&p.each, c)
	}
	for _, c := range s.PatternProperties {
		add(&p.each, c)
	}
	for _, c := range s.Properties {
		add(&p.one, c)
	}
	add(&p.one, s.PrefixItems...)
	return p
}
