// Command runaway never ends by itself. It shows that a time limit ends a run whatever the guest is doing.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "going round in circles; only a time limit can end this")
	fmt.Fprintln(os.Stderr, "never said:", spin(1))
}

// spin computes without a pause, a call or an end: an odd number is never 0.
func spin(n uint32) uint32 {
	for n != 0 {
		n = n*1664525 + 1013904223 | 1
	}
	return n
}
