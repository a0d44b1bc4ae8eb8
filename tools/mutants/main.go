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
	"context"
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

// patience is how long the cases of a package may take. They need a few seconds.
const patience = 30 * time.Second

// test runs the numbered cases of a package until one is red, and returns what it carries. The flags make all trees share
// what was built for one of them.
func test(tree, dir string) (red []string, err error) {
	temp := filepath.Join(tree, ".tmp") // what is killed leaves its files
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "JOBHOST_STORES=memory", "GOFLAGS=-trimpath -buildvcs=false", "GOGC=400", "TMPDIR="+temp)
	binary := filepath.Join(tree, "cases.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "-vet=off", "-gcflags=-N -l", "-ldflags=-s -w", dir)
	build.Dir, build.Env = tree, env
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	defer func() { err = errors.Join(err, os.Remove(binary)) }()

	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	cases := exec.CommandContext(ctx, binary, "-test.v=test2json", "-test.short", "-test.timeout="+patience.String(), "-test.run="+numbered)
	cases.Dir, cases.Env = filepath.Join(tree, filepath.FromSlash(dir)), env
	cases.WaitDelay = time.Second // a process that it has started may hold its output
	read, write := io.Pipe()
	cases.Stdout, cases.Stderr = write, write
	convert := exec.Command("go", "tool", "test2json")
	convert.Dir, convert.Stdin = tree, read
	events, err := convert.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(convert.Start(), cases.Start()); err != nil {
		return nil, err
	}
	go func() {
		_ = cases.Wait() // how it ended is in the events
		_ = write.Close()
	}()
	red, err = readEvents(events)
	enough()
	_, _ = io.Copy(io.Discard, events) // until it has ended
	_ = convert.Wait()                 // the events were all that mattered
	return red, err
}

var number = regexp.MustCompile(`(?:^|[^A-Za-z0-9])((?:S|FR)-[0-9]+)`)

// numbersIn finds the cases that the name of a test carries.
func numbersIn(name string) (found []string) {
	for _, m := range number.FindAllStringSubmatch(name, -1) {
		found = append(found, m[1])
	}
	return found
}

// readEvents returns the numbers of the first case that failed, or of those that were running when their process ended. It
// is an error when the process failed and no test did, or when no numbered case was run at all.
func readEvents(events io.Reader) (red []string, err error) {
	running, cases, tests, broken := map[string]bool{}, 0, 0, false
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Test string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		switch {
		case e.Test == "":
			broken = broken || e.Action == "fail"
		case e.Action == "run" || e.Action == "cont":
			running[e.Test] = true
		case e.Action == "pause" || e.Action == "pass" || e.Action == "skip":
			delete(running, e.Test)
		case e.Action == "fail":
			delete(running, e.Test)
			tests++
			if red = numbersIn(e.Test); len(red) > 0 {
				return red, nil
			}
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
	case lines.Err() != nil:
		return nil, lines.Err()
	case cases == 0:
		return nil, errors.New("the package has no numbered case")
	case broken && tests == 0:
		return nil, errors.New("the package fails, and none of its tests does")
	}
	slices.Sort(red)
	return slices.Compact(red), nil
}
