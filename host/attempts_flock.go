//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package host

import (
	"os"
	"syscall"
)

// lockAttempt locks the mark of an attempt. The lock goes with the process, however it ends.
func lockAttempt(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// attemptLasts reports whether the process that marked an attempt is still there, perhaps this one.
func attemptLasts(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return true // it is over, and was no death
	}
	defer func() { _ = f.Close() }() // it was only read
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
