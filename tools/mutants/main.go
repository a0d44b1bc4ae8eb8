// Mutants breaks one rule at a time in a copy of the tree and requires that a numbered case turns red: a rule whose break
// no case notices is a rule that is not tested. It needs nothing but the go command.
//
//	go run ./mutants -dir ..
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is a line of mutants.txt: a file, what stands in it once, and what is to stand there instead.
type mutant struct {
	name, file, old, new string
}

//go:embed mutants.txt
var list []byte

func main() {
	dir := flag.String("dir", "..", "the module to break a copy of")
	only := flag.String("run", "", "only mutants whose name matches this regular expression")
	flag.Parse()
	if err := run(*dir, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(dir, only string, out io.Writer) error {
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !match.MatchString(m.name) })
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sources{os.DirFS(dir)}); err != nil {
		return err
	}
	survived := 0
	for _, m := range mutants {
		red, err := try(work, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if len(red) == 0 {
			survived++
			fmt.Fprintf(out, "SURVIVED  %s (%s)\n", m.name, m.file)
			continue
		}
		fmt.Fprintf(out, "killed    %s: %s\n", m.name, strings.Join(red, " "))
	}
	fmt.Fprintf(out, "%d mutants, %d killed by a numbered case, %d survived\n", len(mutants), len(mutants)-survived, survived)
	if survived > 0 {
		return errors.New("a rule can be broken without a numbered case noticing")
	}
	return nil
}

// parse reads blocks of four lines: name, file, old, new. Blank lines and lines that begin with # are between them.
func parse(text []byte) ([]mutant, error) {
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if l := s.Text(); l != "" && !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	if len(lines)%4 != 0 {
		return nil, fmt.Errorf("mutants.txt has %d lines, want four for each mutant", len(lines))
	}
	var out []mutant
	for block := range slices.Chunk(lines, 4) {
		value := func(i int, key string) string { return strings.TrimPrefix(block[i], key+": ") }
		out = append(out, mutant{value(0, "name"), value(1, "file"), value(2, "old"), value(3, "new")})
	}
	return out, nil
}

// sources is a tree without what is built or kept beside the code.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return name == "." && slices.Contains([]string{".git", ".jobhost", "bin", "out", "bench", "tools"}, e.Name())
	}), err
}

var number = regexp.MustCompile(`\b(S-\d+|FR-\d+)`)

// try breaks the rule, runs the tests of its package, mends it, and returns the numbered cases that failed.
func try(work string, m mutant) (red []string, err error) {
	path := filepath.Join(work, m.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(whole), m.old); n != 1 {
		return nil, fmt.Errorf("%q stands %d times in %s, want once", m.old, n, m.file)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(whole), m.old, m.new, 1)), 0o600); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, whole, 0o600)) }()
	cmd := exec.Command("go", "test", "-json", "-vet=off", "-timeout=120s", "./"+filepath.ToSlash(filepath.Dir(m.file)))
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "JOBHOST_STORES=memory")
	out, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, err
	}
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test string }
		if json.Unmarshal(line, &event) != nil || event.Action != "fail" && event.Action != "build-fail" {
			continue
		}
		if event.Action == "build-fail" {
			return nil, errors.New("it does not compile")
		}
		red = append(red, number.FindAllString(event.Test, -1)...)
	}
	slices.Sort(red)
	return slices.Compact(red), nil
}
