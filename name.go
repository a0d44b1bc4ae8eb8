package jobhost

import "fmt"

// Name is the name of a job, trigger, calendar, plugin or lease resource: 1 to 128 characters that match
// ^[a-z0-9][a-z0-9._-]{0,127}$ (SPEC 2).
type Name = string

// MaxName is the most characters a [Name] may have.
const MaxName = 128

// ParseName returns s when it is a valid name and otherwise an error that says what is wrong and where.
func ParseName(s string) (Name, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("name is empty; want 1 to %d of a-z, 0-9, '.', '_', '-'", MaxName)
	case len(s) > MaxName:
		return "", fmt.Errorf("name %.16q… has %d characters, at most %d are allowed", s, len(s), MaxName)
	}
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		case i == 0 && (c == '.' || c == '_' || c == '-'):
			return "", fmt.Errorf("name %q starts with %q; want a letter a-z or a digit", s, c)
		case c >= 'A' && c <= 'Z':
			return "", fmt.Errorf("name %q has the capital %q; want lower case only", s, c)
		default:
			return "", fmt.Errorf("name %q has %q at character %d; want a-z, 0-9, '.', '_', '-'", s, []rune(s[i:])[0], i+1)
		}
	}
	return s, nil
}

// ValidName reports whether s is a valid name. It is for names that come from outside, before they are used.
func ValidName(s string) bool {
	_, err := ParseName(s)
	return err == nil
}
