package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange changes two names for each other, so that there is no moment without either.
func exchange(root *os.Root) (swap func(a, b string) error, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	return func(a, b string) error {
		return unix.Renameat2(int(dir.Fd()), a, int(dir.Fd()), b, unix.RENAME_EXCHANGE)
	}, nil
}
