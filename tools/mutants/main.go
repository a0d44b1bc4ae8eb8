// Mutants breaks one rule at a time in a copy of the tree and requires that a numbered case turns red: a rule whose break
// no case notices is a rule that is not tested. It needs nothing but the go command.
//
//	go run ./mutants -dir ..
//
// A mutant is judged by the numbered cases of its own package, over the memory store, until the first one is red. A case that
// was running when its process panicked, hung or ran out of time is red too. Before anything is broken the cases must all
// pass.
package main

import (
	"bufio"
	"bytes"
	"cmp"
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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A mutant is a block of mutants.txt: the folder of a package, what stands once in its files, tests aside, and what is to
// stand there instead.
type mutant struct {
	name, dir, old, new string
}

//go:embed mutants.txt
var list []byte

func main() {
	dir := flag.String("dir", "..", "the module to break copies of")
	only := flag.String("run", "", "only mutants whose name matches this regular expression")
	workers := flag.Int("j", runtime.NumCPU(), "how many mutants are tried at the same time")
	flag.Parse()
	if err := run(*dir, *only, *workers, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(dir, only string, workers int, out io.Writer) error {
	began := time.Now()
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !match.MatchString(m.name) })
	trees := make([]string, max(1, workers))
	for i := range trees {
		if trees[i], err = copyOf(dir); err != nil {
			return err
		}
		defer os.RemoveAll(trees[i])
	}
	if err := allPass(trees[0], mutants); err != nil {
		return err
	}
	results := tryAll(trees, mutants)
	survived, failed := 0, []error(nil)
	for i, m := range mutants {
		switch r := results[i]; {
		case r.err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", m.name, r.err))
		case len(r.red) == 0:
			survived++
			fmt.Fprintf(out, "SURVIVED  %s (%s)\n", m.name, m.dir)
		default:
			fmt.Fprintf(out, "killed    %s: %s\n", m.name, strings.Join(r.red, " "))
		}
	}
	fmt.Fprintf(out, "%d mutants, %d killed by a numbered case, %d survived, %d could not be tried, in %v\n",
		len(mutants), len(mutants)-survived-len(failed), survived, len(failed), time.Since(began).Round(time.Second))
	if survived > 0 {
		failed = append(failed, errors.New("a rule can be broken without a numbered case noticing"))
	}
	return errors.Join(failed...)
}

// parse reads blocks of four lines: name, package, old, new. Blank lines and lines that begin with # are between them.
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
		var values [4]string
		for i, key := range []string{"name: ", "package: ", "old: ", "new: "} {
			value, ok := strings.CutPrefix(block[i], key)
			if !ok {
				return nil, fmt.Errorf("mutants.txt: %q stands where a line with %q should", block[i], key)
			}
			values[i] = value
		}
		m := mutant{values[0], "./" + values[1], values[2], values[3]}
		if slices.ContainsFunc(out, func(o mutant) bool { return o.name == m.name }) {
			return nil, fmt.Errorf("mutants.txt: two mutants are called %q", m.name)
		}
		out = append(out, m)
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

func copyOf(dir string) (string, error) {
	tree, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", err
	}
	return tree, os.CopyFS(tree, sources{os.DirFS(dir)})
}

// allPass runs the cases of every package that has a mutant, with nothing broken.
func allPass(tree string, mutants []mutant) error {
	var dirs []string
	for _, m := range mutants {
		dirs = append(dirs, m.dir)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		red, err := test(tree, dir)
		if err == nil && len(red) > 0 {
			err = fmt.Errorf("fails before anything is broken: %s", strings.Join(red, " "))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

type result struct {
	red []string
	err error
}

// tryAll tries each mutant in one of the trees.
func tryAll(trees []string, mutants []mutant) []result {
	results := make([]result, len(mutants))
	next := make(chan int)
	var working sync.WaitGroup
	for _, tree := range trees {
		working.Go(func() {
			for i := range next {
				results[i].red, results[i].err = try(tree, mutants[i])
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	working.Wait()
	return results
}

// try breaks the rule, runs the cases of its package, mends it, and returns the numbered cases that are red.
func try(tree string, m mutant) (red []string, err error) {
	file, whole, err := find(filepath.Join(tree, filepath.FromSlash(m.dir)), m.old)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(strings.Replace(whole, m.old, m.new, 1)), 0o600); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, []byte(whole), 0o600)) }()
	return test(tree, m.dir)
}

// find is the file of a folder, tests aside, in which a text stands, and what it says. The text must stand there once.
func find(dir, text string) (file, whole string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", "", err
	}
	n := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return "", "", err
		}
		if here := strings.Count(string(b), text); here > 0 {
			n += here
			file, whole = f, string(b)
		}
	}
	if n != 1 {
		return "", "", fmt.Errorf("%q stands %d times in the package, want once", text, n)
	}
	return file, whole, nil
}

// numbered selects the tests that carry a case's number: those of a suite are below the name of their store. A test
// without such a name below it is run too, so what takes long stands in a subtest.
const numbered = `/(^(memory|shared)$|S-|FR-)/(S-|FR-)`

// test runs the numbered cases of a package and returns those that are red. The flags make all trees share what was built
// for one of them.
func test(tree, dir string) (red []string, err error) {
	cmd := exec.Command("go", "test", "-json", "-short", "-failfast", "-vet=off", "-timeout=20s", "-gcflags=-N -l", "-ldflags=-s -w", "-run="+numbered, dir)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "JOBHOST_STORES=memory", "GOFLAGS=-trimpath -buildvcs=false", "GOGC=400")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	events, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, err
	}
	red, err = readEvents(events)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &stderr)
	}
	return red, nil
}

var number = regexp.MustCompile(`(?:^|[^A-Za-z0-9])((?:S|FR)-[0-9]+)`)

// numbersIn finds the cases that the name of a test carries.
func numbersIn(name string) (found []string) {
	for _, m := range number.FindAllStringSubmatch(name, -1) {
		found = append(found, m[1])
	}
	return found
}

// readEvents returns the numbers of the cases that failed, or were running when their process ended. It is an error when
// the package failed and no test did, or when no numbered case was run at all.
func readEvents(events []byte) (red []string, err error) {
	running, cases, tests, broken := map[string]bool{}, 0, 0, ""
	for line := range bytes.Lines(events) {
		var e struct{ Action, Test string }
		if json.Unmarshal(line, &e) != nil {
			continue // what the go command prints beside the events
		}
		switch {
		case e.Action == "build-fail":
			return nil, errors.New("it does not compile")
		case e.Test == "":
			broken = cmp.Or(broken, map[string]string{"fail": "the package fails"}[e.Action])
		case e.Action == "run" || e.Action == "cont":
			running[e.Test] = true
		case e.Action == "pause" || e.Action == "pass" || e.Action == "skip":
			delete(running, e.Test)
		case e.Action == "fail":
			delete(running, e.Test)
			tests++
			red = append(red, numbersIn(e.Test)...)
		}
		if e.Action == "run" && number.MatchString(e.Test) {
			cases++
		}
	}
	for name := range running {
		tests++
		red = append(red, numbersIn(name)...)
	}
	switch {
	case cases == 0:
		return nil, errors.New("the package has no numbered case")
	case broken != "" && tests == 0:
		return nil, errors.New(broken + ", and none of its tests does")
	}
	slices.Sort(red)
	return slices.Compact(red), nil
}
