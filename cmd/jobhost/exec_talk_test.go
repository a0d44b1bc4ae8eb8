package main

import (
	"strings"
	"testing"
)

// What a plugin says cannot look like what exec says after it.
func TestEachEntryOfATrialIsOneLine(t *testing.T) {
	var out strings.Builder
	c := &cli{err: &out}
	talk{c}.Log(0, "done\r\ntook 1ms, fuel 1, memory 0.06 MiB\njobhost: fine\x1b[2J")
	talk{c}.Progress(1, 2, "half\nway")
	want := `done  took 1ms, fuel 1, memory 0.06 MiB jobhost: fine\x1b[2J` + "\nprogress: 1 of 2 half way\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
