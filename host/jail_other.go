//go:build !unix

package host

// openNonblocking is nothing here: no name in a folder stands for something that waits.
const openNonblocking = 0
