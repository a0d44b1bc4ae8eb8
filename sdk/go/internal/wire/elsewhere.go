//go:build !wasip1

package wire

// here is the host of this process, which has none.
func here() (Host, bool) { return nil, false }
