package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxPattern      = 4 << 10   // bytes of a regular expression
	maxInstructions = 100_000   // of all regular expressions of a schema, as estimated before they are compiled
	maxMatch        = 4_000_000 // characters times instructions of one match, which cannot be interrupted
	matchRate       = 64        // the same, for one unit of work
	runesRate       = 8         // bounds of character classes that count like one instruction
)

// expressions are the regular expressions of a schema. Each is compiled once, however many checks go on side by side, and only
// after it has been found to be small enough: a few bytes such as x{1000} can stand for thousands of instructions.
type expressions struct {
	mu sync.Mutex

	left  int // instructions that may still be compiled
	known map[string]expression
}

// expression is a regular expression, or why there is none.
type expression struct {
	*regexp.Regexp
	size int // instructions, rather too many than too few
	err  error
}

func newExpressions() *expressions {
	return &expressions{left: maxInstructions, known: map[string]expression{}}
}

// get compiles a regular expression of RE2, unless it was compiled before.
func (e *expressions) get(text string) expression {
	e.mu.Lock()
	defer e.mu.Unlock()
	re, ok := e.known[text]
	if !ok {
		re = e.compile(text)
		e.known[text] = re
	}
	return re
}

func (e *expressions) compile(text string) expression {
	if len(text) > maxPattern {
		return expression{err: fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), maxPattern)}
	}
	if e.left <= 0 {
		return expression{err: errInstructions}
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return expression{err: err}
	}
	size, bounds := estimate(parsed)
	size += 4 // the match as a whole
	if e.left -= size + bounds/runesRate; e.left < 0 {
		e.left = 0
		return expression{err: errInstructions}
	}
	re, err := regexp.Compile(text)
	return expression{re, size, err}
}

var errInstructions = fmt.Errorf("the patterns of a schema may take %d instructions in all; use smaller repetitions, or fewer patterns", maxInstructions)

// estimate says how many instructions an expression takes once its repetitions are written out, at least as many as there will
// be, and how many bounds its character classes have, which are stored once. Both end where they are too many.
func estimate(re *syntax.Regexp) (size, bounds int) {
	const enough = 100 * maxInstructions // no product of two overflows
	bounds = len(re.Rune)
	for _, sub := range re.Sub {
		n, b := estimate(sub)
		size, bounds = min(size+n, enough), min(bounds+b, enough)
	}
	switch {
	case re.Op == syntax.OpLiteral:
		size, bounds = len(re.Rune), 0
	case re.Op == syntax.OpRepeat:
		size = (size + 1) * max(re.Min+1, re.Max)
	case re.Op != syntax.OpConcat:
		size += max(len(re.Sub), 2)
	}
	return min(size, enough), bounds
}

// pattern is a regular expression that charges for each match.
type pattern struct {
	*regexp.Regexp
	meter *meter
	size  int
}

// regexp makes a regular expression whose matches are charged. The time of RE2 grows with text and expression and no further.
func (m *meter) regexp(text string) (jsonschema.Regexp, error) {
	re := m.expressions.get(text)
	if re.err != nil {
		return nil, re.err
	}
	return &pattern{re.Regexp, m, re.size}, nil
}

// MatchString reports whether s has a match.
func (p *pattern) MatchString(s string) bool {
	work := (len(s) + 1) * p.size
	if work > maxMatch {
		panic(errTooMuch)
	}
	p.meter.charge(1 + work/matchRate)
	return p.Regexp.MatchString(s)
}
