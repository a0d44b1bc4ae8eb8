//go:build !linux && !darwin

package main

import "io"

func terminalWidth(io.Writer) int { return 0 }
