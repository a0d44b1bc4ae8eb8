// Command cases reads the events of go test -json and says which numbered cases have no passing test.
//
//	go test -json ./... | cases required.txt
//
// The file lists numbers such as S-76 or FR-12 and ranges such as S-01..S-22, one a line; # begins a comment. A number
// counts when it stands in the name of a test, or of a test around it, that passed and has no subtests, as in
// TestStore/bolt/S-76_larger_priority_first. A case is missing when all its tests were skipped, when one of them
// failed, or when it has none. What failed tests and packages have printed is printed too, so that one run of the tests
// serves both purposes. The exit code is 1 when a case is missing or any test failed.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | cases required.txt")
		os.Exit(2)
	}
	ok, err := run(os.Args[1], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(requiredPath string, events io.Reader, out io.Writer) (ok bool, err error) {
	b, err := os.ReadFile(requiredPath)
	if err != nil {
		return false, err
	}
	required, err := readRequired(string(b))
	if err != nil {
		return false, fmt.Errorf("%s: %w", requiredPath, err)
	}
	res, err := readEvents(events)
	if err != nil {
		return false, err
	}
	return report(out, required, res)
}

// number is a numbered case.
type number struct {
	series string // S or FR
	n      int
}

func (c number) String() string { return fmt.Sprintf("%s-%02d", c.series, c.n) }

var (
	numberPattern = regexp.MustCompile(`(S|FR)-([0-9]+)`)
	linePattern   = regexp.MustCompile(`^(S|FR)-([0-9]+)(?:\.\.(S|FR)-([0-9]+))?$`)
)

func readRequired(text string) ([]number, error) {
	var list []number
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m := linePattern.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is %q; want a case such as S-76, or a range such as S-01..S-22", i+1, line)
		}
		first, last := atoi(m[2]), atoi(m[2])
		if m[3] != "" {
			last = atoi(m[4])
		}
		if m[3] != "" && m[3] != m[1] || last < first {
			return nil, fmt.Errorf("line %d is %q, which is no range", i+1, line)
		}
		for n := first; n <= last; n++ {
			list = append(list, number{m[1], n})
		}
	}
	return list, nil
}

// numbersIn finds the cases that the name of a test carries.
func numbersIn(name string) []number {
	var found []number
	for _, at := range numberPattern.FindAllStringSubmatchIndex(name, -1) {
		if at[0] > 0 && isLetterOrDigit(name[at[0]-1]) {
			continue // the end of a longer word
		}
		found = append(found, number{name[at[2]:at[3]], atoi(name[at[4]:at[5]])})
	}
	return found
}

func isLetterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// results are the tests by what came of them, and the packages that failed outside of a test.
type results struct {
	passed, skipped, failed []string // test names; of passed ones only those without subtests
	broken                  []string // packages
	said                    string   // by what failed, in the order of its ends
}

type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, while something is built
	Test       string
	Output     string
}

// mostSaid bounds what is kept of the output of one test, from its end.
const mostSaid = 64 << 10

func readEvents(r io.Reader) (results, error) {
	var res results
	outcome := map[[2]string]string{} // by package and test
	parent := map[[2]string]bool{}
	output := map[[2]string]string{} // of what has not ended
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // what the go command prints beside the events
		}
		key := [2]string{cmp.Or(e.Package, e.ImportPath), e.Test}
		switch e.Action {
		case "output", "build-output":
			said := output[key] + e.Output
			output[key] = said[max(0, len(said)-mostSaid):]
		case "fail", "build-fail":
			res.said += output[key]
			delete(output, key)
		case "pass", "skip":
			delete(output, key)
		}
		switch {
		case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
		case e.Test != "":
			outcome[key] = e.Action
			for i := strings.LastIndexByte(e.Test, '/'); i > 0; i = strings.LastIndexByte(e.Test[:i], '/') {
				parent[[2]string{e.Package, e.Test[:i]}] = true
			}
		case e.Action == "fail":
			res.broken = append(res.broken, e.Package)
			for _, key := range slices.SortedFunc(maps.Keys(output), byTest) { // what was running when the process ended
				if key[0] == e.Package {
					res.said += output[key]
					delete(output, key)
				}
			}
		}
	}
	for key, action := range outcome {
		switch {
		case action == "fail":
			res.failed = append(res.failed, key[1])
		case parent[key]:
		case action == "skip":
			res.skipped = append(res.skipped, key[1])
		default:
			res.passed = append(res.passed, key[1])
		}
	}
	return res, lines.Err()
}

func byTest(a, b [2]string) int { return strings.Compare(a[1], b[1]) }

func report(out io.Writer, required []number, res results) (ok bool, err error) {
	passed, skipped, failed := count(res.passed), count(res.skipped), count(res.failed)
	var missing []string
	for _, c := range required {
		switch {
		case failed[c] > 0:
			missing = append(missing, c.String()+" failed")
		case passed[c] > 0:
		case skipped[c] > 0:
			missing = append(missing, c.String()+" only skipped")
		default:
			missing = append(missing, c.String()+" has no test")
		}
	}
	var b strings.Builder
	b.WriteString(res.said)
	for _, m := range missing {
		fmt.Fprintln(&b, m)
	}
	for _, p := range slices.Sorted(slices.Values(res.broken)) {
		fmt.Fprintln(&b, "package failed:", p)
	}
	var beside []number
	for c := range passed {
		if !slices.Contains(required, c) && failed[c] == 0 {
			beside = append(beside, c)
		}
	}
	slices.SortFunc(beside, func(a, b number) int {
		return cmp.Or(cmp.Compare(b.series, a.series), cmp.Compare(a.n, b.n))
	})
	if len(beside) > 0 {
		fmt.Fprintf(&b, "not required, but there: %s\n", strings.Trim(fmt.Sprint(beside), "[]"))
	}
	fmt.Fprintf(&b, "cases: %d of %d have a passing test, %d are missing; %d tests failed\n", len(required)-len(missing), len(required), len(missing), len(res.failed))
	_, err = io.WriteString(out, b.String())
	return len(missing) == 0 && len(res.failed) == 0 && len(res.broken) == 0, err
}

// count says how many of the tests carry each case.
func count(tests []string) map[number]int {
	n := map[number]int{}
	for _, t := range tests {
		for _, c := range numbersIn(t) {
			n[c]++
		}
	}
	return n
}

// atoi reads digits that a pattern has matched.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1 // more digits than any case has
	}
	return n
}
