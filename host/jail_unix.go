//go:build unix

package host

import "syscall"

// openNonblocking keeps an open from waiting, whatever is there by the time it is opened.
const openNonblocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
