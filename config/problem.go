package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jobhost/jobhost"
)

// Position is a place in a source: a file's line and column, from 1 and in characters. Line 0 is the file as a whole.
// For an environment variable File is its name behind a dollar sign.
type Position struct {
	File         string
	Line, Column int
}

// String returns file:line:column.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong with the sources, or as a warning looks wrong.
type Problem struct {
	Pos Position
	Key string // such as scheduler.poll_interval or jobs[nightly].triggers[default].schedule; empty: of the whole source
	Msg string // the value and what would be right; lower case
}

// Error returns place, key and message in one line.
func (p Problem) Error() string {
	var b strings.Builder
	for _, s := range []string{p.Pos.String(), p.Key, p.Msg} {
		if s != "" && b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(oneLine(s))
	}
	return b.String()
}

// Unwrap returns the same problem as a [jobhost.Error] with [jobhost.InvalidDefinition].
func (p Problem) Unwrap() error {
	return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "config.load", Msg: p.Key + ": " + p.Msg}
}

// Problems are all problems of the sources, in the order of files and lines. They are the error of [Load].
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems one by one.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// maxProblems bounds a list: a wrong file of 4 MiB could have a million of them.
const maxProblems = 200

// report collects problems and warnings.
type report struct {
	problems Problems
	warnings Problems
	more     int // problems beyond maxProblems
}

// problem adds a problem, once for each place: what is wrong under an anchor is wrong wherever it is used.
func (r *report) problem(p Problem) {
	if slices.ContainsFunc(r.problems, func(o Problem) bool { return o.Pos == p.Pos && o.Msg == p.Msg }) {
		return
	}
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, p)
}

func (r *report) warn(p Problem) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, p)
	}
}

// sorted returns the problems in the order of files, and how many there are beyond the list.
func (r *report) sorted(files []File) Problems {
	sortProblems(r.problems, files)
	if r.more > 0 {
		return append(r.problems, Problem{Msg: fmt.Sprintf("and %d more problems", r.more)})
	}
	return r.problems
}

// err is the same as an error, or nil.
func (r *report) err(files []File) error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.sorted(files)
}

// sortProblems puts problems in the order of files, then lines; environment variables come last.
func sortProblems(ps Problems, files []File) {
	rank := make(map[string]int, len(files))
	for i, f := range files {
		rank[f.Name] = i - len(files)
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(rank[a.Pos.File], rank[b.Pos.File]), cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
}

// oneLine keeps text from files from breaking a list of lines or a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(s, "\n", "; "))
}
