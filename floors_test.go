package jobhost_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

const module = "github.com/jobhost/jobhost"

// floor is a set of packages and what their production code may import of this module. "jobhost" is the root; a name
// that ends in * stands for all packages that begin so.
type floor struct {
	name     string
	packages []string
	may      []string            // what each of them may import
	also     map[string][]string // what a single one may import besides
	note     string
}

// words and rooms are floors as lists of imports. Alone is what guests take with them.
var (
	words = []string{"jobhost", "cron", "calendar", "abi"}
	rooms = []string{"engine", "host", "memstore", "boltstore", "api", "config", "telemetry", "jobtest", "sdk"}
	alone = []string{"sdk/go", "sdk/go/*"}
)

// floors is the architecture, from the top. A package that is not in it fails the test; one that is not written yet
// does not.
var floors = []floor{
	{
		name: "top", packages: []string{"cmd/jobhost"}, may: slices.Concat(rooms, words),
		note: "introduces the rooms to each other",
	},
	{
		name: "rooms", packages: slices.Concat(rooms, []string{"host/instrument", "host/internal/*"}), may: words,
		also: map[string][]string{"host": {"host/instrument", "host/internal/*"}, "host/instrument": {"host/internal/*"}},
		note: "do not import each other",
	},
	{
		name: "words", packages: words,
		also: map[string][]string{"jobhost": {"cron"}, "calendar": {"cron"}},
		note: "no clock, no goroutine, no third party",
	},
	{
		name: "guests", packages: []string{"plugins/examples/*"}, may: []string{"abi", "sdk/go", "sdk/go/jobhttp"},
		note: "built to .wasm, never imported",
	},
	{
		name: "sdk", packages: alone, may: alone,
		note: "no third party, and nothing of the host",
	},
}

func TestFloors(t *testing.T) {
	list := listPackages(t)
	for _, pkg := range slices.Sorted(maps.Keys(list)) {
		may, ok := allowed(pkg)
		if !ok {
			t.Errorf("package %s is on no floor; add it to the table in floors_test.go, or do without it", pkg)
			continue
		}
		if slices.ContainsFunc(slices.Concat(words, alone), func(p string) bool { return stands(p, pkg) }) && len(list[pkg].theirs) > 0 {
			t.Errorf("package %s imports %q; words and the SDK have no third-party imports", pkg, list[pkg].theirs)
		}
		for _, imp := range list[pkg].ours {
			if !slices.ContainsFunc(may, func(p string) bool { return stands(p, imp) }) {
				t.Errorf("package %s imports %s; its production code may import %q of this module", pkg, imp, may)
			}
		}
	}
}

// The golden list makes a new dependency visible in review; the record in docs/adr says why it is there.
func TestDependencies(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Third-party modules that production code imports, by package. Written by: go test . -run Dependencies -update\n")
	records := decisions(t)
	list := listPackages(t)
	for _, pkg := range slices.Sorted(maps.Keys(list)) {
		for _, mod := range list[pkg].theirs {
			fmt.Fprintf(&b, "%s %s\n", pkg, mod)
			if !strings.Contains(records, mod) {
				t.Errorf("package %s imports %s, which no record in docs/adr names", pkg, mod)
			}
		}
	}
	golden(t, "testdata/dependencies.golden", b.String())
}

func TestArchitectureDiagram(t *testing.T) {
	const path, begin, end = "docs/architecture.md", "<!-- floors: written by go test . -run Diagram -update -->\n", "<!-- end of floors -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the diagram", path)
	}
	golden(t, path, head+begin+"\n```\n"+diagram()+"```\n\n"+end+tail)
}

// diagram draws the table.
func diagram() string {
	var b strings.Builder
	for i, f := range floors {
		if f.name == "guests" || f.name == "sdk" {
			b.WriteString("\n")
		} else if i > 0 {
			b.WriteString("            │ imports\n            ▼\n")
		}
		fmt.Fprintf(&b, " %-7s %s\n", f.name, strings.Join(f.packages, "  "))
		for _, pkg := range slices.Sorted(maps.Keys(f.also)) {
			fmt.Fprintf(&b, "         %s ──▶ %s\n", pkg, strings.Join(f.also[pkg], ", "))
		}
		fmt.Fprintf(&b, "         (%s)\n", f.note)
	}
	return b.String()
}

// allowed is what a package may import of this module, and whether it is on a floor at all.
func allowed(pkg string) ([]string, bool) {
	for _, f := range floors {
		if slices.ContainsFunc(f.packages, func(p string) bool { return stands(p, pkg) }) {
			return slices.Concat(f.may, f.also[pkg]), true
		}
	}
	return nil, false
}

// stands reports whether a name of the table stands for a package.
func stands(name, pkg string) bool {
	prefix, all := strings.CutSuffix(name, "*")
	return name == pkg || all && strings.HasPrefix(pkg, prefix)
}

// imports of a package's production code, sorted: packages of this module, and modules of others.
type imports struct{ ours, theirs []string }

// listPackages asks the go command for the packages of this module and what they import, on each system that is built.
func listPackages(t *testing.T) map[string]imports {
	t.Helper()
	all := map[string]imports{}
	for _, target := range []string{"linux/amd64", "darwin/arm64", "windows/amd64", "wasip1/wasm"} {
		goos, goarch, _ := strings.Cut(target, "/")
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Module,Standard,DepOnly", "./...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		var problem bytes.Buffer
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v\n%s", target, err, &problem)
		}
		collect(t, out, all)
	}
	return all
}

func collect(t *testing.T, out []byte, all map[string]imports) {
	t.Helper()
	type pkg struct {
		ImportPath string
		Imports    []string
		Module     *struct{ Path string }
		Standard   bool
		DepOnly    bool
	}
	var listed []pkg
	owner := map[string]string{} // module of a package that is not the standard library's
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil {
			owner[p.ImportPath] = p.Module.Path
		}
		if !p.DepOnly {
			listed = append(listed, p)
		}
	}
	for _, p := range listed {
		is := all[short(p.ImportPath)]
		for _, imp := range p.Imports {
			switch mod := owner[imp]; mod {
			case "":
			case module:
				is.ours = insert(is.ours, short(imp))
			default:
				is.theirs = insert(is.theirs, mod)
			}
		}
		all[short(p.ImportPath)] = is
	}
}

// short is a package of this module as the table writes it.
func short(path string) string {
	if path == module {
		return "jobhost"
	}
	return strings.TrimPrefix(path, module+"/")
}

func insert(sorted []string, s string) []string {
	i, found := slices.BinarySearch(sorted, s)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, s)
}

// decisions are the texts of all records in docs/adr.
func decisions(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("docs/adr/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("docs/adr has %d records, error %v", len(paths), err)
	}
	var b strings.Builder
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// golden compares text with a file, or with -update writes the file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(want)); diff != "" {
		t.Errorf("%s is not up to date; if the change is meant, run go test . -update (-got +want):\n%s", path, diff)
	}
}
