package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAWideTableIsFolded(t *testing.T) {
	table := func(width int) string {
		var b strings.Builder
		s := &sheet{out: &b, width: width}
		s.row("ID", "STATE", "STARTED", "ERROR")
		s.row("0123456789", "Running", "2026-10-01 08:00:00", "")
		s.row("1", "Ended", "2026-10-01 08:00:00", "öüß and more than fits")
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for width, want := range map[int]string{
		0: `ID          STATE    STARTED              ERROR
0123456789  Running  2026-10-01 08:00:00  -
1           Ended    2026-10-01 08:00:00  öüß and more than fits
`,
		64: `ID          STATE    STARTED              ERROR
0123456789  Running  2026-10-01 08:00:00  -
1           Ended    2026-10-01 08:00:00  öüß and more than fits
`,
		63: `ID          STATE    STARTED
  ERROR
0123456789  Running  2026-10-01 08:00:00
  -
1           Ended    2026-10-01 08:00:00
  öüß and more than fits
`,
		20: `ID          STATE
  STARTED
  ERROR
0123456789  Running
  2026-10-01 08:00:00
  -
1           Ended
  2026-10-01 08:00:00
  öüß and more than fits
`,
	} {
		if diff := cmp.Diff(table(width), want); diff != "" {
			t.Errorf("width %d, -got +want:\n%s", width, diff)
		}
	}
}

func TestWrappingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zö]{1,9}( {1,2}[a-zö]{1,9}){0,20}`).Draw(t, "text")
		width := rapid.IntRange(0, 30).Draw(t, "width")
		lines := wrap(text, width)
		if got := strings.Join(lines, " "); got != text {
			t.Errorf("%q became %q", text, lines)
		}
		for _, line := range lines {
			if n := len([]rune(line)); width > 0 && n > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("a line of %d characters could be broken: %q", n, line)
			}
		}
		if width == 0 && len(lines) != 1 {
			t.Errorf("%d lines without a limit", len(lines))
		}
	})
}

func TestTheWidthIsThatOfTheVariableElseOfATerminal(t *testing.T) {
	for columns, want := range map[string]int{"": 0, "80": 80, "1": 40, "0": 0, "-3": 0, "wide": 0} {
		if got := (&cli{out: &strings.Builder{}, environ: []string{"COLUMNS=" + columns}}).width(); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, got, want)
		}
	}
}
