//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package host

import "os"

// lockAttempt does nothing here.
func lockAttempt(*os.File) error { return nil }

// attemptLasts cannot know here: other processes that compile the same module at the same time count as dead ones.
func attemptLasts(string) bool { return false }
