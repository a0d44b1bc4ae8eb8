package sdk

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed all:templates
//go:embed go/*.go go/internal go/jobhttp go/jobhosttest
//go:embed rust/Cargo.toml rust/src
//go:embed c/jobhost.h
//go:embed assemblyscript/package.json assemblyscript/assembly
//go:embed javascript/javascript.mk javascript/jobhost.c javascript/jobhost.js javascript/jobhost.d.ts javascript/quickjs-wasi.h
var files embed.FS

// places are where the projects of a language have their copy of its SDK.
var places = map[string]string{
	"go": "third_party/jobhost", "rust": "third_party/jobhost", "c": ".", "assemblyscript": "third_party/jobhost",
	"javascript": "third_party/jobhost",
}

// Languages returns the names of the languages that a project may be in.
func Languages() []string { return []string{"go", "rust", "c", "assemblyscript", "javascript"} }

// MaxName is the most bytes of a project's name.
const MaxName = 64

var name = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// ValidName reports whether a project, its job and its plugin may be called so: lower-case letters, digits and single dashes,
// a letter first, at most [MaxName] bytes. All the tools of all the languages take such a name.
func ValidName(s string) bool { return len(s) <= MaxName && name.MatchString(s) }

// Project returns the files of a new project: paths below its folder, with slashes, and what is in them. They are source, a
// build file, a README, jobhost.yaml with one job, .gitignore, and a copy of the SDK. It fails for a language that is not in
// [Languages] and for a name that is not valid.
func Project(language, projectName string) (map[string][]byte, error) {
	switch {
	case !slices.Contains(Languages(), language):
		return nil, fmt.Errorf("language %q is not known; want one of %s", language, strings.Join(Languages(), ", "))
	case !ValidName(projectName):
		return nil, fmt.Errorf("name %q: want lower-case letters, digits and single dashes, a letter first, at most %d", projectName, MaxName)
	}
	project := map[string][]byte{}
	facts := map[string]string{"Name": projectName, "Language": language}
	for _, dir := range []string{"templates/common", "templates/" + language} {
		if err := render(project, dir, facts); err != nil {
			return nil, err
		}
	}
	if language == "javascript" { // its SDK is written in C
		if err := add(project, "c", places[language]); err != nil {
			return nil, err
		}
	}
	return project, add(project, language, places[language])
}

// render executes the templates of a folder.
func render(project map[string][]byte, dir string, facts any) error {
	return walk(dir, func(file, rel string, text []byte) error {
		t, err := template.New(file).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, facts); err != nil {
			return err
		}
		project[strings.TrimSuffix(rel, ".tmpl")] = b.Bytes()
		return nil
	})
}

// add copies the SDK of a language, without its tests.
func add(project map[string][]byte, from, to string) error {
	return walk(from, func(_, rel string, text []byte) error {
		if !strings.HasSuffix(rel, "_test.go") {
			project[path.Join(to, rel)] = text
		}
		return nil
	})
}

// walk reads all embedded files of a folder.
func walk(dir string, f func(file, rel string, text []byte) error) error {
	return fs.WalkDir(files, dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		if err != nil {
			return err
		}
		return f(file, strings.TrimPrefix(file, dir+"/"), text)
	})
}
