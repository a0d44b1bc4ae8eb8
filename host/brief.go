package host

import (
	"fmt"
	"strings"
	"unicode"
)

// What the host repeats of a module, or of a file beside one. Whoever can drop a file into the plugin folder chooses these
// texts, and they go to logs, to the API and to terminals.
const (
	maxShown   = 80      // characters of a name
	maxType    = 16      // parameters of a function, and results
	maxListed  = 20      // names in a list
	maxProblem = 4 << 10 // bytes of a problem
)

// shown is a name that a module chose, as far as it is repeated. What no print has, such as controls of terminals, is replaced.
func shown(name string) string {
	n := 0
	for i := range name {
		if n == maxShown {
			return printed(name[:i]) + "…"
		}
		n++
	}
	return printed(name)
}

// printed shares no memory with name if that is a part of something large.
func printed(name string) string {
	return strings.Clone(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name))
}

// listed is names, with commas, as far as they are repeated.
func listed(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}

// briefError is an error whose text is a bounded one.
type briefError struct {
	text string
	err  error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.err }

// brief bounds the text of what is wrong with a file.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxProblem {
		return err
	}
	return &briefError{briefText(text), err}
}

func briefText(text string) string {
	if len(text) <= maxProblem {
		return text
	}
	const mark = "…"
	return string(cut([]byte(text[:maxProblem]), maxProblem-len(mark))) + mark
}
