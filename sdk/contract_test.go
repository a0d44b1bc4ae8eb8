package sdk_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/engine"
)

// constants reads the constants of a file of package abi whose names have a prefix: their text, and the comment after them.
func constants(t *testing.T, file, prefix string) map[string]struct{ value, comment string } {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "abi", file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]struct{ value, comment string }{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value := ""
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			value = lit.Value
			if text, err := strconv.Unquote(value); err == nil {
				value = text
			}
		}
		found[spec.Names[0].Name] = struct{ value, comment string }{value, strings.TrimSpace(spec.Comment.Text())}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("abi/%s has no constants %s…", file, prefix)
	}
	return found
}

// contract is the host functions of package abi, and their signatures as its comments write them.
func contract(t *testing.T) map[string]string {
	t.Helper()
	functions := map[string]string{}
	for _, c := range constants(t, "abi.go", "Func") {
		signature, _, _ := strings.Cut(c.comment, ":")
		functions[c.value] = strings.TrimSpace(signature)
	}
	return functions
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is a part of docs/abi.md, from its heading to the next one.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "..", "docs", "abi.md"), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/abi.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// rows are the first two cells of the lines of tables, without code marks.
func rows(text string) map[string]string {
	cells := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|`).FindAllStringSubmatch(text, -1) {
		if name := strings.Trim(m[1], "`"); name != "---" {
			cells[name] = strings.Trim(m[2], "`")
		}
	}
	return cells
}

func TestTheDocumentHasTheHostFunctionsWithTheirSignatures(t *testing.T) {
	got := rows(section(t, "Host functions"))
	delete(got, "function")
	if diff := cmp.Diff(got, contract(t)); diff != "" {
		t.Errorf("docs/abi.md and package abi differ (-docs +abi):\n%s", diff)
	}
}

func TestTheDocumentHasTheErrorNumbers(t *testing.T) {
	got := rows(section(t, "Errors"))
	delete(got, "number")
	want := map[string]string{}
	for e := abi.Errno(-1); !strings.HasPrefix(e.Error(), "error "); e-- {
		want[strconv.Itoa(int(e))] = e.Error()
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("docs/abi.md and package abi differ (-docs +abi):\n%s", diff)
	}
}

func TestTheDocumentHasTheEnvironment(t *testing.T) {
	got := slices.Sorted(maps.Keys(rows(section(t, "Environment"))))
	got = slices.DeleteFunc(got, func(s string) bool { return s == "variable" })
	var want []string
	for name, c := range constants(t, "abi.go", "Env") {
		if name != "EnvPrefix" {
			want = append(want, c.value)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("docs/abi.md and package abi differ (-docs +abi):\n%s", diff)
	}
}

func TestTheDocumentHasTheLimits(t *testing.T) {
	got := rows(section(t, "Limits"))
	delete(got, "what")
	want := map[string]string{
		"code of a failure": bytes(abi.MaxCode), "message of a failure": bytes(abi.MaxMessage), "entry of the log": bytes(abi.MaxLine),
		"message of progress": bytes(abi.MaxProgress), "log of a run": bytes(abi.MaxLog), "output of a run": bytes(abi.MaxOutput),
		"data": bytes(abi.MaxInput), "memory": bytes(abi.MaxMemory), "module": bytes(abi.MaxModule), "path in a WASI call": bytes(abi.MaxPath),
		"key of a durable value": bytes(abi.MaxKey), "durable value": bytes(abi.MaxValue), "durable values of a job": bytes(abi.MaxValues),
		"head of a request": bytes(abi.MaxHTTPHead), "head of a response": bytes(abi.MaxHTTPHead), "body of a request": bytes(abi.MaxHTTPBody),
		"responses open": strconv.Itoa(abi.MaxResponses), "spans of a run": strconv.Itoa(abi.MaxSpans),
		"name of a span or an event": bytes(abi.MaxSpanText), "key of an attribute": bytes(abi.MaxSpanText),
		"value of an attribute": bytes(abi.MaxSpanValue), "attributes and events of a run": bytes(abi.MaxSpanBytes),
		"files open": strconv.Itoa(abi.MaxOpenFiles), "one read or write": bytes(abi.MaxChunk),
		"subscriptions of one poll_oneoff": strconv.Itoa(abi.MaxSubscriptions), "pieces (iovecs) of one read or write": strconv.Itoa(abi.MaxVectors),
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("docs/abi.md and package abi differ (-docs +abi):\n%s", diff)
	}
}

func TestTheDocumentHasTheCodesAndTheTimeOfGrace(t *testing.T) {
	failures := section(t, "What a failure looks like")
	for _, code := range []jobhost.Code{jobhost.Unexpected, jobhost.TimedOut, jobhost.Canceled} {
		if !strings.Contains(failures, "`"+string(code)+"`") {
			t.Errorf("docs/abi.md does not say when a run ends with %s", code)
		}
	}
	grace := fmt.Sprintf("a time of grace, %d seconds", int(engine.Defaults().CancelGrace.Seconds()))
	if !strings.Contains(section(t, "Being asked to stop"), grace) {
		t.Errorf("docs/abi.md does not say %q", grace)
	}
}

func bytes(n int) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

// Whoever adds a host function adds it to the SDK of each language too. Go and JavaScript take the data from the run document;
// a failure in JavaScript is what was thrown.
func TestTheSDKOfEachLanguageHasAllHostFunctions(t *testing.T) {
	want := slices.Sorted(maps.Keys(contract(t)))
	for file, pattern := range map[string]string{
		"go/internal/wire/guest.go":       `(?m)^//go:wasmimport jobhost_v1 (\w+)$`,
		"c/jobhost.h":                     `(?m)^JH_IMPORT\((\w+)\)`,
		"rust/src/sys.rs":                 `(?m)^    pub fn (\w+)\(`,
		"assemblyscript/assembly/host.ts": `(?m)^@external\("jobhost_v1", "(\w+)"\)$`,
		"javascript/jobhost.c":            `\bjh_([a-z]+(?:_[a-z]+)*?)(?:_all)?\(`,
	} {
		var got []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, filepath.FromSlash(file)), -1) {
			got = append(got, m[1])
		}
		if strings.HasPrefix(file, "go/") {
			got = append(got, abi.FuncInput)
		}
		if strings.HasPrefix(file, "javascript/") {
			slices.Sort(got)
			got = append(slices.DeleteFunc(slices.Compact(got), func(f string) bool { return f == "failf" }), abi.FuncInput)
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s and package abi differ (-%s +abi):\n%s", file, file, diff)
		}
	}
}
