//go:build unix && !linux

package host

import (
	"errors"
	"os"
)

// exchange changes two names for each other, with a moment between in which one is missing.
func exchange(root *os.Root) (swap func(a, b string) error, err error) {
	return func(a, b string) error {
		return errors.Join(root.Rename(a, a+"-aside"), root.Rename(b, a), root.Rename(a+"-aside", b))
	}, nil
}
