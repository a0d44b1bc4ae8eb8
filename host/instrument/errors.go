package instrument

import (
	"fmt"
	"strings"
)

// Kind says what is wrong with a module.
type Kind uint8

// The kinds of error.
const (
	NotWasm     Kind = iota + 1 // the bytes are no WebAssembly module at all
	Truncated                   // the module ends too early; it was cut off
	Component                   // a component of the component model, or another layer or version than a core module
	Unsupported                 // it uses a feature that is not supported, named in Error.Feature
	Malformed                   // a count, length, index, order or number is wrong
	TooLarge                    // it is beyond a limit
	Reserved                    // it uses a name that belongs to the host
)

// Error says why a module cannot be used. Every error of this package is one.
type Error struct {
	Kind    Kind
	Section string // the section's name, such as "code"; empty for the module as a whole
	Func    int    // the function's index, imported functions first; -1 when it is not about one
	Name    string // the function's name in the module's name section, if it has one
	Offset  int    // where in the module, in bytes; -1 when it is not about a place
	Feature string // the feature's usual name, such as "threads"; only for Unsupported
	Msg     string // what is wrong, with the value and the limit
}

// Error returns the place and what is wrong in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Section != "" {
		fmt.Fprintf(&b, "%s section: ", e.Section)
	}
	if e.Func >= 0 {
		fmt.Fprintf(&b, "function %d", e.Func)
		if e.Name != "" {
			fmt.Fprintf(&b, " (%.200s)", e.Name)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at byte %d)", e.Offset)
	}
	return b.String()
}
