package main

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sheet aligns columns. A table that is wider than a terminal is folded: each row, and the head, goes on in further lines that
// are indented, all of them broken at the same columns.
type sheet struct {
	out   io.Writer
	width int // most characters of a line; 0: no limit
	rows  [][]string
}

// between and indent are what stands between columns, and before those that did not fit.
const between, indent = "  ", "  "

func (c *cli) newTable() *sheet { return &sheet{out: c.out, width: c.width()} }

// width is how many characters a line of standard output has, by the variable COLUMNS or else of the terminal; 0: no limit.
func (c *cli) width() int {
	const least = 40 // on less nothing can be read, folded or not
	if n, err := strconv.Atoi(c.variable("COLUMNS")); err == nil && n > 0 {
		return max(n, least)
	}
	if n := terminalWidth(c.out); n > 0 {
		return max(n, least)
	}
	return 0
}

// row adds one line. An empty cell is a dash, so that columns can be counted.
func (s *sheet) row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		if row[i] = oneLine(cell); row[i] == "" {
			row[i] = "-"
		}
	}
	s.rows = append(s.rows, row)
}

// flush writes the table.
func (s *sheet) flush() error {
	var widths []int
	for _, row := range s.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	breaks := s.fold(widths)
	var b strings.Builder
	for _, row := range s.rows {
		for i, cell := range row {
			switch {
			case breaks[i]:
				b.WriteString("\n" + indent)
			case i > 0:
				b.WriteString(between)
			}
			b.WriteString(cell)
			if i+1 < len(row) && !breaks[i+1] {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// fold says before which columns lines are broken.
func (s *sheet) fold(widths []int) map[int]bool {
	breaks := map[int]bool{}
	used := 0
	for i, w := range widths {
		if i > 0 {
			w += len(between)
		}
		if used += w; s.width > 0 && used > s.width && i > 0 {
			breaks[i] = true
			used = len(indent) + widths[i]
		}
	}
	return breaks
}

// pairs writes a description: a name and a value a line, those without a value left out. A value goes on below itself where a line
// is too short for it.
func (c *cli) pairs(cells ...string) error {
	names := 0
	for i := 0; i+1 < len(cells); i += 2 {
		if cells[i+1] != "" {
			names = max(names, utf8.RuneCountInString(cells[i])+len(":"))
		}
	}
	width := c.width()
	if width > 0 {
		width = max(20, width-names-len(between))
	}
	var b strings.Builder
	for i := 0; i+1 < len(cells); i += 2 {
		if cells[i+1] == "" {
			continue
		}
		name := cells[i] + ":"
		for _, line := range wrap(oneLine(cells[i+1]), width) {
			b.WriteString(name + strings.Repeat(" ", names-utf8.RuneCountInString(name)) + between + line + "\n")
			name = ""
		}
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// wrap breaks text between words into lines of at most so many characters; 0: no limit. A word that is longer is not broken.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "" && len(lines) == 0:
			line = word
		case width > 0 && utf8.RuneCountInString(line)+len(" ")+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
